"""Who sent a message: MSH-3 and MSH-4, all components, as the header has them.

`sender_key` is the key of the record on `hl7.raw` where repeated messages are to be
found: all messages of a sender are then in one partition, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.engine.character_sets import UTF_8
from streams.engine.errors import InvalidRecord

from .framing import in_utf_8, messages_of

_APPLICATION, _FACILITY, _CONTROL_ID = 2, 3, 9
"""MSH-3, MSH-4 and MSH-10 among the parts of a header; MSH-1 is the separator."""


@dataclass(frozen=True, slots=True)
class Header:
    """The sender and the control id, which identify a message.

    Args:
        sender: MSH-3, a vertical bar, MSH-4, in UTF-8.
        control_id: MSH-10; empty if there is none.
    """

    sender: bytes = field(repr=False)
    control_id: str = field(repr=False)


def header_of(message: str) -> Header:
    """Return what identifies a message.

    Args:
        message: As `messages_of` returns it.
    """
    parts = message.split("\r", 1)[0].split(message[3:4] or "|", _CONTROL_ID + 1)
    parts += [""] * (_CONTROL_ID + 1 - len(parts))
    sender = sender_of(parts[_APPLICATION], parts[_FACILITY])
    return Header(sender, parts[_CONTROL_ID].strip())


def sender_of(application: str, facility: str) -> bytes:
    """Return the key of a sender's records, from MSH-3 and MSH-4 as they are written.

    Args:
        application: MSH-3 with all its components and escape sequences.
        facility: MSH-4 with all its components and escape sequences.
    """
    return f"{application.strip()}|{facility.strip()}".encode()


def sender_key(value: bytes | None, charset: str = UTF_8) -> bytes | None:
    """Return the key of a record of `hl7.raw`: the sender of its first message.

    Args:
        value: One message or a batch of one sender, as on `hl7.raw`.
        charset: The codec of messages that name none, and are not UTF-8.

    Returns:
        None if the value is no HL7 v2 message, or is undecodable.
    """
    try:
        first, *_others = messages_of(in_utf_8(value or b"", charset))
    except InvalidRecord:
        return None
    return header_of(first).sender
