"""Realistic places that fit: a town of the state, a ZIP code of the town.

A state becomes another state, on all notes of the patient.  A town becomes a town of
what its state becomes, and a ZIP code one of what its town becomes: see `localities`.
Cities abroad become cities of what their country becomes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from ..labels import Label
from .crosswalk import TRIES, Crosswalk
from .localities import Kind, key_of, parts_of, region_in
from .numbers import in_format, number
from .person_names import in_case_of
from .places_lists import (
    Place,
    cities,
    countries,
    has_towns,
    states,
    towns_of,
    zip_codes_of,
)

_ZIP = re.compile(r"\s*([0-9]{5})(?:[- ]?([0-9]{4}))?\s*")
_TABLES = {"state": states, "country": countries}
_AREA = 3


def place(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another place in the same form: "Dover, DE 19901".

    None for what is no state, and if no place is free.
    """
    parts = parts_of(label, text)
    named = {each.kind: text[each.start : each.end] for each in parts}
    region = region_in(named)
    if Kind.OTHER in named:
        region = region or crosswalk.localities.region_of(key_of(named[Kind.CITY]))
    for each in reversed(parts):
        part = text[each.start : each.end]
        other = _part(crosswalk, each.kind, part, region)
        if other is None:
            return None
        text = text[: each.start] + other + text[each.end :]
    return text


def town(crosswalk: Crosswalk, text: str, region: str | None = None) -> str | None:
    """Return another town, in the region that stands for the town's.

    Args:
        crosswalk: The patient's.
        text: The town alone.
        region: Of the town, if it is written beside it.
    """
    other = _town(crosswalk, key_of(text), region)
    return other and _cased(text, other[0])


def state(crosswalk: Crosswalk, text: str) -> str | None:
    """Return another state, as a name or as a code; None for what is no state."""
    return _of_table(crosswalk, "state", text)


def _part(
    crosswalk: Crosswalk, kind: Kind, text: str, region: str | None
) -> str | None:
    match kind:
        case Kind.CITY:
            return town(crosswalk, text, region)
        case Kind.STATE:
            return state(crosswalk, text)
        case Kind.COUNTRY:
            return _country(crosswalk, text)
        case Kind.ZIP:
            return _zip_code(crosswalk, text)
        case Kind.OTHER:
            # A province, a county: what stands for the town's region will do.
            other = region and _other_region(crosswalk, region)
            return other and _name_of(other)


def _town(crosswalk: Crosswalk, key: str, region: str | None) -> tuple[str, str] | None:
    """Return another town, and its region."""
    region = region or crosswalk.localities.region_of(key)
    if region is None:
        other = crosswalk.choose("city", key, cities())
        return (other, "") if other else None
    other_region = _other_region(crosswalk, region)
    if other_region is None:
        return None
    value = f"{key}, {region}"
    other = crosswalk.choose("city", value, towns_of(other_region))
    return (other, other_region) if other else None


def _other_region(crosswalk: Crosswalk, region: str) -> str | None:
    """Return the region that stands for another: "US-DE" for "US-IL"."""
    country, _, code = region.partition("-")
    kind = "state" if code else "country"
    found = _TABLES[kind]().get((code or country).lower())
    other = found and _other_place(crosswalk, kind, found)
    return other and (f"US-{other.code}" if code else other.code)


def _name_of(region: str) -> str:
    country, _, code = region.partition("-")
    return (states() if code else countries())[(code or country).lower()].name


def _country(crosswalk: Crosswalk, text: str) -> str | None:
    """Return another country, as a name or as a code."""
    known = _of_table(crosswalk, "country", text)
    if known is not None:
        return known
    # "Holland", "the States": any name of a country will do.
    names = tuple(_pool("country"))
    return _cased(text, crosswalk.choose("country", key_of(text), names))


def _zip_code(crosswalk: Crosswalk, text: str) -> str | None:
    """Return a ZIP code of the town that stands for the code's town.

    Four more digits are other ones; a code of another country changes letter by letter.
    """
    found = _ZIP.fullmatch(text)
    if found is None:
        return number(crosswalk, Label.ZIP, text)
    code, more = found.groups()
    home = crosswalk.localities.town_of(code)
    if home is None:
        return _any_zip_code(crosswalk, text, code + (more or ""))
    name, region = home
    other_town = _town(crosswalk, name or code[:_AREA], region)
    if other_town is None or not other_town[1].startswith("US-"):
        return None
    pool = zip_codes_of(other_town[1].removeprefix("US-"), other_town[0])
    other = crosswalk.choose("zip", code, pool, crosswalk.is_free_number)
    if other is None:
        return None
    if more:
        more = f"{crosswalk.draws.number('zip+4', code + more, below=9_000) + 1_000}"
    return in_format(text, other + (more or ""), skip_zeros=False)


def _any_zip_code(crosswalk: Crosswalk, text: str, digits: str) -> str | None:
    """Return digits for a code that no state has."""
    for counter in range(TRIES):
        drawn = crosswalk.draws.numbers("zip", digits[:5], counter, count=5)
        other = "".join(str(each % 10) for each in drawn)
        if len(digits) > len(other):
            more = crosswalk.draws.number("zip+4", digits, counter, below=9_000)
            other += f"{more + 1_000}"
        written = in_format(text, other, skip_zeros=False)
        if other != digits and crosswalk.is_free_number(written):
            return written
    return None


def _of_table(crosswalk: Crosswalk, kind: str, text: str) -> str | None:
    """Return another place of a table; codes and names go to the same place."""
    key = key_of(text)
    found = _TABLES[kind]().get(key)
    other = found and _other_place(crosswalk, kind, found)
    if found is None or other is None:
        return None
    if key != found.code.lower():
        return _cased(text, other.name)
    code = other.code if len(found.code) == 2 else _long_codes()[other.name]
    return code.lower() if text.islower() else code


def _other_place(crosswalk: Crosswalk, kind: str, found: Place) -> Place | None:
    pool = _pool(kind)
    other = crosswalk.choose(
        kind,
        found.name,
        tuple(pool),
        lambda name: crosswalk.are_free_words(f"{name} {pool[name].code}"),
    )
    return pool[other] if other else None


@cache
def _pool(kind: str) -> Mapping[str, Place]:
    """Return the places that have towns, by name, in alphabetical order."""
    prefix = "US-" if kind == "state" else ""
    places = sorted({(each.name, each.code) for each in _TABLES[kind]().values()})
    return {
        name: Place(code, name)
        for name, code in places
        if len(code) == 2 and has_towns(f"{prefix}{code}")
    }


@cache
def _long_codes() -> Mapping[str, str]:
    places = set(countries().values())
    return {each.name: each.code for each in places if len(each.code) > 2}


def _cased(text: str, other: str | None) -> str | None:
    if other is None:
        return None
    return in_case_of(text, other) if text.isupper() or text.islower() else other
