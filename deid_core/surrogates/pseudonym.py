"""Keyed pseudonyms in brackets: ``[NAME:PATIENT-3f9a1c2b]``.

HMAC-SHA-256 under the patient's key, its first 32 bits in hex.
"""

from __future__ import annotations

from deid_core.labels import Label
from deid_core.language.lexicons import forms_of

from .crosswalk import Crosswalk
from .name_parts import is_title
from .people import words_in
from .real import number_key

_BYTES = 4


def pseudonym(crosswalk: Crosswalk, label: Label, text: str) -> str:
    """Return the label with the value's keyed pseudonym.

    All ways to write a person of the record give one pseudonym; so do all formats of a
    number, and of a full date.
    """
    digest = crosswalk.draws.digest("pseudonym", _canonical(crosswalk, label, text))
    return f"[{label.value}-{digest[:_BYTES].hex()}]"


def _canonical(crosswalk: Crosswalk, label: Label, text: str) -> str:
    if label is Label.DATE:
        found = crosswalk.calendar.read(text)
        day = found and found.year is not None and found.resolve()
        return f"date {day}" if day else f"date {' '.join(forms_of(text))}"
    if label in (Label.PATIENT, Label.DOCTOR):
        return _person(crosswalk, label, text)
    if any(map(str.isdigit, text)) and label.main in ("ID", "CONTACT"):
        return f"number {number_key(text)}"
    return f"{label.main} {' '.join(forms_of(text))}"


def _person(crosswalk: Crosswalk, label: Label, text: str) -> str:
    """Return the person of the record with these words, else the words."""
    roles = crosswalk.people.roles
    words = [w for w in words_in(text) if not is_title(w, is_known=w in roles)]
    full = frozenset(crosswalk.people.closest_word(w) for w in words if len(w) > 1)
    initials = "".join(w for w in words if len(w) == 1)
    person = crosswalk.people.person_of(full, initials, label)
    return f"name {person.key if person else ' '.join(sorted(words))}"
