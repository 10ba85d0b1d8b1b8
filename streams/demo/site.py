"""Invented hospitals that write in their own manner, for adaptation to a site.

A profile is the habits of one hospital: how authors end a line, how numbers look, what
clinics are called.  Each note comes with the patient's record, and half of what it
holds is in no record: authors and partners who never treated the patient officially,
other clinics, earlier visits, orders.  A span's kind says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from random import Random
from typing import Any

import orjson

from deid_core.document import KnownId, KnownIdentifiers, PersonName, Span
from deid_core.fiction.numbers import from_pattern
from deid_core.fiction.people import plain_name
from deid_core.labels import Label
from deid_core.research.corpora.corpus import GoldDocument, GoldSpan

from .people import Registry, Split, Staff, WardPatient
from .pools import load_pools, table
from .slots import SLOTS
from .ward import EPOCH

IN_RECORD = "in the record"
AUTHOR, PARTNER, STAFF, CLINIC, NUMBER = (
    "author line",
    "partner's initials",
    "staff of no record",
    "clinic of no record",
    "number of no record",
)
OUTSIDE = (AUTHOR, PARTNER, STAFF, CLINIC, NUMBER)
"""Kinds of values that no record holds."""

AUTHORITY = "SITE"
_STAFF, _CLINICS, _NUMBERS = 60, 12, 3
_TREATING = 0.4
"""How often a person of a note is one of the patient's record."""
_LEAST_LINES, _MOST_LINES = 5, 11
_DAYS = 200


@dataclass(frozen=True, slots=True)
class SiteProfile:
    """The habits of one hospital.

    Args:
        author_line: Code and badge of an author.
        code: How a code is made of a name.
        is_upper: Whether codes are in capitals.
        partner: A second person, by initials.
        initials_upper: Whether initials are in capitals.
        sign_off: The end of a note.
        move: How a change of place is written.
        label: Before the record number; may be empty.
        numbers: Patterns: of record numbers, visits and orders.
        clinics: Names of clinics and units.
    """

    author_line: str
    code: str
    is_upper: bool
    badge: str
    partner: str
    initials_upper: bool
    sign_off: str
    move: str
    label: str
    numbers: tuple[str, str, str]
    clinics: tuple[str, ...]

    @classmethod
    def draw(cls, chance: Random) -> SiteProfile:
        """Return the profile of a hospital."""
        habits = table("site")
        record, visit, order = chance.sample(habits["numbers"], _NUMBERS)
        firsts = chance.sample(habits["first_words"].split(), _CLINICS)
        clinics = (each + chance.choice(habits["last_words"]) for each in firsts)
        return cls(
            chance.choice(habits["author_lines"]),
            chance.choice(habits["codes"]),
            chance.random() < 0.3,
            chance.choice(habits["badges"]),
            chance.choice(habits["partners"]),
            chance.random() < 0.7,
            chance.choice(habits["sign_offs"]),
            chance.choice(habits["moves"]),
            chance.choice(habits["labels"]),
            (record, visit, order),
            tuple(clinics),
        )

    def code_of(self, name: PersonName) -> str:
        """Return a person's code: ``kst`` for Karin Stone."""
        parts = {"g": name.given, "f": name.family}
        pairs = zip(self.code[::2], self.code[1::2], strict=True)
        letters = "".join(_letters(parts[part])[: int(n)] for part, n in pairs)
        return letters.upper() if self.is_upper else letters.lower()

    def initials_of(self, name: PersonName) -> str:
        """Return a person's initials."""
        letters = _letters(name.given)[:1] + _letters(name.family)[:1]
        return letters.upper() if self.initials_upper else letters.lower()


@dataclass(frozen=True, slots=True)
class SiteNote:
    """A note of the hospital.

    Args:
        patient: The patient's number within the hospital.
        document: The note with its marks, and the patient's record.
        event: The same as a JSON note event with demographics.
    """

    patient: str = field(repr=False)
    document: GoldDocument = field(repr=False)
    event: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Patient:
    person: WardPatient = field(repr=False)
    number: str = field(repr=False)
    visit: str = field(repr=False)
    clinic: str = field(repr=False)
    staff: tuple[Staff, ...] = field(repr=False)

    def known(self) -> KnownIdentifiers:
        person = self.person
        return KnownIdentifiers(
            patient_names=(person.name, *person.former_names),
            kin_names=tuple(each.name for each in person.kin),
            provider_names=tuple(each.name for each in self.staff),
            birth_dates=(person.birth,),
            addresses=(person.address,),
            phones=(person.phone, *(each.phone for each in person.kin)),
            emails=(person.email,),
            ids=(
                KnownId(self.number, Label.MEDICALRECORD),
                KnownId(self.visit, Label.ACCOUNT),
            ),
            facilities=(self.clinic,),
        )


