"""What each ``{slot}`` of a template becomes: identifiers, decoys and small words."""

from __future__ import annotations

from datetime import timedelta

from deid_core.labels import Label

from . import names
from .draft import Draft
from .forms import DATE_FORMS, PART_DATE_FORMS, PHONE_FORMS
from .people import Person
from .pools import lower_words
from .scene import Scene, Slot

OLDEST_AGE_SHOWN = 89


def _date(draft: Draft, scene: Scene) -> None:
    day = scene.day - timedelta(days=scene.rng.randrange(400))
    draft.plant(scene.rng.choice(DATE_FORMS)(day), Label.DATE, "date")


def _part_date(draft: Draft, scene: Scene) -> None:
    day = scene.day - timedelta(days=scene.rng.randrange(60))
    draft.plant(scene.rng.choice(PART_DATE_FORMS)(day), Label.DATE, "date")


def _dob(draft: Draft, scene: Scene) -> None:
    form = scene.rng.choice(DATE_FORMS)
    draft.plant(form(scene.person.birth), Label.DATE, "birth_date")


def _age(draft: Draft, scene: Scene) -> None:
    age = scene.person.age(scene.day)
    text = f"{age}{scene.rng.choice(AGE_FORMS)}"
    if age > OLDEST_AGE_SHOWN:
        draft.plant(text, Label.AGE, "age")
    else:
        draft.say(text)


def _mrn(draft: Draft, scene: Scene) -> None:
    draft.plant(scene.mrn, Label.MEDICALRECORD, "mrn")


def _ssn(draft: Draft, scene: Scene) -> None:
    draft.plant(scene.person.ssn, Label.SSN, "ssn")


def _account(draft: Draft, scene: Scene) -> None:
    draft.plant(scene.person.account, Label.ACCOUNT, "account")


def _phone(draft: Draft, scene: Scene) -> None:
    form = scene.rng.choice(PHONE_FORMS)
    draft.plant(form(scene.person.phone), Label.PHONE, "phone")


def _kin_phone(draft: Draft, scene: Scene) -> None:
    form = scene.rng.choice(PHONE_FORMS)
    draft.plant(form(scene.kin.phone), Label.PHONE, "phone")


def _email(draft: Draft, scene: Scene) -> None:
    draft.plant(scene.person.email, Label.EMAIL, "email")


def _address(draft: Draft, scene: Scene) -> None:
    address = scene.person.address
    draft.plant(address.street, Label.STREET, "address")
    draft.say(", ")
    draft.plant(address.city, Label.CITY, "address")
    draft.say(f", {address.state} ")
    draft.plant(address.zip, Label.ZIP, "address")


def _former_address(draft: Draft, scene: Scene) -> None:
    former = scene.person.former_addresses[-1]
    draft.plant(former.street, Label.STREET, "former_address")


def _city(draft: Draft, scene: Scene) -> None:
    draft.plant(scene.person.address.city, Label.CITY, "address")


def _facility(draft: Draft, scene: Scene) -> None:
    draft.plant(scene.person.site.facility, Label.HOSPITAL, "facility")


def _relation(draft: Draft, scene: Scene) -> None:
    draft.say(scene.kin.relation[1])


def _bp(draft: Draft, scene: Scene) -> None:
    systolic = scene.rng.randrange(96, 180)
    draft.keep(f"BP {systolic}/{round(systolic * 0.65)}")


def _pain(draft: Draft, scene: Scene) -> None:
    draft.keep(f"pain {scene.rng.randrange(11)}/10")


def _word_by_sex(female: str, male: str) -> Slot:
    return lambda draft, scene: draft.say(female if scene.person.sex == "F" else male)


def _decoy(pool: str) -> Slot:
    def fill(draft: Draft, scene: Scene) -> None:
        words = scene.rng.choice(scene.pools.clinical[pool])
        # Whose surname is Foley or Bell has no decoy of that name.
        is_ambiguous = scene.ambiguous.intersection(lower_words(words))
        (draft.say if is_ambiguous else draft.keep)(words)

    return fill


AGE_FORMS = ("-year-old", " year old", "-yr-old", " yo", " y/o")

SLOTS: dict[str, Slot] = {
    "patient": names.patient,
    "patients": names.possessive,
    "head": names.head,
    "mr": names.titled,
    "first": names.first,
    "kin": names.kin,
    "relation": _relation,
    "doctor": names.doctor,
    "gp": names.gp,
    "stranger_doctor": names.stranger_doctor,
    "date": _date,
    "part_date": _part_date,
    "dob": _dob,
    "age": _age,
    "mrn": _mrn,
    "ssn": _ssn,
    "account": _account,
    "phone": _phone,
    "kin_phone": _kin_phone,
    "email": _email,
    "address": _address,
    "former_address": _former_address,
    "city": _city,
    "facility": _facility,
    "person": _word_by_sex("woman", "man"),
    "He": _word_by_sex("She", "He"),
    "he": _word_by_sex("she", "he"),
    "His": _word_by_sex("Her", "His"),
    "him": _word_by_sex("her", "him"),
    "bp": _bp,
    "pain": _pain,
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

ONLY_IN_RECORDS = frozenset(
    {"first", "kin", "account", "address", "former_address", "city", "facility"}
)
"""Slots whose text no rule can find; notes on strangers do without them."""


def missing_slots(person: Person) -> frozenset[str]:
    """Return the slots that cannot be filled for a person."""
    missing = ONLY_IN_RECORDS if person.is_stranger else frozenset()
    return missing if person.former_addresses else missing | {"former_address"}
