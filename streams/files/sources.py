"""Reads files of HL7 v2 messages and JSON note events, record by record.

Nothing is validated here: anything else becomes a record as well, so that intake
refuses it with a reason and nothing is lost.  Only batch envelopes and blank lines are
dropped.

Sources: HL7 v2 chapter 2.10.3 (batch: FHS, BHS, BTS, FTS); HL7 Minimal Lower Layer
Protocol, transport specification 1.0 (a message between 0x0B and 0x1C 0x0D).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import orjson

from ..documents.content import holds_hl7
from ..engine.errors import FatalError, InputError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CHUNK_BYTES = 1 << 20
MAX_RECORD_BYTES = 64 << 20
START_BLOCK, END_BLOCK = b"\x0b", b"\x1c"

_MESSAGE = re.compile(rb"MSH(?![A-Za-z0-9 ])")
_ENVELOPE = re.compile(rb"(?:FHS|BHS|BTS|FTS)(?![A-Za-z0-9 ])")


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
    """Yield the lines of a file; unlike `_Source.lines` it counts blank ones."""
    number = 0
    while line := stream.readline(MAX_RECORD_BYTES + 1):
        if len(line) > MAX_RECORD_BYTES:
            raise too_large(path)
        if number == 0:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if content := line.strip():
            yield SourceRecord(path, number, content)
        number += 1


def too_large(path: Path) -> FatalError:
    """Return the error of a record that would not fit in memory."""
    return FatalError(
        f"{path}: a record of more than {MAX_RECORD_BYTES} bytes;"
        " split the file into messages"
    )


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
                for ordinal, value in enumerate(reader(_Source(path, stream))):
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


class _Source:
    """An open file without its byte order mark, read in bounded pieces."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self.path = path
        self._stream = stream
        head = stream.read(len(BYTE_ORDER_MARK))
        self._head = b"" if head == BYTE_ORDER_MARK else head

    def chunks(self) -> Iterator[bytes]:
        """Yield the file in pieces of at most ``CHUNK_BYTES``."""
        if self._head:
            yield self._head
        while chunk := self._stream.read(CHUNK_BYTES):
            yield chunk

    def whole(self) -> bytes:
        """Return the file.

        Raises:
            FatalError: It is larger than ``MAX_RECORD_BYTES``.
        """
        content = self._head + self._stream.read(MAX_RECORD_BYTES + 1)
        if len(content) > MAX_RECORD_BYTES:
            raise too_large(self.path)
        return content

    def lines(self) -> Iterator[bytes]:
        r"""Yield lines with their ends: ``\r``, ``\n`` or ``\r\n``.

        A ``\r\n`` across two chunks gives a line and a blank line.

        Raises:
            FatalError: A line is longer than ``MAX_RECORD_BYTES``.
        """
        rest: list[bytes] = []
        size = 0
        for chunk in self.chunks():
            for line in chunk.splitlines(keepends=True):
                rest.append(line)
                size += len(line)
                if size > MAX_RECORD_BYTES:
                    raise too_large(self.path)
                if line.endswith((b"\r", b"\n")):
                    yield b"".join(rest)
                    rest, size = [], 0
        if rest:
            yield b"".join(rest)


class _Splitter:
    """Splits lines into messages."""

    def __init__(self, source: _Source) -> None:
        self._source = source
        self._lines: list[bytes] = []
        self._size = 0
        self._framed = False

    def split(self) -> Iterator[bytes]:
        """Yield the messages of the file."""
        for line in self._source.lines():
            yield from self._add(line)
        yield from self._close()

    def _add(self, line: bytes) -> Iterator[bytes]:
        *ended, last = line.split(END_BLOCK)
        for piece in ended:
            content = yield from self._opened(piece)
            if self._framed:
                yield from self._append(content)
                yield from self._close()
                self._framed = False
            else:
                yield from self._append(content + END_BLOCK)
        # The next frame may follow without a line end.
        content = yield from self._opened(last)
        yield from self._append(content)

    def _opened(self, piece: bytes) -> Generator[bytes, None, bytes]:
        if not piece.startswith(START_BLOCK):
            return piece
        yield from self._close()
        self._framed = True
        return piece[1:]

    def _append(self, line: bytes) -> Iterator[bytes]:
        if _ENVELOPE.match(line):
            yield from self._close()
            return
        if _MESSAGE.match(line):
            yield from self._close()
        if self._lines or line.strip():
            self._lines.append(line)
            self._size += len(line)
        if self._size > MAX_RECORD_BYTES:
            raise too_large(self._source.path)

    def _close(self) -> Iterator[bytes]:
        message = b"".join(self._lines).rstrip(b"\r\n")
        self._lines, self._size = [], 0
        if message:
            yield message


def messages_in(origin: Path, stream: BinaryIO) -> Iterator[bytes]:
    """Yield the HL7 messages of an open file; ``origin`` names it in errors."""
    return _messages(_Source(origin, stream))


def _messages(source: _Source) -> Iterator[bytes]:
    r"""Split a file of HL7 messages.

    A message begins at a line ``MSH`` or at an MLLP frame.  Its bytes and line ends are
    kept, except for line ends after its last segment.  Text before the first message is
    a record of its own.
    """
    return _Splitter(source).split()


def json_values_in(origin: Path, stream: BinaryIO) -> Iterator[bytes]:
    """Yield the records of a ``.json`` file; ``origin`` names it in errors."""
    return _json_file(_Source(origin, stream))


def json_events_in(paths: Iterable[Path]) -> Iterator[SourceRecord]:
    """Yield the JSON values of files and folders: one a line, or one a file or array.

    Raises:
        InputError: A path is unreadable.
        FatalError: A file is larger than ``MAX_RECORD_BYTES``.
    """
    for path in files_in(paths):
        try:
            with path.open("rb") as stream:
                content = _Source(path, stream).whole().strip()
        except OSError as error:
            raise _unreadable(path, error) from error
        for ordinal, value in enumerate(_json_values(content)):
            yield SourceRecord(path, ordinal, value)


def _json_values(content: bytes) -> Iterator[bytes]:
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        yield from filter(None, map(bytes.strip, content.splitlines()))
        return
    if isinstance(value, list):
        yield from map(orjson.dumps, value)
    else:
        yield content


def _json_lines(source: _Source) -> Iterator[bytes]:
    for line in source.lines():
        if content := line.strip():
            yield unwrapped(content)


def _json_file(source: _Source) -> Iterator[bytes]:
    content = source.whole().strip()
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        value = None
    if isinstance(value, list):
        yield from (unwrapped(orjson.dumps(each)) for each in value)
    elif content:
        yield unwrapped(content)


def unwrapped(content: bytes) -> bytes:
    """Return the HL7 text of ``{"message": text}`` in UTF-8, or else the JSON as is."""
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return content
    message = value.get("message") if isinstance(value, dict) else None
    # An event of a sender's own form may have a field of that name.
    text = message.encode() if isinstance(message, str) else b""
    return text if holds_hl7(text) else content


READERS: dict[str, Callable[[_Source], Iterator[bytes]]] = {
    ".hl7": _messages,
    ".txt": _messages,
    ".dat": _messages,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json_file,
}
