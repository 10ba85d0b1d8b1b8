"""The scene of a note, and the values that fill the ``{slots}`` of its templates."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta

from rapidfuzz.distance import Levenshtein

from deid_core.document import PersonName
from deid_core.fiction.dates import write_date
from deid_core.fiction.people import SHORTEST_MISSPELT, misspelt
from deid_core.labels import Label

from .draft import SHORTEST_NAME_PART, Draft
from .people import NextOfKin, WardPatient
from .pools import Pools, lower_words, table

OLDEST_AGE_SHOWN = 89
FORMS = table("forms")
NEAREST_RATIO = 0.34
"""Of edits to the shorter length: just above that of Yuwono, Ng and Ngiam 2016, 3.1."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The subject of one note.

    ``ambiguous`` are clinical words that resemble a name in the record; ``strangers``
    are surnames of no record.
    """

    person: WardPatient = field(repr=False)
    mrn: str = field(repr=False)
    kin: NextOfKin = field(repr=False)
    day: date = field(repr=False)
    pools: Pools = field(repr=False)
    ambiguous: frozenset[str] = field(repr=False)
    strangers: tuple[str, ...] = field(repr=False)
    rng: random.Random = field(repr=False)


Slot = Callable[[Draft, Scene], None]


def ambiguous_words(person: WardPatient, pools: Pools) -> frozenset[str]:
    """Return the clinical words as near to a name of the record as a misspelling."""
    names = person.name_words
    return frozenset(
        word
        for word in pools.clinical_words
        if any(_resemble(word, name) for name in names)
    )


def _resemble(word: str, name: str) -> bool:
    limit = NEAREST_RATIO * min(len(word), len(name))
    return Levenshtein.distance(word, name) < limit


def _patient(draft: Draft, scene: Scene) -> None:
    """The patient in running text, in one of ``PATIENT_FORMS``."""
    if scene.person.is_stranger:
        _titled(draft, scene)
        return
    scene.rng.choice(PATIENT_FORMS)(draft, scene)


def _exact(draft: Draft, scene: Scene) -> None:
    name = scene.person.name
    _full(draft, name.given, name.family, "exact")


def _full(draft: Draft, given: str, family: str, how: str) -> None:
    draft.phrase((given, how), (" ", ""), (family, how), label=Label.PATIENT)


def _misspelt(draft: Draft, scene: Scene) -> None:
    name, rng = scene.person.name, scene.rng
    given, family = (name.given, "exact"), (name.family, "exact")
    if len(name.family) >= SHORTEST_MISSPELT:
        family = misspelt(name.family, rng), "misspelt"
    elif len(name.given) >= SHORTEST_MISSPELT:
        given = misspelt(name.given, rng), "misspelt"
    draft.phrase(given, (" ", ""), family, label=Label.PATIENT)


def _former(draft: Draft, scene: Scene) -> None:
    if not scene.person.former_names:
        _exact(draft, scene)
        return
    name = scene.rng.choice(scene.person.former_names)
    _full(draft, name.given, name.family, "former")


def _caps(draft: Draft, scene: Scene) -> None:
    name = scene.person.name
    _full(draft, name.given.upper(), name.family.upper(), "caps")


def _first(draft: Draft, scene: Scene) -> None:
    """The patient's given name, unless a clinical word resembles it."""
    given = scene.person.name.given
    is_ambiguous = scene.ambiguous.intersection(lower_words(given))
    if len(given) < SHORTEST_NAME_PART or is_ambiguous:
        _exact(draft, scene)
    else:
        draft.plant(given, Label.PATIENT, "first")


def _titled(draft: Draft, scene: Scene) -> None:
    """The patient's surname after a title."""
    title = "Mr. " if scene.person.sex == "M" else scene.rng.choice(("Ms. ", "Mrs. "))
    surname = scene.person.name.family
    draft.phrase((title, ""), (surname, "titled"), label=Label.PATIENT)


