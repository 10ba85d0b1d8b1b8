"""Acknowledgements: what MSH says of its sender, and the answer to a message.

Sources: HL7 v2 chapters 2.9.2 (original and enhanced mode) and 2.15 (MSA, ERR), tables
0008, 0155 and 0357.  python-hl7's `create_ack` is not used: it needs the whole message
parsed, repeats any value of MSH-9, MSH-11 and MSH-12, and loses the character set.

Of the message an answer repeats MSH-10, and MSH-3 to MSH-6 swapped; besides, only what
is a form of the standard: delimiters, version, trigger event, character set.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum

from streams.engine.character_sets import UTF_8, codec_of
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode

from .framing import header_of
from .message import Segment, parse
from .sender import sender_of

_READ = {"MSH": (3, 4, 9, 10, 12, 15, 16)}
_VERSION = re.compile(r"2\.[0-9](?:\.[0-9])?")
_TRIGGER = re.compile(r"[A-Z][A-Z0-9]{2}")
# For a message whose own cannot be read.
_DEFAULT_VERSION = "2.3"


class Verdict(Enum):
    """The outcome of a message; the value is the second letter of MSA-1."""

    ACCEPTED = "A"
    FAILED = "E"
    REJECTED = "R"


class Refusal(StrEnum):
    """Why a message is not accepted: a closed set, also used as a metric's label."""

    TOO_LARGE = "too_large"
    NOT_STORED = "not_stored"
    BAD_FRAME = "bad_frame"
    BAD_MSH = "bad_msh"
    UNDECODABLE = "undecodable"
    UNKNOWN_SENDER = "unknown_sender"

    @property
    def verdict(self) -> Verdict:
        """The verdict on the message: it fails, or is rejected unseen."""
        is_failure = self in (Refusal.TOO_LARGE, Refusal.NOT_STORED)
        return Verdict.FAILED if is_failure else Verdict.REJECTED


# Words and blanks alone: no delimiter can be among them.
_REASONS: dict[Refusal, tuple[str, str]] = {
    Refusal.TOO_LARGE: ("207", "The message is larger than is accepted here"),
    Refusal.NOT_STORED: (
        "207",
        "The message could not be stored and may be sent again",
    ),
    Refusal.BAD_FRAME: ("100", "A frame must hold one whole message"),
    Refusal.BAD_MSH: ("100", "MSH is missing or cannot be read"),
    Refusal.UNDECODABLE: ("102", "MSH is not in the character set that MSH 18 names"),
    Refusal.UNKNOWN_SENDER: ("207", "MSH 3 and MSH 4 name no sender that is allowed"),
}
_ERROR_CODES = {
    "100": "Segment sequence error",
    "102": "Data type error",
    "207": "Application internal error",
}


@dataclass(frozen=True, slots=True, repr=False)
class Sender:
    """The namespace and the universal id of MSH-3 and of MSH-4."""

    application: tuple[str, str]
    facility: tuple[str, str]


@dataclass(frozen=True, slots=True, repr=False)
class Header:
    """The fields that are read of a message's MSH."""

    sender: Sender
    message_type: str
    trigger: str
    version: str
    accept: str
    """MSH-15, the condition of an accept acknowledgement (table 0155)."""
    application: str
    """MSH-16, the condition of an application acknowledgement (table 0155)."""
    raw: tuple[str, ...]
    """The fields by their number, as they are written; the first is the name."""
    encoding: str

    @classmethod
    def of(cls, message: bytes, charset: str = UTF_8) -> Header:
        """Return the header of a message.

        Args:
            message: The message.
            charset: The codec of messages that name none, and are not UTF-8.

        Raises:
            InvalidRecord: bad_msh; undecodable.
        """
        text, encoding = header_of(message, charset)
        [msh] = parse(text, _READ)
        separator = text[3]
        header = cls(
            sender=Sender(_name(msh, 3), _name(msh, 4)),
            message_type=msh.value(9, 1),
            trigger=_of_form(_TRIGGER, msh.value(9, 2), ""),
            version=_of_form(_VERSION, msh.value(12), _DEFAULT_VERSION),
            accept=msh.value(15),
            application=msh.value(16),
            raw=("MSH", separator, *text.split(separator)[1:]),
            encoding=encoding,
        )
        if not header.message_type:
            raise InvalidRecord(ReasonCode.BAD_MSH, "MSH-9: the message type is empty")
        return header

    @property
    def is_acknowledgement(self) -> bool:
        """True if the message is an answer itself, which gets none."""
        return self.message_type in ("ACK", "MCF")

    @property
    def key(self) -> bytes:
        """The key of the message's record: its sender, as it is written."""
        return sender_of(self.field(3), self.field(4))

    def field(self, number: int) -> str:
        """Return a field as it is written, or an empty string."""
        return self.raw[number] if number < len(self.raw) else ""