class SiteHospital:
    """Notes of one invented hospital; the same arguments, the same notes.

    Args:
        seed: Decides everything, the habits too.
        patients: How many people there are.
        split: Of names and clinical words.
    """

    def __init__(self, *, seed: int, patients: int = 200, split: Split = "dev") -> None:
        self._seed = f"{seed}/{split}/site"
        chance = Random(f"{self._seed}/habits")  # noqa: S311 - no secret
        self.profile = SiteProfile.draw(chance)
        pools = load_pools(split, slots=SLOTS)
        self._clinical = pools.clinical
        registry = Registry(seed=seed, split=split, pools=pools, epoch=EPOCH)
        self._staff = registry.staff(_STAFF)
        # A person's badge stays the same.
        self._badges = {
            each.id: from_pattern(self.profile.badge, chance) for each in self._staff
        }
        people = (registry.person(n, self._staff) for n in range(patients))
        self._patients = [self._patient(each, chance) for each in people]

    def notes(self, count: int) -> Iterator[SiteNote]:
        """Yield so many notes, patient by patient in turn."""
        for number in range(count):
            patient = self._patients[number % len(self._patients)]
            chance = Random(f"{self._seed}/{number}")  # noqa: S311 - no secret
            day = datetime.combine(EPOCH, time(6)) + timedelta(
                days=chance.randrange(_DAYS)
            )
            draft = _NoteDraft(self, patient, day, chance)
            text, spans = draft.written()
            document = GoldDocument(
                f"site-{number}", text, spans, known=patient.known(), note_type="ward"
            )
            yield SiteNote(patient.number, document, _event(document, patient))

    def _patient(self, person: WardPatient, chance: Random) -> _Patient:
        record, visit, _ = self.profile.numbers
        return _Patient(
            person,
            from_pattern(record, chance),
            from_pattern(visit, chance),
            chance.choice(self.profile.clinics),
            tuple(chance.sample(self._staff, 3)),
        )


