"""Slots for names: the patient's in every form, kin's and providers'."""

from __future__ import annotations

from deid_core.document import PersonName
from deid_core.labels import Label

from .draft import SHORTEST_NAME_PART, Draft
from .forms import SHORTEST_MISSPELT, misspelt
from .pools import lower_words
from .scene import Scene, Slot


def patient(draft: Draft, scene: Scene) -> None:
    """The patient in running text, in one of ``PATIENT_FORMS``."""
    if scene.person.is_stranger:
        titled(draft, scene)
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


def first(draft: Draft, scene: Scene) -> None:
    """The patient's given name, where no other word can be taken for it."""
    given = scene.person.name.given
    is_ambiguous = scene.ambiguous.intersection(lower_words(given))
    if len(given) < SHORTEST_NAME_PART or is_ambiguous:
        _exact(draft, scene)
    else:
        draft.plant(given, Label.PATIENT, "first")


def titled(draft: Draft, scene: Scene) -> None:
    """The patient's surname after a title."""
    title = "Mr. " if scene.person.sex == "M" else scene.rng.choice(("Ms. ", "Mrs. "))
    surname = scene.person.name.family
    draft.phrase((title, ""), (surname, "titled"), label=Label.PATIENT)


def possessive(draft: Draft, scene: Scene) -> None:
    """The patient's name before 's."""
    if scene.person.is_stranger:
        titled(draft, scene)
    else:
        name = scene.person.name
        _full(draft, name.given, name.family, "possessive")
    draft.say("'s")


def head(draft: Draft, scene: Scene) -> None:
    """The patient's name as at the head of a note, in one of ``HEAD_FORMS``."""
    if scene.person.is_stranger:
        titled(draft, scene)
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


def kin(draft: Draft, scene: Scene) -> None:
    """The name of the relative whom the note is about."""
    name = scene.kin.name
    draft.phrase(
        (name.given, "kin"), (" ", ""), (name.family, "kin"), label=Label.PATIENT
    )


def doctor(draft: Draft, scene: Scene) -> None:
    """A provider of the visit or the order."""
    staff = scene.rng.choice((scene.person.attending, scene.person.ordering))
    _provider(draft, scene, staff.name)


def gp(draft: Draft, scene: Scene) -> None:
    """The general practitioner."""
    _provider(draft, scene, scene.person.gp.name)


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


def stranger_doctor(draft: Draft, scene: Scene) -> None:
    """A doctor who stands in no record."""
    name = scene.rng.choice(scene.strangers)
    draft.phrase(("Dr. ", ""), (name, "titled_stranger"), label=Label.DOCTOR)


PATIENT_FORMS: tuple[Slot, ...] = (
    *((_exact,) * 4),
    *((_misspelt,) * 4),
    *((titled,) * 2),
    first,
    _caps,
    _former,
)
HEAD_FORMS: tuple[Slot, ...] = (_comma, _comma, _exact, _caps)
