"""People, day and places of one note: drawn once, and the same throughout it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random

from deid_core.labels import Label

from . import negatives, values
from .people import NotePerson, draw_person
from .segments import Segment
from .splits import Half
from .tables import entries_of, table
from .values import day_of_note, number, web, written

_A_YEAR, _A_LIFE = 365, 90 * 365


@dataclass(frozen=True, slots=True)
class Scenario:
    """The people, the day and the places of one note.

    Args:
        chance: Draws everything else where a template has it.
        form: How this note names the patient in its prose.
    """

    half: Half
    chance: Random
    patient: NotePerson
    doctor: NotePerson
    other_doctor: NotePerson
    kin: NotePerson
    day: date = field(repr=False)
    hospital: str = field(repr=False)
    town: str = field(repr=False)
    mrn: str = field(repr=False)
    form: str

    @classmethod
    def draw(cls, half: Half, chance: Random) -> Scenario:
        """Return the cast of a new note."""
        patient = draw_person(half, chance, Label.PATIENT)
        doctors = [draw_person(half, chance, Label.DOCTOR) for _ in range(2)]
        return cls(
            half=half,
            chance=chance,
            patient=patient,
            doctor=doctors[0],
            other_doctor=doctors[1],
            kin=draw_person(half, chance, Label.PATIENT),
            day=day_of_note(chance),
            hospital=values.institution("cued", half, chance),
            town=values.town(half, chance),
            mrn=number("mrn", chance),
            form=chance.choice(table("people")["uses"]["prose"]),
        )

    def segments(self, name: str) -> list[Segment]:
        """Return what fills a field of a template.

        Args:
            name: A key of `FIELDS`; or a person and a form or use of people.toml, such
                as ``patient.given`` and ``doctor.signature``.

        Raises:
            KeyError: There is no such field.
        """
        if name in FIELDS:
            return FIELDS[name](self)
        who, _, form = name.partition(".")
        person: NotePerson = {
            "patient": self.patient,
            "doctor": self.doctor,
            "colleague": self.other_doctor,
            "kin": self.kin,
        }[who]
        uses = table("people")["uses"]
        if form in uses:
            form = self.chance.choice(uses[form])
        return person.named(form)

    def date_before(self, days: int, form: str) -> str:
        """Return a date within so many days before the note's."""
        back = timedelta(self.chance.randrange(1, days))
        return written(self.day - back, form, self.chance)


Field = Callable[[Scenario], list[Segment]]


def _one(label: Label | None, value: Callable[[Scenario], str], *kinds: str) -> Field:
    return lambda c: [Segment(value(c), label, kinds)]


def _number(label: Label, kind: str) -> Field:
    return _one(label, lambda c: number(kind, c.chance))


def _phrase(name: str) -> Field:
    entries = entries_of(table("phrases")[name])
    return lambda c: [Segment(c.chance.choice(entries))]


def _decoy(value: Callable[[Half, Random], str]) -> Field:
    return lambda c: [Segment(value(c.half, c.chance), is_decoy=True)]


FIELDS: Mapping[str, Field] = {
    "patient": lambda c: c.patient.named(c.form),
    "patient.possessive": lambda c: [*c.patient.named(c.form), Segment("'s")],
    "today": _one(Label.DATE, lambda c: written(c.day, "full", c.chance)),
    "today.short": _one(Label.DATE, lambda c: written(c.day, "short", c.chance)),
    "stamp": _one(Label.DATE, lambda c: written(c.day, "stamp", c.chance)),
    "date": _one(Label.DATE, lambda c: c.date_before(_A_YEAR, "full")),
    "date.short": _one(Label.DATE, lambda c: c.date_before(_A_YEAR, "short")),
    "birth": _one(Label.DATE, lambda c: c.date_before(_A_LIFE, "full")),
    "age": lambda c: [Segment(str(c.chance.randrange(2, 90)))],
    "age.old": _one(Label.AGE, lambda c: str(c.chance.randrange(90, 108))),
    "hospital": _one(Label.HOSPITAL, lambda c: c.hospital, "house with cue"),
    "hospital.other": _one(
        Label.HOSPITAL,
        lambda c: values.institution("cued", c.half, c.chance),
        "house with cue",
    ),
    "hospital.bare": _one(
        Label.HOSPITAL,
        lambda c: values.institution("bare", c.half, c.chance),
        "house without cue",
    ),
    "hospital.short": _one(
        Label.HOSPITAL,
        lambda c: values.institution("short", c.half, c.chance),
        "house by its letters",
    ),
    "city": _one(Label.CITY, lambda c: c.town),
    "city.other": _one(Label.CITY, lambda c: values.town(c.half, c.chance)),
    "state": _one(Label.STATE, lambda c: values.state(c.chance)),
    "country": _one(Label.COUNTRY, lambda c: values.country(c.chance)),
    "street": _one(Label.STREET, lambda c: values.street(c.chance)),
    "place": _one(Label.LOCATION_OTHER, lambda c: values.other_place(c.half, c.chance)),
    "organization": _one(
        Label.ORGANIZATION, lambda c: values.organization(c.half, c.chance)
    ),
    "profession": _one(Label.PROFESSION, lambda c: values.profession(c.half, c.chance)),
    "mrn": _one(Label.MEDICALRECORD, lambda c: c.mrn),
    "zip": _number(Label.ZIP, "zip"),
    "phone": _number(Label.PHONE, "phone"),
    "pager": _number(Label.PHONE, "pager"),
    "fax": _number(Label.FAX, "fax"),
    "ssn": _number(Label.SSN, "ssn"),
    "health_plan": _number(Label.HEALTHPLAN, "health_plan"),
    "account": _number(Label.ACCOUNT, "account"),
    "license": _number(Label.LICENSE, "license"),
    "vehicle": _number(Label.VEHICLE, "vehicle"),
    "device": _number(Label.DEVICE, "device"),
    "biometric": _number(Label.BIOID, "biometric"),
    "accession": _number(Label.IDNUM, "accession"),
    "ip": _number(Label.IPADDR, "ip"),
    "email": _one(Label.EMAIL, lambda c: web("email", c.patient, c.chance)),
    "url": _one(Label.URL, lambda c: web("url", c.doctor, c.chance)),
    "username": _one(Label.USERNAME, lambda c: web("username", c.doctor, c.chance)),
    "eponym": _decoy(negatives.eponym),
    "device_noun": lambda c: [Segment(negatives.one_of("devices", c.half, c.chance))],
    "sign_noun": lambda c: [Segment(negatives.one_of("signs", c.half, c.chance))],
    "product": _decoy(negatives.product),
    "letters": _decoy(lambda _, chance: negatives.letters(chance)),
    "drug": _decoy(lambda half, chance: negatives.one_of("drugs", half, chance)),
    "dose": lambda c: [Segment(negatives.one_of("doses", c.half, c.chance))],
    "score": lambda c: [Segment(negatives.one_of("scores", c.half, c.chance))],
    "he": lambda c: [Segment(_pronoun(c))],
    **{name: _phrase(name) for name in table("phrases")},
}
"""The fields of templates, apart from forms of names."""


def _pronoun(scenario: Scenario) -> str:
    return "He" if scenario.patient.gender.value == "male" else "She"
