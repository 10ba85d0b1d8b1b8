"""Inputs of `phistream scrub`, and its outputs: standard output or a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import DEFAULT_BUFFER_SIZE, BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson
import typer

from deid_core import ScrubbedDocument
from streams.engine.errors import InputError, InvalidRecord, OutputError
from streams.formats import Format
from streams.pipeline.files.documents import format_of
from streams.pipeline.files.sources import files_in, require_present

STANDARD_INPUT = Path("-")
HEAD_BYTES, TAIL_BYTES = 1 << 20, 1 << 12

Write = Callable[[ScrubbedDocument], None]


@dataclass(frozen=True, slots=True)
class Input:
    """One file to scrub.

    Args:
        path: The file, or `STANDARD_INPUT`.
        name: Its path within the output folder.
        kind: Its format.
        is_explicit: Whether the format was given on the command line.
    """

    path: Path
    name: Path
    kind: Format
    is_explicit: bool


def inputs_of(
    paths: Sequence[Path],
    kind: Format | None,
    out: Path | None,
    *,
    any_json: bool = False,
) -> list[Input]:
    """Return the files, and those of folders at any depth.

    Files within ``out`` are left out: they were scrubbed before.

    Args:
        paths: Files and folders, or `STANDARD_INPUT`.
        kind: The format of all; without it that of each is recognised.
        out: The output folder.
        any_json: Whether JSON of any form is events.

    Raises:
        InputError: A path is missing or not readable, or there are no files.
    """
    require_present(path for path in paths if path != STANDARD_INPUT)
    found = [
        _input(file, name, kind, any_json=any_json)
        for path in paths
        for file, name in _named(path, out)
    ]
    if not found:
        raise InputError(
            f"{', '.join(map(str, paths))}: no files there; check the path"
        )
    return found


def _named(path: Path, out: Path | None) -> Iterator[tuple[Path, Path]]:
    """Yield files, each with its path within the output folder."""
    if not path.is_dir():
        yield path, Path(path.name)
        return
    left_out = out.resolve() if out else None
    is_within = left_out is not None and path.resolve() in left_out.parents
    for file in files_in([path]):
        if not (is_within and left_out in file.resolve().parents):
            yield file, file.relative_to(path)


def opened(source: Path) -> BinaryIO:
    """Open a file for reading.

    Raises:
        InputError: It is not readable.
    """
    if source == STANDARD_INPUT:
        return sys.stdin.buffer
    try:
        return source.open("rb")
    except OSError as error:
        raise InputError(f"{source}: {error.strerror}; check the path") from None


def size_of(source: Input) -> int:
    """Return how many bytes an input has; of a pipe, how many have arrived.

    A pipe whose writer goes on fills a reader's whole buffer, which counts as more than
    any size.
    """
    if source.path.is_file():
        return source.path.stat().st_size
    if source.path != STANDARD_INPUT:
        return sys.maxsize
    arrived = len(cast(BufferedReader, sys.stdin.buffer).peek(1))
    return arrived if arrived < DEFAULT_BUFFER_SIZE else sys.maxsize


def _input(path: Path, name: Path, kind: Format | None, *, any_json: bool) -> Input:
    if kind is not None:
        return Input(path, name, kind, is_explicit=True)
    if path == STANDARD_INPUT:
        sample = cast(BufferedReader, sys.stdin.buffer).peek(HEAD_BYTES)
    elif path.is_file():
        with opened(path) as stream:
            sample = _sample(stream)
    else:
        sample = b""  # reading from a pipe would lose it
    found = format_of(path, sample, any_json=any_json)
    return Input(path, name, found, is_explicit=False)


def _sample(stream: BinaryIO) -> bytes:
    """Return a file, or the beginning and the end of a large one."""
    head = stream.read(HEAD_BYTES)
    if len(head) < HEAD_BYTES:
        return head
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(HEAD_BYTES, size - TAIL_BYTES))
    return head + stream.read()


class StandardOutput:
    """Writes notes to standard output: text as text, otherwise JSON lines.

    Args:
        with_names: Always write JSON lines that name the file: there are several.
        with_annotations: Add annotations to JSON lines.
    """

    def __init__(self, *, with_names: bool, with_annotations: bool) -> None:
        self._with_names = with_names
        self._with_annotations = with_annotations

    @contextmanager
    def of(self, source: Input) -> Iterator[Write]:
        """Yield a function that writes the notes of one input."""
        out = sys.stdout.buffer
        file = str(source.path) if self._with_names else None
        as_text = source.kind is Format.TEXT and file is None
        yield lambda result: _write(
            out, result, as_text, self._with_annotations, file=file
        )
        out.flush()


class OutputFolder:
    """Writes one file of the same name for each input, completely or not at all.

    A PDF becomes text, in a file whose name ends in ``.txt``.

    Args:
        folder: Created if missing.
        inputs: All inputs.

    Raises:
        BadParameter: An input has no name or would be overwritten, or two inputs
            would be written to one file.
    """

    def __init__(self, folder: Path, inputs: Sequence[Input]) -> None:
        self._folder = folder
        read = {_identity(each.path) for each in inputs if each.path.exists()}
        taken: dict[Path, Path] = {}
        for each in inputs:
            if each.path == STANDARD_INPUT:
                raise typer.BadParameter("--out: standard input has no file name")
            target = self._target(each)
            if target.exists() and _identity(target) in read:
                raise typer.BadParameter(
                    f"--out: {target} is an input; choose another folder"
                )
            other = taken.setdefault(target, each.path)
            if other != each.path:
                raise typer.BadParameter(
                    f"--out: {other} and {each.path} would both be written to "
                    f"{target}; use separate output folders"
                )

    def write(
        self, source: Input, pieces: Iterable[bytes | InvalidRecord]
    ) -> list[InvalidRecord]:
        """Write the output of one input, unless any piece of it is refused.

        Args:
            source: The input.
            pieces: Of its output, or why there is none.
        """
        target = self._target(source)
        # In the same folder: a rename is atomic only within a file system.
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        refused: list[InvalidRecord] = []
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as out:
                for piece in pieces:
                    if isinstance(piece, InvalidRecord):
                        refused.append(piece)
                    elif not refused:
                        out.write(piece)
                out.flush()
                os.fsync(out.fileno())
            if not refused:
                partial.replace(target)
        except OSError as error:
            raise OutputError(f"{target}: {error.strerror}; check --out") from None
        finally:
            partial.unlink(missing_ok=True)
        return refused

    def _target(self, source: Input) -> Path:
        target = self._folder / source.name
        is_pdf = source.kind is Format.PDF
        return target.with_name(f"{target.name}.txt") if is_pdf else target


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _write(
    out: BinaryIO,
    result: ScrubbedDocument,
    as_text: bool,
    with_annotations: bool,
    *,
    file: str | None = None,
) -> None:
    if as_text:
        out.write(result.text.encode())
        return
    named = {} if file is None else {"file": file}
    line: dict[str, Any] = {**named, "id": result.id, "text": result.text}
    if with_annotations:
        from streams.pipeline.publish import annotations_json

        line["annotations"] = [
            # The model's own tag, where it is finer than the label.
            {**each, "tag": found.tag} if found.tag else each
            for each, found in zip(
                annotations_json(result), result.annotations, strict=True
            )
        ]
    out.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
