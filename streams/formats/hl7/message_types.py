"""The supported messages: type and trigger event of MSH-9, by HL7 v2 chapter.

A supported message updates the patients of its PID segments, and all its narrative
becomes notes.  Other messages are dead letters, so that nothing they hold about a
patient is lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode

from .message import Segment

_CODE = re.compile(r"[A-Z0-9]{3}")


@dataclass(frozen=True, slots=True)
class Event:
    """Type and trigger event of a message (MSH-9.1 and 9.2)."""

    type: str
    trigger: str

    def __str__(self) -> str:
        return f"{self.type}_{self.trigger}" if self.trigger else self.type


TRIGGERS = {
    # Chapter 3, patient administration
    "ADT": re.compile(r"A(0[1-9]|[1-5]\d|6[0-2])"),
    # Chapter 4, orders; 4A pharmacy and vaccination
    "ORM": re.compile(r"O01"),
    "ORR": re.compile(r"O02"),
    "OMG": re.compile(r"O19"),
    "ORG": re.compile(r"O20"),
    "OML": re.compile(r"O(21|33|35|39|59)"),
    "ORL": re.compile(r"O(22|34|36|40|53|54)"),
    "OMD": re.compile(r"O03"),
    "OMS": re.compile(r"O05"),
    "OMN": re.compile(r"O07"),
    "OMI": re.compile(r"O23"),
    "OMB": re.compile(r"O27"),
    "OMP": re.compile(r"O09"),
    "RDE": re.compile(r"O(01|11|25|49)"),
    "RDS": re.compile(r"O(01|13)"),
    "RGV": re.compile(r"O(01|15)"),
    "RAS": re.compile(r"O(01|17)"),
    "VXU": re.compile(r"V04"),
    "OSR": re.compile(r"Q06"),
    # Chapter 5, query responses that hold patients
    "RSP": re.compile(r"K(1[1356]|2[1-5]|3[1-4])"),
    # Chapter 6, financial management
    "DFT": re.compile(r"P(03|11)"),
    "BAR": re.compile(r"P(0[1256]|1[02])"),
    # Chapter 7, observations
    "ORU": re.compile(r"(R01|R3[0-2]|R40|R42)?"),
    "OUL": re.compile(r"R2[1-4]"),
    "CRM": re.compile(r"C0[1-8]"),
    "CSU": re.compile(r"C(09|1[0-2])"),
    # Chapter 9, documents
    "MDM": re.compile(r"T(0[1-9]|1[01])"),
    # Chapter 10, scheduling
    "SIU": re.compile(r"S(1[2-9]|2[0-4]|26|27)"),
    # Chapter 11, referral; 12 patient care
    "REF": re.compile(r"I1[2-5]"),
    "RRI": re.compile(r"I1[2-5]"),
    "RQA": re.compile(r"I(08|09|10|11)"),
    "PPR": re.compile(r"PC[123]"),
    "PPP": re.compile(r"PC[BCD]"),
    "PPG": re.compile(r"PC[GHJ]"),
    "PGL": re.compile(r"PC[678]"),
}
"""Message types that hold patients, and their triggers; v2.1 has ORU without one."""


def event_of(msh: Segment, evn: Segment | None) -> Event:
    """Return the event of a supported message.

    Raises:
        InvalidRecord: unknown_event; the reason shows MSH-9 only if it is a code.
    """
    # Some systems send MSH-9 in one component, or the trigger in EVN-1 only.
    parts = re.split(r"\^|_", msh.value(9), maxsplit=2)
    type_ = parts[0].strip()
    trigger = msh.value(9, 2) or (parts[1] if len(parts) > 1 else "")
    if not trigger and evn is not None:
        trigger = evn.value(1)
    if not type_:
        raise InvalidRecord(
            ReasonCode.BAD_MSH, "MSH-9: empty; the header is broken or cut off"
        )
    known = TRIGGERS.get(type_)
    if known is None or not known.fullmatch(trigger):
        raise InvalidRecord(
            ReasonCode.UNKNOWN_EVENT,
            f"MSH-9: {_shown(type_)}^{_shown(trigger)} is not supported; "
            "see TRIGGERS in streams/formats/hl7/message_types.py",
        )
    return Event(type_, trigger)


def _shown(code: str) -> str:
    return code if _CODE.fullmatch(code) else "?"
