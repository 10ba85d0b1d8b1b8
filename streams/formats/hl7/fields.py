"""The segments and fields that hold demographics, by HL7 chapter.

Sources: HL7 v2.5.1 chapters 3 (PID, PD1, NK1, PV1, MRG), 4 (ORC, OBR), 6 (GT1, IN1,
DG1, PR1), 7 (OBX), 9 (TXA), 12 (ROL), 7.4.4 of v2.7 (PRT); a field of a later version
is read in messages of any.
"""

from __future__ import annotations

from collections.abc import Mapping

FieldTypes = Mapping[str, tuple[tuple[int, str], ...]]
"""Segment to fields, each with the identifier type (table 0203) where CX.5 is empty."""

PATIENT_IDS = ((3, ""), (2, "PT"), (4, "PT"))
"""Of PID, in the order of preference for the patient's key."""
IDS: FieldTypes = {
    "PID": (*PATIENT_IDS, (18, "AN"), (19, "SS"), (20, "DL"), (21, "MR")),
    "PV1": ((19, "VN"), (50, "VN")),
    "MRG": ((1, "MR"), (2, "PT"), (3, "AN"), (4, "MR"), (5, "VN"), (6, "VN")),
    "NK1": ((33, ""), (37, "SS")),
    "IN1": ((36, "MB"), (49, "MB")),
    "GT1": ((12, "SS"),),
}
PRIOR_IDS = (1, 4)
"""Of MRG: the merged patient identifiers (chapter 3.4.10)."""

NAMES = {"PID": (5,), "MRG": (7,)}
ALIASES = {"PID": (9,)}
KIN = {"NK1": (2, 30), "GT1": (3, 4), "IN1": (16,), "PID": (6,)}
ADDRESSES = {"PID": (11,), "NK1": (4, 32), "GT1": (5,), "IN1": (19,)}
PHONES = {"PID": (13, 14, 40), "NK1": (5, 6, 31), "GT1": (6, 7)}
EMPLOYERS = {"NK1": (13,), "GT1": (16,), "IN1": (11,)}

PROVIDERS = {
    "PD1": (4,),
    "PV1": (7, 8, 9, 17, 52),
    "ORC": (10, 11, 12, 19),
    "OBR": (10, 16, 28),
    "OBX": (16, 25),
    "TXA": (5, 9, 10, 11, 22, 23),
    "ROL": (4,),
    "PRT": (5,),
    "DG1": (16,),
    "PR1": (8, 11, 12),
}
"""Doctors and staff, of type XCN."""
READERS = {"OBR": (32, 33, 34, 35)}
"""Interpreters, assistants and transcriptionists, of type NDL."""

FACILITIES = {"PV1": ((3, 4), (39, 1)), "ORC": ((21, 1),), "PD1": ((3, 1),)}
"""Names of facilities: field and component."""

OTHERS = {"PID": (7, 8), "NK1": (3,)}
"""Birth date, sex; relationship."""


def wanted() -> dict[str, frozenset[int]]:
    """Return the fields of all tables, by segment."""
    tables = (NAMES, ALIASES, KIN, ADDRESSES, PHONES, EMPLOYERS, PROVIDERS, READERS)
    found: dict[str, set[int]] = {}
    for table in (*tables, OTHERS):
        for name, numbers in table.items():
            found.setdefault(name, set()).update(numbers)
    for pairs in (IDS, FACILITIES):
        for name, fields in pairs.items():
            found.setdefault(name, set()).update(number for number, _ in fields)
    return {name: frozenset(numbers) for name, numbers in found.items()}
