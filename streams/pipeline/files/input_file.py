"""An open file in UTF-8, read in bounded pieces, whatever its byte order mark says."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from streams.engine.errors import FatalError, InvalidRecord
from streams.engine.reasons import ReasonCode

CHUNK_BYTES = 1 << 20
MAX_RECORD_BYTES = 64 << 20

_UTF_16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class InputFile:
    """An open file without its byte order mark.

    UTF-16 is read as UTF-8; without a byte order mark bytes are as they are.

    Args:
        path: Names it in errors.
        stream: The file.
    """

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self.path = path
        self._stream = stream
        head = stream.read(len(codecs.BOM_UTF8))
        codec = next((name for mark, name in _UTF_16 if head.startswith(mark)), None)
        self._decoder = codecs.getincrementaldecoder(codec)() if codec else None
        self.is_marked = codec is not None or head == codecs.BOM_UTF8
        """Whether a byte order mark says that the file is in Unicode."""
        self._head = head.removeprefix(codecs.BOM_UTF8)

    def chunks(self) -> Iterator[bytes]:
        """Yield the file in pieces of about ``CHUNK_BYTES``.

        Raises:
            InvalidRecord: It is not in the character set of its byte order mark.
        """
        if self._decoder is None:
            yield from self._bytes()
            return
        try:
            for chunk in self._bytes():
                yield self._decoder.decode(chunk).encode().removeprefix(codecs.BOM_UTF8)
            yield self._decoder.decode(b"", final=True).encode()
        except UnicodeError:
            raise InvalidRecord(
                ReasonCode.UNDECODABLE,
                f"{self.path}: not UTF-16, as its byte order mark says; convert it",
            ) from None

    def _bytes(self) -> Iterator[bytes]:
        if self._head:
            yield self._head
        while chunk := self._stream.read(CHUNK_BYTES):
            yield chunk

    def whole(self) -> bytes:
        """Return the file.

        Raises:
            FatalError: It is larger than ``MAX_RECORD_BYTES``.
        """
        chunks: list[bytes] = []
        size = 0
        for chunk in self.chunks():
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_RECORD_BYTES:
                raise too_large(self.path)
        return b"".join(chunks)

    def lines(self) -> Iterator[bytes]:
        r"""Yield lines with their ends: ``\r``, ``\n`` or ``\r\n``.

        Raises:
            FatalError: A line is longer than ``MAX_RECORD_BYTES``.
        """
        rest: list[bytes] = []
        size = 0
        for chunk in self.chunks():
            lines = chunk.splitlines(keepends=True)
            if rest and rest[-1].endswith(b"\r") and lines:
                # The chunk before ended here, or within a line end.
                if lines[0] == b"\n":
                    rest.append(lines.pop(0))
                yield b"".join(rest)
                rest, size = [], 0
            for number, line in enumerate(lines, start=1):
                rest.append(line)
                size += len(line)
                if size > MAX_RECORD_BYTES:
                    raise too_large(self.path)
                is_open = line.endswith(b"\r") and number == len(lines)
                if line.endswith((b"\r", b"\n")) and not is_open:
                    yield b"".join(rest)
                    rest, size = [], 0
        if rest:
            yield b"".join(rest)


def too_large(path: Path) -> FatalError:
    """Return the error of a record that would not fit in memory."""
    return FatalError(
        f"{path}: a record of more than {MAX_RECORD_BYTES} bytes;"
        " split the file into messages"
    )
