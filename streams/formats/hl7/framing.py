"""From bytes to the texts of single messages: character set, framing, batches.

Sources: HL7 v2 chapter 2.9.2 (MSH), 2.10.3 (batch protocol); Minimal Lower Layer
Protocol, transport specification 1.0.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

from streams.engine.character_sets import ASCII, UTF_8, codec_of
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode

START_BLOCK, END_BLOCK = "\x0b", "\x1c"

# Words of narrative may begin alike: MSH2 is a gene.
_HEADER = re.compile(r"MSH[^\w\s]")
_ENVELOPE = re.compile(r"(?:FHS|BHS|BTS|FTS)(?:[^\w\s]|$)")
# The next frame, or file that was put behind another, may follow without a line end.
_HEAD = r"(?:MSH|FHS|BHS|BTS|FTS)[^\w\s]"
_BORDER = re.compile(rf"\x1c(?=[\x0b\ufeff]|{_HEAD})|\ufeff(?=\x0b?{_HEAD})")
_SEGMENT = re.compile(r"[A-Z][A-Z0-9]{2}")
# Some senders write blanks behind the name.  Of other names, which a line of narrative
# may begin with ("WBC | 5.2"), this is no segment.
_BLANK_AFTER_NAME = re.compile(
    r"(EVN|PID|PD1|NK1|PV1|PV2|AL1|DG1|PR1|GT1|IN1|IN2|ORC|OBR|OBX|NTE|TXA|MRG|SPM)"
    r"[ \t]+(?=[^\w\s])"
)
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CHARACTER_SET_FIELD = 17  # MSH-18 among the parts after MSH and its separator

MAX_HEADER_BYTES = 16 * 1024
# All but TAB, and ESC, which changes the character set.
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1a\x1c-\x1f\x7f]")
# Wherever `messages_of` begins a message, unless a start block is there.
_SECOND_HEADER = re.compile(rb"(?:[\r\n\x1c]|\xef\xbb\xbf)MSH[^\w\s]")


def messages_of(value: bytes) -> list[str]:
    """Return the messages of a record, each with CR between its segments.

    A line that does not begin a segment continues the previous one after a line feed:
    senders leave line ends in narrative unescaped, and a note must not lose a part.

    Raises:
        InvalidRecord: undecodable, also if messages are in several character sets; or
            bad_msh: the record does not begin with MSH.
    """
    encoding = _encoding(value)
    text = _decode(value, encoding)
    if END_BLOCK in text or "\ufeff" in text:
        text = _BORDER.sub("\r", text)
    lines = text.replace("\r\n", "\r").replace("\n", "\r").split("\r")
    # Of each message the lines of its segments.
    messages: list[list[list[str]]] = []
    for line in (each.strip(START_BLOCK + END_BLOCK) for each in lines):
        if not line or line.isspace() or _ENVELOPE.match(line):
            continue
        if _HEADER.match(line):
            messages.append([[line]])
        elif not messages:
            raise InvalidRecord(
                ReasonCode.BAD_MSH,
                "MSH: the record does not begin with MSH; check the sender's framing",
            )
        elif segment := _segment(line, separator=messages[-1][0][0][3]):
            messages[-1].append([segment])
        else:
            messages[-1][-1].append(line)
    if not messages:
        raise InvalidRecord(ReasonCode.BAD_MSH, "MSH: the record holds no message")
    found = ["\r".join(map("\n".join, message)) for message in messages]
    _require_one_character_set(found, encoding)
    return found


def in_utf_8(value: bytes, charset: str) -> bytes:
    """Return a record in UTF-8 if it names no character set, or ASCII.

    Args:
        value: A message or batch.  What is UTF-8 is returned as it is.
        charset: The codec that it is in otherwise.
    """
    is_marked = any(value.startswith(mark) for mark in _MARKS)
    if charset == UTF_8 or is_marked or value.isascii() or _declared(_msh(value)):
        return value
    try:
        value.decode(UTF_8)
    except UnicodeDecodeError:
        try:
            return value.decode(charset).encode(UTF_8)
        except UnicodeDecodeError:
            return value  # refused where it is read
    return value


def encoded(text: str, *, like: str) -> bytes:
    """Return a message in the character set that its header names.

    A character that the set does not have, as in a name of the surrogates, becomes a
    question mark.

    Args:
        text: The message.
        like: The message that it was made from.  If that can't be in the character set,
            it had a byte order mark; so has the result, in UTF-8.
    """
    codec = _character_set(text.split("\r", 1)[0].encode(UTF_8, "replace"))
    try:
        like.encode(codec)
    except UnicodeError:
        return codecs.BOM_UTF8 + text.encode(UTF_8, "replace")
    return text.encode(codec, "replace")


def header_of(value: bytes, charset: str = UTF_8) -> tuple[str, str]:
    """Return the MSH segment of a single message, and the codec that MSH-18 names.

    Args:
        value: The message.
        charset: The codec of messages that name none, and are not UTF-8.

    Raises:
        InvalidRecord: bad_msh: the value is not one message, or its MSH is too long or
            has control characters; undecodable.
    """
    body = value.removeprefix(codecs.BOM_UTF8)
    line = re.split(rb"[\r\n]", body[: MAX_HEADER_BYTES + 1], maxsplit=1)[0]
    if not line.startswith(b"MSH"):
        raise InvalidRecord(ReasonCode.BAD_MSH, "MSH: the message begins otherwise")
    if len(line) > MAX_HEADER_BYTES or _CONTROL.search(line):
        raise InvalidRecord(
            ReasonCode.BAD_MSH, "MSH: too long, or with control characters"
        )
    if _SECOND_HEADER.search(value):
        raise InvalidRecord(ReasonCode.BAD_MSH, "MSH: there is a second one")
    encoding = UTF_8 if body is not value else _character_set(line)
    return _decode(in_utf_8(line, charset), encoding), encoding


def _segment(line: str, *, separator: str) -> str:
    """Return a segment that a line begins, or an empty string."""
    if not _SEGMENT.match(line):
        return ""
    if line[3:4] in (" ", "\t"):
        line = _BLANK_AFTER_NAME.sub(r"\1", line, count=1)
    return line if line[3:4] in ("", separator) else ""


def _encoding(value: bytes) -> str:
    """Return the codec of a record: by its mark, or as its first message names it."""
    for mark, encoding in _MARKS.items():
        if value.startswith(mark):
            return encoding
    return _character_set(value)


def _require_one_character_set(messages: Sequence[str], encoding: str) -> None:
    """Refuse a batch whose messages name several: it is decoded as one text."""
    if len(messages) == 1 or encoding in _MARKS.values():
        return
    for each in messages:
        header = each.split("\r", 1)[0]
        if not each.isascii() and (_declared(header) or encoding) != encoding:
            raise InvalidRecord(
                ReasonCode.UNDECODABLE,
                "MSH-18: messages of a batch name several character sets; send them "
                "apart",
            )


def _character_set(value: bytes) -> str:
    """Return the codec that MSH-18 names; it must be read from the raw bytes."""
    return _declared(_msh(value)) or UTF_8


def _declared(header: str) -> str | None:
    """Return the codec that a header names; None if it names none, or ASCII alone.

    Senders that declare ASCII often send more.
    """
    for name in _names_of_sets(header):
        # An unknown name is tried as UTF-8, which refuses other encodings.
        codec = codec_of(name) or UTF_8
        if codec != ASCII:
            return codec
    return None


def _msh(value: bytes) -> str:
    """Return the header of the first message as Latin-1, or an empty string."""
    at = value.find(b"MSH")
    if at < 0 or len(value) < at + 8:
        return ""
    return re.split(rb"[\r\n]", value[at:], maxsplit=1)[0].decode("latin-1")


def _names_of_sets(header: str) -> list[str]:
    """Return the repetitions of MSH-18 that are not empty.

    The first is that of the message; the others are reached by escape sequences, which
    their codecs know if the first is ASCII.
    """
    fields = header.split(header[3:4] or "|")
    if len(fields) <= _CHARACTER_SET_FIELD:
        return []
    names = fields[_CHARACTER_SET_FIELD].split(header[5:6] or "~")
    return [name.strip() for name in names if name.strip()]


def _decode(value: bytes, encoding: str) -> str:
    try:
        return value.decode(encoding)
    except UnicodeError:
        raise InvalidRecord(
            ReasonCode.UNDECODABLE,
            f"MSH-18: the bytes are not {encoding}; name the character set they are in "
            "(the setting charset is for messages that name none)",
        ) from None