def _possessive(draft: Draft, scene: Scene) -> None:
    """The patient's name before 's."""
    if scene.person.is_stranger:
        _titled(draft, scene)
    else:
        name = scene.person.name
        _full(draft, name.given, name.family, "possessive")
    draft.say("'s")


def _head(draft: Draft, scene: Scene) -> None:
    """The patient's name as at the head of a note, in one of ``HEAD_FORMS``."""
    if scene.person.is_stranger:
        _titled(draft, scene)
        return
    scene.rng.choice(HEAD_FORMS)(draft, scene)


def _comma(draft: Draft, scene: Scene) -> None:
    name = scene.person.name
    given, family = name.given, name.family
    if scene.rng.random() < 0.3:
        given, family = given.upper(), family.upper()
    draft.phrase((family, "comma"), (", ", ""), (given, "comma"), label=Label.PATIENT)
    if name.middle and scene.rng.random() < 0.5:
        draft.say(f" {name.middle[0]}")


def _kin(draft: Draft, scene: Scene) -> None:
    """The name of the note's relative."""
    name = scene.kin.name
    draft.phrase(
        (name.given, "kin"), (" ", ""), (name.family, "kin"), label=Label.PATIENT
    )


def _doctor(draft: Draft, scene: Scene) -> None:
    """A provider of the visit or the order."""
    staff = scene.rng.choice((scene.person.attending, scene.person.ordering))
    _provider(draft, scene, staff.name)


def _provider(draft: Draft, scene: Scene, name: PersonName) -> None:
    how = "titled_provider"
    given, family = (name.given, how), (name.family, how)
    form = scene.rng.randrange(4)
    if scene.person.is_stranger or form == 0:
        draft.phrase(("Dr. ", ""), family, label=Label.DOCTOR)
    elif form == 1:
        draft.phrase(("Dr. ", ""), given, (" ", ""), family, label=Label.DOCTOR)
    elif form == 2:
        draft.phrase(given, (" ", ""), family, (", MD", ""), label=Label.DOCTOR)
    else:
        pieces = (name.given, "provider"), (" ", ""), (name.family, "provider")
        draft.phrase(*pieces, label=Label.DOCTOR)


def _stranger_doctor(draft: Draft, scene: Scene) -> None:
    """A doctor of no record."""
    name = scene.rng.choice(scene.strangers)
    draft.phrase(("Dr. ", ""), (name, "titled_stranger"), label=Label.DOCTOR)


PATIENT_FORMS: tuple[Slot, ...] = (
    *((_exact,) * 4),
    *((_misspelt,) * 4),
    *((_titled,) * 2),
    _first,
    _caps,
    _former,
)
HEAD_FORMS: tuple[Slot, ...] = (_comma, _comma, _exact, _caps)


def _written(scene: Scene, form: str, day: date) -> str:
    return write_date(day, scene.rng.choice(FORMS[form]))


def _day_before(scene: Scene, form: str, days: int) -> str:
    """Return a day within so many days before the note's."""
    return _written(scene, form, scene.day - timedelta(scene.rng.randrange(days)))


def _phone(scene: Scene, digits: str) -> str:
    parts = {"area": digits[:3], "exchange": digits[3:6], "line": digits[6:]}
    return str(scene.rng.choice(FORMS["phones"]).format(**parts))


def _age(draft: Draft, scene: Scene) -> None:
    age = scene.person.age(scene.day)
    text = f"{age}{scene.rng.choice(FORMS['ages'])}"
    if age > OLDEST_AGE_SHOWN:
        draft.plant(text, Label.AGE, "age")
    else:
        draft.say(text)


def _address(draft: Draft, scene: Scene) -> None:
    address = scene.person.address
    draft.plant(address.street, Label.STREET, "address")
    draft.say(", ")
    draft.plant(address.city, Label.CITY, "address")
    draft.say(f", {address.state} ")
    draft.plant(address.zip, Label.ZIP, "address")