_UNREADABLE = Header(
    Sender(("", ""), ("", "")),
    *("", "", _DEFAULT_VERSION, "", ""),
    raw=("MSH", "|", "^~\\&"),
    encoding="ascii",
)


def code_for(header: Header | None, verdict: Verdict) -> str | None:
    """Return MSA-1, or None when the sender wants no answer, or sent one itself.

    In enhanced mode one answer is given: the accept acknowledgement, if MSH-15 asks for
    it; or else the application acknowledgement, if MSH-16 does, which is the original
    mode in other words (chapter 2.9.2).

    Args:
        header: Of the message; None if it can't be read.
        verdict: On the message.
    """
    if header is None:
        return f"A{verdict.value}"
    if header.is_acknowledgement:
        return None
    if not (header.accept or header.application):
        return f"A{verdict.value}"
    for mode, condition in (("C", header.accept), ("A", header.application)):
        if condition and _is_met(condition, verdict):
            return f"{mode}{verdict.value}"
    return None


def acknowledgement(
    header: Header | None, code: str, refusal: Refusal | None, now: datetime
) -> bytes:
    """Return an acknowledgement in the delimiters and character set of the message.

    Args:
        header: Of the message; None if it can't be read.
        code: MSA-1.
        refusal: Why the message is not accepted.
        now: For MSH-7.
    """
    of = header or _UNREADABLE
    separator, marks = of.field(1), of.field(2)
    version = tuple(map(int, of.version.split(".")))
    msh = [
        "MSH", marks, of.field(5), of.field(6), of.field(3), of.field(4),
        now.strftime("%Y%m%d%H%M%S"), "", _message_type(of, marks[0], version),
        secrets.token_hex(10), "P", of.version, "", "", "", "", "", _charset(of),
    ]  # fmt: skip
    error, reason = _REASONS[refusal] if refusal else ("", "")
    msa = ["MSA", code, of.field(10)]
    # MSA-3 was withdrawn in version 2.7; ERR-3 and ERR-8 came in 2.5.
    if reason and version < (2, 7):
        msa.append(reason)
    segments = [msh, msa]
    if reason and version >= (2, 5):
        coded = marks[0].join((error, _ERROR_CODES[error], "HL70357"))
        segments.append(["ERR", "", "", coded, "E", "", "", "", reason])
    lines = (separator.join(each).rstrip(separator) for each in segments)
    return "".join(f"{line}\r" for line in lines).encode(of.encoding)


def _is_met(condition: str, verdict: Verdict) -> bool:
    """Return whether table 0155 asks for an answer; what it does not know, asks."""
    is_success = verdict is Verdict.ACCEPTED
    return {"NE": False, "SU": is_success, "ER": not is_success}.get(condition, True)


def _message_type(of: Header, component: str, version: tuple[int, ...]) -> str:
    """Return MSH-9: the event came in version 2.2, the structure in 2.3.1."""
    if not of.trigger or version < (2, 2):
        return "ACK"
    structure = ("ACK",) if version >= (2, 3, 1) else ()
    return component.join(("ACK", of.trigger, *structure))


def _charset(of: Header) -> str:
    """Return MSH-18 if it is a known character set, or an empty string."""
    first = of.field(18).split(of.field(2)[1:2] or "~")[0]
    return first if codec_of(first.strip()) else ""


def _name(msh: Segment, number: int) -> tuple[str, str]:
    return msh.value(number, 1), msh.value(number, 2)


def _of_form(form: re.Pattern[str], value: str, default: str) -> str:
    return value if form.fullmatch(value) else default
