r"""The ward's messages: ADT, ORU and MDM in HL7 v2, and JSON note events.

Sources: HL7 v2.5.1 chapters 3.3 (ADT), 7.3.1 (ORU) and 9.6 (MDM); FT's ``\.br\`` is
2.7.6; schemas/note_event/v1.json.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from deid_core.document import PersonName

from .people import WardPatient
from .segments import (
    Document,
    Stamp,
    escape,
    evn,
    message,
    mrg,
    nk1,
    nte,
    obr,
    obx,
    orc,
    pd1,
    pid,
    pv1,
    short_pid,
    txa,
)


@dataclass(frozen=True, slots=True)
class WardNote:
    """A note to send."""

    person: WardPatient = field(repr=False)
    mrn: str = field(repr=False)
    document: Document
    text: str = field(repr=False)
    stamp: Stamp = field(repr=False)


ADT_STRUCTURES = dict.fromkeys(("A01", "A04", "A08"), "ADT_A01") | {"A31": "ADT_A05"}
ADDRESS_PARTS = ("street", "city", "state", "zip", "country")


def adt(person: WardPatient, mrn: str, event: str, stamp: Stamp) -> bytes:
    """Return an admission, registration or update with all demographics."""
    site = person.site
    kin = [nk1(n, each, site.version) for n, each in enumerate(person.kin, start=1)]
    patient_class = "I" if event == "A01" else "O"
    segments = [
        evn(event, site, stamp),
        pid(person, mrn),
        pd1(person),
        *kin,
        pv1(person, stamp, patient_class),
    ]
    return message(("ADT", event, ADT_STRUCTURES[event]), site, stamp, segments)


def merge(person: WardPatient, stamp: Stamp) -> bytes:
    """Return the A40 that merges the second number into the first."""
    site = person.site
    segments = [evn("A40", site, stamp), pid(person, person.mrn), mrg(person)]
    return message(("ADT", "A40", "ADT_A39"), site, stamp, segments)


def oru(note: WardNote, rng: random.Random) -> bytes:
    """Return a report whose narrative is laid out in one of ``LAYOUTS``."""
    identity = short_pid if rng.random() < 0.2 else pid
    segments = [
        identity(note.person, note.mrn),
        pv1(note.person, note.stamp, "I"),
        orc(note.person, note.stamp),
        obr(note.person, note.stamp, note.document),
        *rng.choice(LAYOUTS)(note.document, note.text.split("\n")),
    ]
    return message(("ORU", "R01", "ORU_R01"), note.person.site, note.stamp, segments)


def mdm(note: WardNote, rng: random.Random) -> bytes:
    """Return a document notification with content; MDM has no NTE after OBX in 2.3."""
    layout, kind = rng.choice(((_line_by_line, "TX"), (_formatted, "FT")))
    segments = [
        evn("T02", note.person.site, note.stamp),
        pid(note.person, note.mrn),
        pv1(note.person, note.stamp, "I"),
        txa(note.person, note.stamp, note.document, kind),
        *layout(note.document, note.text.split("\n")),
    ]
    return message(("MDM", "T02", "MDM_T02"), note.person.site, note.stamp, segments)


def note_event(note: WardNote, rng: random.Random) -> bytes:
    """Return a JSON note event; a fifth of them carry demographics."""
    person = note.person
    event: dict[str, Any] = {
        "schema_version": 1,
        "note_id": f"{person.site.application}-{note.stamp.control_id}",
        "patient": {"assigning_authority": person.site.authority, "id": note.mrn},
        "note_type": note.document[0],
        "written_at": note.stamp.at.isoformat(),
        "text": note.text,
    }
    if not person.is_stranger and rng.random() < 0.2:
        event["demographics"] = _demographics(person)
    return orjson.dumps(event)


def _demographics(person: WardPatient) -> dict[str, Any]:
    staff = (person.attending, person.ordering, person.gp)
    return {
        "names": [
            _name(person.name, "L"),
            *(_name(each, "A") for each in person.former_names),
        ],
        "birth_dates": [person.birth.isoformat()],
        "sex": person.sex,
        "addresses": [{part: getattr(person.address, part) for part in ADDRESS_PARTS}],
        "phones": [person.phone],
        "emails": [person.email],
        "ids": [
            {"value": person.ssn, "type": "SS", "assigning_authority": "SSA"},
            {"value": person.account, "type": "AN"},
        ],
        "kin": [
            {"name": _name(each.name), "relationship": each.relation[0]}
            for each in person.kin
        ],
        "providers": [_name(each.name) for each in staff],
        "facilities": [person.site.facility],
    }


def _name(name: PersonName, use: str = "") -> dict[str, str]:
    parts = {"family": name.family, "given": name.given, "middle": name.middle}
    return {key: value for key, value in {**parts, "use": use}.items() if value}


def _line_by_line(document: Document, lines: list[str], kind: str = "TX") -> list[str]:
    return [
        obx(number, kind, document, escape(line))
        for number, line in enumerate(lines, start=1)
    ]


def _formatted(document: Document, lines: list[str]) -> list[str]:
    return [obx(1, "FT", document, "\\.br\\".join(map(escape, lines)))]


def _repeated(document: Document, lines: list[str]) -> list[str]:
    return [obx(1, "TX", document, "~".join(map(escape, lines)))]


def _with_comments(document: Document, lines: list[str]) -> list[str]:
    half = len(lines) // 2
    notes = [nte(n, escape(line)) for n, line in enumerate(lines[half:], start=1)]
    return [*_line_by_line(document, lines[:half]), *notes]


def _comments_repeated(document: Document, lines: list[str]) -> list[str]:
    half = len(lines) // 2
    return [
        *_formatted(document, lines[:half]),
        nte(1, "~".join(map(escape, lines[half:]))),
    ]


LAYOUTS: tuple[Callable[[Document, list[str]], list[str]], ...] = (
    _line_by_line,
    _formatted,
    _repeated,
    partial(_line_by_line, kind="ST"),
    _with_comments,
    _comments_repeated,
)
"""Layouts of lines in OBX and NTE; read in order, they give the same lines."""
