"""Reads files of HL7 v2 messages and JSON note events, record by record.

Nothing is validated here: anything else becomes a record as well, so that intake
refuses it with a reason and nothing is lost.  Only batch envelopes and blank lines are
dropped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import orjson

from schemas import SchemaError, json_text
from streams.engine.errors import InputError
from streams.formats.documents.content import holds_hl7

from .batches import in_utf_8, messages_in
from .input_file import InputFile
from .tables import DELIMITERS, events_of


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One record of a file.

    Args:
        origin: The file.
        ordinal: Its number among the file's records (`lines_in`: lines), from 0.
        value: The bytes to publish.
    """

    origin: Path
    ordinal: int
    value: bytes = field(repr=False)


def _ignore(_path: Path) -> None:
    """Ignore a skipped file."""


def records_in(
    paths: Iterable[Path], *, skipped: Callable[[Path], None] = _ignore
) -> Iterator[SourceRecord]:
    """Yield the records of files and folders lazily, in order.

    A folder means all its files at any depth, in sorted order.

    Args:
        paths: Files and folders; all are checked before the first record.
        skipped: Called with each file whose suffix is not in ``READERS``.

    Raises:
        InputError: A path is absent or unreadable.
        FatalError: A record is larger than ``MAX_RECORD_BYTES``.
    """
    paths = tuple(paths)
    require_present(paths)
    return _records_of(paths, skipped)


def lines_in(
    paths: Iterable[Path], *, skipped: Callable[[Path], None] = _ignore
) -> Iterator[SourceRecord]:
    """Yield the lines of JSON Lines files that are not blank, in order.

    A folder means all its files at any depth; a file that is named is read whatever its
    suffix, e.g. ``/dev/stdin``.

    Args:
        paths: Files and folders; all are checked before the first line.
        skipped: Called with each file of a folder that is not .jsonl or .ndjson.

    Raises:
        InputError: A path is absent or unreadable.
        FatalError: A line is larger than ``MAX_RECORD_BYTES``.
    """
    paths = tuple(paths)
    require_present(paths)
    return _lines_of(paths, skipped)


def _lines_of(
    paths: tuple[Path, ...], skipped: Callable[[Path], None]
) -> Iterator[SourceRecord]:
    named = frozenset(paths)
    for path in files_in(paths):
        if path not in named and path.suffix.lower() not in (".jsonl", ".ndjson"):
            skipped(path)
            continue
        try:
            with path.open("rb") as stream:
                yield from _numbered(path, stream)
        except OSError as error:
            raise _unreadable(path, error) from error


def _numbered(path: Path, stream: BinaryIO) -> Iterator[SourceRecord]:
    """Yield the lines of a file that are not blank; blank ones count."""
    for number, line in enumerate(InputFile(path, stream).lines()):
        if content := line.strip():
            yield SourceRecord(path, number, content)


def require_present(paths: Iterable[Path]) -> None:
    """Check that all paths exist.

    Raises:
        InputError: A path is absent.
    """
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such file or folder; check the path")


def _records_of(
    paths: tuple[Path, ...], skipped: Callable[[Path], None]
) -> Iterator[SourceRecord]:
    for path in files_in(paths):
        reader = READERS.get(path.suffix.lower())
        if reader is None:
            skipped(path)
            continue
        try:
            with path.open("rb") as stream:
                for ordinal, value in enumerate(reader(InputFile(path, stream))):
                    yield SourceRecord(path, ordinal, value)
        except OSError as error:
            raise _unreadable(path, error) from error


def files_in(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield files, and all files of folders at any depth, in sorted order.

    Raises:
        InputError: A folder is unreadable.
    """
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, names, files in os.walk(path, onerror=_refuse):
            names.sort()
            yield from (Path(folder, name) for name in sorted(files))


def _refuse(error: OSError) -> None:
    raise _unreadable(Path(error.filename), error) from error


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: {error.strerror}; check that it may be read")


def json_events_in(paths: Iterable[Path]) -> Iterator[SourceRecord]:
    """Yield the JSON values of files and folders: one a line, or one a file or array.

    The rows of a table are values as well.

    Raises:
        InputError: A path is unreadable.
        FatalError: A file is larger than ``MAX_RECORD_BYTES``.
    """
    for path in files_in(paths):
        try:
            with path.open("rb") as stream:
                source = InputFile(path, stream)
                is_table = path.suffix.lower() in DELIMITERS
                values = events_of(source) if is_table else _json_values(source)
                for ordinal, value in enumerate(values):
                    yield SourceRecord(path, ordinal, value)
        except OSError as error:
            raise _unreadable(path, error) from error


def _json_values(source: InputFile) -> Iterator[bytes]:
    content = source.whole().strip()
    try:
        yield from values_of(content)
    except orjson.JSONDecodeError:
        yield from filter(None, map(bytes.strip, content.splitlines()))


def _json_lines(source: InputFile) -> Iterator[bytes]:
    for line in source.lines():
        if content := line.strip():
            yield unwrapped(content)


def json_values_in(source: InputFile) -> Iterator[bytes]:
    """Yield the elements of a file's array, or else its content, unwrapped."""
    content = source.whole().strip()
    try:
        yield from map(unwrapped, values_of(content))
    except orjson.JSONDecodeError:
        yield unwrapped(content)


def values_of(content: bytes) -> list[bytes]:
    """Return the elements of a JSON array, or any other JSON as it is.

    Raises:
        JSONDecodeError: It is not JSON.
    """
    if not content:
        return []
    elements = json_text.elements(content)
    return [content] if elements is None else elements


def unwrapped(content: bytes) -> bytes:
    """Return the HL7 text of ``{"message": text}`` in UTF-8, or else the JSON as is."""
    try:
        value = json_text.loads("JSON", content)
    except (orjson.JSONDecodeError, SchemaError):
        return content
    message = value.get("message") if isinstance(value, dict) else None
    # An event of a sender's own form may have a field of that name.
    text = message.encode() if isinstance(message, str) else b""
    return in_utf_8(text) if holds_hl7(text) else content


READERS: dict[str, Callable[[InputFile], Iterator[bytes]]] = {
    ".hl7": messages_in,
    ".txt": messages_in,
    ".dat": messages_in,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": json_values_in,
    ".csv": events_of,
    ".tsv": events_of,
}