def _bp(draft: Draft, scene: Scene) -> None:
    systolic = scene.rng.randrange(96, 180)
    draft.keep(f"BP {systolic}/{round(systolic * 0.65)}")


def _planted(label: Label, how: str, value: Callable[[Scene], str]) -> Slot:
    return lambda draft, scene: draft.plant(value(scene), label, how)


def _word_by_sex(female: str, male: str) -> Slot:
    return lambda draft, scene: draft.say(female if scene.person.sex == "F" else male)


def _decoy(pool: str) -> Slot:
    def fill(draft: Draft, scene: Scene) -> None:
        words = scene.rng.choice(scene.pools.clinical[pool])
        # A patient named Foley or Bell has no decoy of that name.
        is_ambiguous = scene.ambiguous.intersection(lower_words(words))
        (draft.say if is_ambiguous else draft.keep)(words)

    return fill


SLOTS: dict[str, Slot] = {
    "patient": _patient,
    "patients": _possessive,
    "head": _head,
    "mr": _titled,
    "first": _first,
    "kin": _kin,
    "relation": lambda draft, scene: draft.say(scene.kin.relation[1]),
    "doctor": _doctor,
    "gp": lambda draft, scene: _provider(draft, scene, scene.person.gp.name),
    "stranger_doctor": _stranger_doctor,
    "date": _planted(Label.DATE, "date", lambda s: _day_before(s, "dates", 400)),
    "part_date": _planted(
        Label.DATE, "date", lambda s: _day_before(s, "part_dates", 60)
    ),
    "dob": _planted(
        Label.DATE, "birth_date", lambda s: _written(s, "dates", s.person.birth)
    ),
    "age": _age,
    "mrn": _planted(Label.MEDICALRECORD, "mrn", lambda s: s.mrn),
    "ssn": _planted(Label.SSN, "ssn", lambda s: s.person.ssn),
    "account": _planted(Label.ACCOUNT, "account", lambda s: s.person.account),
    "phone": _planted(Label.PHONE, "phone", lambda s: _phone(s, s.person.phone)),
    "kin_phone": _planted(Label.PHONE, "phone", lambda s: _phone(s, s.kin.phone)),
    "email": _planted(Label.EMAIL, "email", lambda s: s.person.email),
    "address": _address,
    "former_address": _planted(
        Label.STREET, "former_address", lambda s: s.person.former_addresses[-1].street
    ),
    "city": _planted(Label.CITY, "address", lambda s: s.person.address.city),
    "facility": _planted(Label.HOSPITAL, "facility", lambda s: s.person.site.facility),
    "person": _word_by_sex("woman", "man"),
    "He": _word_by_sex("She", "He"),
    "he": _word_by_sex("she", "he"),
    "His": _word_by_sex("Her", "His"),
    "him": _word_by_sex("her", "him"),
    "bp": _bp,
    "pain": lambda draft, scene: draft.keep(f"pain {scene.rng.randrange(11)}/10"),
    "eponym": _decoy("eponyms"),
    "sign": _decoy("signs"),
    "device": _decoy("devices"),
    "drug": _decoy("drugs"),
    "lab": _decoy("labs"),
    "level": _decoy("levels"),
    "duration": _decoy("durations"),
    "ratio": _decoy("ratios"),
    "finding": _decoy("findings"),
    "symptom": _decoy("symptoms"),
}
"""What fills each ``{slot}`` of a template."""

ONLY_IN_RECORDS = frozenset(
    {"first", "kin", "account", "address", "former_address", "city", "facility"}
)
"""Slots whose text no rule can find, left out of notes on strangers."""


def missing_slots(person: WardPatient) -> frozenset[str]:
    """Return the slots that cannot be filled for a person."""
    missing = ONLY_IN_RECORDS if person.is_stranger else frozenset()
    return missing if person.former_addresses else missing | {"former_address"}
