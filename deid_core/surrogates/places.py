"""Realistic places: town, state, country, ZIP code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from ..labels import Label
from ..lexicons import forms_of
from .crosswalk import TRIES, Crosswalk
from .numbers import in_format, number
from .person_names import in_case_of
from .places_lists import cities, countries, states

_ZIP = re.compile(r"\s*[0-9]{5}(?:[- ]?[0-9]{4})?\s*")
_ZIP_DIGITS = 5
_TABLES = {"state": states, "country": countries}
_TAIL = re.compile(r"(?s)(?P<city>[^,]*[^,\s])(?P<mark>,\s*)(?P<state>[^,]+)")


def city(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another town of the US; a state behind a comma becomes another, too."""
    found = _TAIL.fullmatch(text)
    if found is None:
        return _city(crosswalk, text)
    town, rest = _city(crosswalk, found["city"]), _region(crosswalk, found["state"])
    return town and rest and town + found["mark"] + rest


def state(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another state, as a name or as a code; None for what is no state."""
    if "," in text:
        return city(crosswalk, label, text)
    return _of_table(crosswalk, "state", text)


def country(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another country, as a name or as a code."""
    known = _of_table(crosswalk, "country", text)
    if known is not None:
        return known
    # "Holland", "the States": any name of a country will do.
    names = tuple(_codes("country", 2))
    return _cased(text, crosswalk.choose("country", _key(text), names))


def zip_code(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return five other digits, and four; other countries' codes letter by letter."""
    if not _ZIP.fullmatch(text):
        return number(crosswalk, label, text)
    digits = re.sub(r"\D", "", text)
    for counter in range(TRIES):
        draws, area = crosswalk.draws, digits[:_ZIP_DIGITS]
        other = f"{draws.number('zip', area, counter, below=89_900) + 10_000}"
        if len(digits) > _ZIP_DIGITS:
            other += f"{draws.number('zip+4', digits, counter, below=9_000) + 1_000}"
        written = in_format(text, other, skip_zeros=False)
        if other != digits and crosswalk.is_free_number(written):
            return written
    return None


def _city(crosswalk: Crosswalk, text: str) -> str | None:
    return _cased(text, crosswalk.choose("city", _key(text), cities()))


def _region(crosswalk: Crosswalk, text: str) -> str | None:
    """Return another state, province or country for what stands behind a town."""
    if _key(text) in states():
        return state(crosswalk, Label.STATE, text)
    if _key(text) in countries():
        return country(crosswalk, Label.COUNTRY, text)
    return _city(crosswalk, text)


def _of_table(crosswalk: Crosswalk, kind: str, text: str) -> str | None:
    """Return another place of a table; codes and names go to the same place."""
    key = _key(text)
    place = _TABLES[kind]().get(key)
    if place is None:
        return None
    codes = _codes(kind, len(place.code))
    other = crosswalk.choose(
        kind,
        place.name,
        tuple(codes),
        lambda name: crosswalk.are_free_words(f"{name} {codes[name]}"),
    )
    if other is None or key != place.code.lower():
        return _cased(text, other)
    return codes[other].lower() if text.islower() else codes[other]


@cache
def _codes(kind: str, length: int) -> Mapping[str, str]:
    """Return the codes of one length by name, in alphabetical order."""
    places = sorted({(each.name, each.code) for each in _TABLES[kind]().values()})
    return {name: code for name, code in places if len(code) == length}


def _cased(text: str, other: str | None) -> str | None:
    if other is None:
        return None
    return in_case_of(text, other) if text.isupper() or text.islower() else other


def _key(text: str) -> str:
    return " ".join(forms_of(text))