class _NoteDraft:
    """One note while it is written."""

    def __init__(
        self, hospital: SiteHospital, patient: _Patient, day: datetime, chance: Random
    ) -> None:
        self._hospital, self._patient = hospital, patient
        self._profile, self._chance = hospital.profile, chance
        self._day = day
        self._text = ""
        self._spans: list[GoldSpan] = []

    def written(self) -> tuple[str, tuple[GoldSpan, ...]]:
        """Return the note's text and what is marked in it."""
        lines = table("site")["lines"]
        chance = self._chance
        count = chance.randint(_LEAST_LINES, _MOST_LINES)
        chosen = [
            chance.choice(lines["heads"]),
            *chance.sample(lines["notes"], count),
            chance.choice(lines["closes"]),
        ]
        if chance.random() < 0.5:
            chosen.insert(chance.randint(1, count), chance.choice(lines["middles"]))
        for line in chosen:
            self._line(line)
        return self._text, tuple(self._spans)

    def _line(self, line: str) -> None:
        rest = line
        while rest:
            before, opened, rest = rest.partition("{")
            self._text += before
            if opened:
                slot, _, rest = rest.partition("}")
                self._fill(slot)
        self._text += "\n"

    def _fill(self, slot: str) -> None:
        if slot in _MARKED:
            _MARKED[slot](self)
        else:
            self._text += self._plain(slot)

    def _plain(self, slot: str) -> str:
        chance = self._chance
        if slot == "time":
            return f"{chance.randrange(24):02}{chance.randrange(0, 60, 5):02}"
        if slot == "bp":
            return f"{chance.randrange(96, 180)}/{chance.randrange(50, 100)}"
        if slot in ("move", "label"):
            return str(getattr(self._profile, slot))
        return str(chance.choice(self._hospital._clinical[f"{slot}s"]))  # noqa: SLF001

    def mark(self, value: str, label: Label, kind: str) -> None:
        start = len(self._text)
        self._text += value
        span = Span(start, len(self._text))
        self._spans.append(
            GoldSpan(span, label.value, label, len(self._spans), (kind,))
        )

    def _someone(self) -> tuple[Staff, bool]:
        """Return a person of the staff, and whether the record names them."""
        treating = self._patient.staff
        if self._chance.random() < _TREATING:
            return self._chance.choice(treating), True
        others = [s for s in self._hospital._staff if s not in treating]  # noqa: SLF001
        return self._chance.choice(others), False

    def author(self) -> None:
        staff, _ = self._someone()
        code = self._profile.code_of(staff.name)
        badge = self._hospital._badges[staff.id]  # noqa: SLF001
        before, _, rest = self._profile.author_line.partition("{code}")
        between, _, after = rest.partition("{badge}")
        self._text += before
        # Only the name behind a code is in a record, never the code.
        self.mark(code + between + badge, Label.DOCTOR, AUTHOR)
        self._text += after

    def partner(self) -> None:
        staff, _ = self._someone()
        before, _, after = self._profile.partner.partition("{initials}")
        self._text += before
        self.mark(self._profile.initials_of(staff.name), Label.DOCTOR, PARTNER)
        self._text += after

    def staff(self) -> None:
        staff, is_known = self._someone()
        kind = IN_RECORD if is_known else STAFF
        self.mark(staff.name.family, Label.DOCTOR, kind)

    def sign_off(self) -> None:
        staff, is_known = self._someone()
        before, _, after = self._profile.sign_off.partition("{name}")
        self._text += before
        name = f"{staff.name.given[0]} {staff.name.family}"
        self.mark(name, Label.DOCTOR, IN_RECORD if is_known else STAFF)
        self._text += after

    def clinic(self) -> None:
        clinic = self._chance.choice(self._profile.clinics)
        kind = IN_RECORD if clinic == self._patient.clinic else CLINIC
        self.mark(clinic, Label.HOSPITAL, kind)

    def clinic_known(self) -> None:
        self.mark(self._patient.clinic, Label.HOSPITAL, IN_RECORD)

    def patient(self) -> None:
        name = self._patient.person.name
        forms = (name.family, f"{name.family}, {name.given}", f"{name.given[0]} ")
        form = self._chance.choice(forms)
        self.mark(
            form + name.family if form.endswith(" ") else form, Label.PATIENT, IN_RECORD
        )

    def number(self) -> None:
        self.mark(self._patient.number, Label.MEDICALRECORD, IN_RECORD)

    def visit(self) -> None:
        self.mark(self._patient.visit, Label.ACCOUNT, IN_RECORD)

    def date(self) -> None:
        day = self._day
        self.mark(f"{day.day}.{day.month}", Label.DATE, "date")

    def drawn(self, which: int) -> None:
        pattern = self._profile.numbers[which]
        self.mark(from_pattern(pattern, self._chance), Label.IDNUM, NUMBER)


_MARKED: dict[str, Callable[[_NoteDraft], None]] = {
    "author": _NoteDraft.author,
    "partner": _NoteDraft.partner,
    "staff": _NoteDraft.staff,
    "sign_off": _NoteDraft.sign_off,
    "clinic": _NoteDraft.clinic,
    "clinic_known": _NoteDraft.clinic_known,
    "patient": _NoteDraft.patient,
    "number": _NoteDraft.number,
    "visit": _NoteDraft.visit,
    "date": _NoteDraft.date,
    "kin_number": lambda draft: draft.drawn(0),
    "old_visit": lambda draft: draft.drawn(1),
    "accession": lambda draft: draft.drawn(2),
}


def _letters(text: str) -> str:
    """Return the letters of a name as user names have them, in ASCII."""
    return "".join(filter(str.isalpha, plain_name(text)))


def _event(document: GoldDocument, patient: _Patient) -> bytes:
    known = patient.known()
    demographics: dict[str, Any] = {
        "names": [_name(each) for each in known.patient_names],
        "birth_dates": [each.isoformat() for each in known.birth_dates],
        "phones": [*known.phones],
        "emails": [*known.emails],
        "ids": [{"value": patient.visit, "type": "VN"}],
        "kin": [{"name": _name(each)} for each in known.kin_names],
        "providers": [_name(each) for each in known.provider_names],
        "facilities": [*known.facilities],
    }
    return orjson.dumps(
        {
            "schema_version": 1,
            "note_id": document.id,
            "patient": {"assigning_authority": AUTHORITY, "id": patient.number},
            "text": document.text,
            "demographics": demographics,
        }
    )


def _name(name: PersonName) -> dict[str, str]:
    return {"family": name.family, "given": name.given}
