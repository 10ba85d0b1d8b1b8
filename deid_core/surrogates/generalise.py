"""Less precise values: ages over 89, three digits of a ZIP, the state of a town.

Source: 45 CFR 164.514(b)(2)(i)(B) and (C).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from deid_core.fiction.places import StateOrCountry, countries, state_of_city, states
from deid_core.labels import Label
from deid_core.language.fragments import words
from deid_core.language.lexicons import forms_of, is_common_name, is_ordinary, load_list

from .ages import capped
from .crosswalk import Crosswalk

RESTRICTED_ZIPS = frozenset(
    words("036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893")
)
"""Three digits that cover 20,000 people or fewer: the 17 of the census of 2000, as the
Department of Health and Human Services lists them (guidance of 26 November 2012)."""

_SHORTEST = 3
_ZIP = re.compile(r"\s*([0-9]{5})(?:[- ]?[0-9]{4})?\s*")


def generalise(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return a less precise value; None if the value cannot be read."""
    return _BY_LABEL[label](crosswalk, text)


def _age(_: Crosswalk, text: str) -> str | None:
    """Return "90+" for every age over 89; younger ones unchanged."""
    return capped(text)


def _zip(_: Crosswalk, text: str) -> str | None:
    """Return three digits, or 000 where few live; None for a foreign code."""
    found = _ZIP.fullmatch(text)
    if found is None:
        return None
    area = found[1][:3]
    return "000" if area in RESTRICTED_ZIPS else area


def _state(_: Crosswalk, text: str) -> str | None:
    """Return the state itself; None for what may be a name: Virginia, Georgia."""
    return text if _is_only(text, states()) else None


def _country(_: Crosswalk, text: str) -> str | None:
    """Return the country itself; None for what may be a name: Jordan, Chad."""
    return text if _is_only(text, countries()) else None


def _profession(_: Crosswalk, text: str) -> str | None:
    """Return the profession itself, an identifier only if a word may be a name.

    A detected profession may hold a name: "Acme foreman".
    """
    parts = forms_of(text)
    return text if parts and all(map(_is_mere_word, parts)) else None


def _is_mere_word(word: str) -> bool:
    if _is_occupation(word) or _is_occupation(word.removesuffix("s")):
        return True
    return word.isalpha() and is_ordinary(word) and not is_common_name(word)


def _is_occupation(word: str) -> bool:
    """Return whether a word is "teacher", or "schoolteacher"."""
    occupations = load_list("occupations")
    return word in occupations or any(
        word[at:] in occupations and is_ordinary(word[:at])
        for at in range(_SHORTEST, len(word) - _SHORTEST)
    )


def _is_only(text: str, places: Mapping[str, StateOrCountry]) -> bool:
    parts = forms_of(text)
    is_name = len(parts) == 1 and len(parts[0]) > 2 and is_common_name(parts[0])
    return " ".join(parts) in places and not is_name


def _city(crosswalk: Crosswalk, text: str) -> str | None:
    """Return the name of the state in which a town lies; None if several have it."""
    name, _, state = text.partition(",")
    if state and _is_only(state, states()):
        return state.strip()
    parts = forms_of(name)
    for address in crosswalk.document.known.addresses:
        if parts and forms_of(address.city) == parts:
            of_record = states().get(" ".join(forms_of(address.state)))
            return of_record.name if of_record else None
    return state_of_city(" ".join(parts))


_BY_LABEL = {
    Label.AGE: _age,
    Label.ZIP: _zip,
    Label.STATE: _state,
    Label.CITY: _city,
    Label.COUNTRY: _country,
    Label.PROFESSION: _profession,
}
GENERALISED = frozenset(_BY_LABEL)
"""The labels that can be generalised."""
