"""Files of HL7 v2 messages: batches, MLLP frames, line ends and marks of every kind.

Sources: HL7 v2 chapter 2.10.3 (batch: FHS, BHS, BTS, FTS); HL7 Minimal Lower Layer
Protocol, transport specification 1.0 (a message between 0x0B and 0x1C 0x0D).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from .input_file import MAX_RECORD_BYTES, InputFile, too_large

START_BLOCK, END_BLOCK = b"\x0b", b"\x1c"

_LINE_END = re.compile(rb"\r\n?|\n")
_MESSAGE = re.compile(rb"MSH(?![A-Za-z0-9 ])")
_ENVELOPE = re.compile(rb"(?:FHS|BHS|BTS|FTS)(?![A-Za-z0-9 ])")
# Files that were put behind one another may each begin with one.
_MARK = re.compile(rb"\xef\xbb\xbf(?=\x0b?(?:MSH|FHS|BHS|BTS|FTS)(?![A-Za-z0-9 ]))")
_CHARACTER_SET_FIELD = 17  # MSH-18 among the parts after MSH and its separator


@dataclass(frozen=True, slots=True)
class Piece:
    """A message of a file, or a segment of its batch envelope.

    Args:
        content: Its bytes and line ends, but for those after the last segment.
        line_end: The first line end in it or after it, if any.
        is_envelope: Whether it is FHS, BHS, BTS or FTS.
        is_framed: Whether it was in an MLLP frame.
    """

    content: bytes = field(repr=False)
    line_end: bytes
    is_envelope: bool = False
    is_framed: bool = False


def messages_in(source: InputFile) -> Iterator[bytes]:
    """Yield the messages of a file.

    A message begins at a line ``MSH`` or at an MLLP frame.  Text before the first
    message is a message of its own, which intake refuses.
    """
    return (each.content for each in pieces_in(source) if not each.is_envelope)


def pieces_in(source: InputFile) -> Iterator[Piece]:
    """Yield the messages of a file and the segments of its batch envelopes."""
    return _Splitter(source).split()


class _Splitter:
    """Splits lines into pieces."""

    def __init__(self, source: InputFile) -> None:
        self._source = source
        self._lines: list[bytes] = []
        self._size = 0
        self._is_framed = False
        self._is_marked = source.is_marked

    def split(self) -> Iterator[Piece]:
        """Yield the pieces of the file."""
        for line in self._source.lines():
            first, *others = _MARK.split(line)
            yield from self._add(first)
            for each in others:
                self._is_marked = True
                yield from self._add(each)
        yield from self._close()

    def _add(self, line: bytes) -> Iterator[Piece]:
        *ended, last = line.split(END_BLOCK)
        for piece in ended:
            content = yield from self._opened(piece)
            if self._is_framed:
                yield from self._append(content)
                yield from self._close()
                self._is_framed = False
            else:
                yield from self._append(content + END_BLOCK)
        # The next frame may follow without a line end.
        content = yield from self._opened(last)
        yield from self._append(content)

    def _opened(self, piece: bytes) -> Generator[Piece, None, bytes]:
        if not piece.startswith(START_BLOCK):
            return piece
        yield from self._close()
        self._is_framed = True
        return piece[1:]

    def _append(self, line: bytes) -> Iterator[Piece]:
        if _ENVELOPE.match(line):
            yield from self._close()
            yield Piece(line.rstrip(b"\r\n"), _line_end(line), is_envelope=True)
            return
        if _MESSAGE.match(line):
            yield from self._close()
        if self._lines or line.strip():
            self._lines.append(line)
            self._size += len(line)
        if self._size > MAX_RECORD_BYTES:
            raise too_large(self._source.path)

    def _close(self) -> Iterator[Piece]:
        whole = b"".join(self._lines)
        message = whole.rstrip(b"\r\n")
        self._lines, self._size = [], 0
        if not message:
            return
        if self._is_marked:
            message = in_utf_8(message)
        yield Piece(message, _line_end(whole), is_framed=self._is_framed)


def _line_end(content: bytes) -> bytes:
    found = _LINE_END.search(content)
    return found[0] if found else b""


def in_utf_8(message: bytes) -> bytes:
    """Return a message with a byte order mark if it names a character set.

    Its mark counts more than MSH-18, which may name another one.
    """
    header = re.split(rb"[\r\n]", message, maxsplit=1)[0]
    fields = header.split(header[3:4] or b"|")
    is_named = len(fields) > _CHARACTER_SET_FIELD
    if is_named and fields[_CHARACTER_SET_FIELD].strip():
        return codecs.BOM_UTF8 + message
    return message
