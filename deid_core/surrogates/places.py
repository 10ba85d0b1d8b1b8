"""Surrogates of addresses whose parts fit: a town of the state, its ZIP code.

A state becomes another state, in all notes of the patient.  A town becomes a town of
its state's surrogate, a ZIP code one of its town's surrogate (see `localities`), a
foreign city a city of its country's surrogate.  The United States stay: so do their
states among themselves, and say it anyway.  A street keeps its kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from deid_core.fiction.name_pools import name_pools
from deid_core.fiction.places import (
    StateOrCountry,
    cities,
    countries,
    has_towns,
    postal_states,
    states,
    towns_of,
    zip_codes_of,
)
from deid_core.labels import Label
from deid_core.language.lexicons import load_list

from .crosswalk import TRIES, Crosswalk
from .letter_case import in_case_of, in_single_case_of
from .localities import (
    is_unit,
    key_of,
    parts_of,
    region_in,
    street_key,
    town_start,
)
from .numbers import in_format, number, other_number
from .people import RecordPeople
from .real import without_separators

_ZIP = re.compile(r"\s*([0-9]{5})(?:[- ]?([0-9]{4}))?\s*")
_TABLES = {"state": postal_states, "country": countries}
_AREA = 3
_CODES_OF_THE_US = ("us", "usa")
_NAMES_OF_THE_US = tuple(
    f"{article}unitedstates{rest}"
    for article in ("", "the")
    for rest in ("", "ofamerica")
)
_BOX = re.compile(r"(?i)(.*\bbox\b[ #]*)([0-9]{1,7})\s*")
_PARTS = re.compile(r"(,\s*|\n\s*)")
_LINE = re.compile(
    r"(?P<house>[0-9]+(?:-[0-9]+)?[A-Za-z]?(?:\s1/2)?\s+)?(?P<rest>.*)", re.DOTALL
)
_WORD = re.compile(r"\s+")
_ORDINAL = re.compile(r"(?i)([0-9]{1,3})(st|nd|rd|th)")


def place(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another place in the same form: "Dover, DE 19901".

    None for what is no state, and if no place is free.
    """
    parts = parts_of(label, text)
    named = {each.label: text[each.start : each.end] for each in parts}
    region = region_in(named)
    if Label.LOCATION_OTHER in named:
        region = region or crosswalk.localities.region_of(key_of(named[Label.CITY]))
    for each in reversed(parts):
        part = text[each.start : each.end]
        other = _part(crosswalk, each.label, part, region)
        if other is None:
            return None
        text = text[: each.start] + other + text[each.end :]
    return text


def town(crosswalk: Crosswalk, text: str, region: str | None = None) -> str | None:
    """Return another town, in the surrogate of the town's region.

    Args:
        crosswalk: The patient's.
        text: The town alone.
        region: Of the town, if it is written next to it.
    """
    other = _town(crosswalk, key_of(text), region)
    return other and in_single_case_of(text, other[0])


def state(crosswalk: Crosswalk, text: str) -> str | None:
    """Return another state, as a name or as a code; None for what is no state."""
    return _of_table(crosswalk, "state", text)


def street(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another street line, with another unit and town after commas."""
    box = _BOX.fullmatch(text)
    if box is not None:
        other = other_number(crosswalk, "box", box[2].lstrip("0"), box[2])
        return other and box[1] + in_format(box[2], other)
    start = town_start(text)
    pieces = _PARTS.split(text[:start] if start else text)
    for at in range(0, len(pieces), 2):
        written = _unit if is_unit(_WORD.split(pieces[at])[0]) else _line
        other = written(crosswalk, pieces[at]) if pieces[at] else ""
        if other is None:
            return None
        pieces[at] = other
    tail = place(crosswalk, Label.CITY, text[start:]) if start else ""
    return None if tail is None else "".join(pieces) + tail


def _part(
    crosswalk: Crosswalk, label: Label, text: str, region: str | None
) -> str | None:
    match label:
        case Label.CITY:
            return town(crosswalk, text, region)
        case Label.STATE:
            return state(crosswalk, text)
        case Label.COUNTRY:
            return _country(crosswalk, text)
        case Label.ZIP:
            return _zip_code(crosswalk, text)
        case _:
            # A province or county becomes the surrogate of the town's region.
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
    other = crosswalk.choose("city", value, towns_of(other_region), own=key)
    return (other, other_region) if other else None


def _other_region(crosswalk: Crosswalk, region: str) -> str | None:
    """Return the surrogate of a region: "US-DE" for "US-IL"."""
    country, _, code = region.partition("-")
    kind = "state" if code else "country"
    found = _TABLES[kind]().get((code or country).lower())
    other = found and _other_place(crosswalk, kind, found)
    return other and (f"US-{other.code}" if code else other.code)


def _name_of(region: str) -> str:
    country, _, code = region.partition("-")
    return (states() if code else countries())[(code or country).lower()].name


def is_kept_country(people: RecordPeople, text: str) -> bool:
    """Return whether a value is the United States, and no name of the record.

    "Usa" is a given name, too.
    """
    key = without_separators(text)
    is_code = key in _CODES_OF_THE_US and not any(map(str.islower, text))
    return (is_code or key in _NAMES_OF_THE_US) and key not in people.roles


def _country(crosswalk: Crosswalk, text: str) -> str | None:
    """Return another country, as a name or as a code; the United States stay."""
    if is_kept_country(crosswalk.people, text):
        return text
    known = _of_table(crosswalk, "country", text)
    if known is not None:
        return known
    # "Holland", "the States" become the name of any country.
    names = tuple(_pool("country"))
    other = crosswalk.choose("country", key_of(text), names)
    return other and in_single_case_of(text, other)


def _zip_code(crosswalk: Crosswalk, text: str) -> str | None:
    """Return a ZIP code of the surrogate of the code's town.

    Four more digits become others; a foreign code changes letter by letter.
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
    other = crosswalk.choose("zip", code, pool)
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
        return in_single_case_of(text, other.name)
    code = other.code if len(found.code) == 2 else _long_codes()[other.name]
    return code.lower() if text.islower() else code


def _other_place(
    crosswalk: Crosswalk, kind: str, found: StateOrCountry
) -> StateOrCountry | None:
    pool = _pool(kind)
    other = crosswalk.choose(
        kind,
        found.name,
        tuple(pool),
        lambda name: crosswalk.are_free_words(f"{name} {pool[name].code}"),
    )
    return pool[other] if other else None


@cache
def _pool(kind: str) -> Mapping[str, StateOrCountry]:
    """Return the places that have towns, by name, in alphabetical order."""
    prefix = "US-" if kind == "state" else ""
    places = sorted({(each.name, each.code) for each in _TABLES[kind]().values()})
    return {
        name: StateOrCountry(code, name)
        for name, code in places
        if len(code) == 2 and has_towns(f"{prefix}{code}")
    }


@cache
def _long_codes() -> Mapping[str, str]:
    places = set(countries().values())
    return {each.name: each.code for each in places if len(each.code) > 2}


def _line(crosswalk: Crosswalk, text: str) -> str | None:
    found = _LINE.fullmatch(text)
    house, rest = (found["house"] or "", found["rest"]) if found else ("", text)
    words = rest.split()
    units = [at for at, word in enumerate(words) if at and is_unit(word)]
    at = units[0] if units else len(words)
    name = _street_name(crosswalk, words[:at])
    if name is None:
        return None
    if house:
        key = without_separators(house).lstrip("0")
        other = other_number(crosswalk, "house", key, house)
        if other is None:
            return None
        house = in_format(house, other)
    if not words[at:]:
        return house + name
    unit = _unit(crosswalk, " ".join(words[at:]))
    return unit and f"{house}{name} {unit}"


def _street_name(crosswalk: Crosswalk, words: list[str]) -> str | None:
    """Return the street's name; points of the compass and "Street" stay around it."""
    start, end = 0, len(words)
    while start < end - 1 and _is_in(words[start], "directions"):
        start += 1
    while end > start + 1 and _is_in(words[end - 1], "directions"):
        end -= 1
    if end > start + 1 and _is_in(words[end - 1], "street_suffixes"):
        end -= 1
    if start >= end:
        return None
    other = _proper_name(crosswalk, words[start:end])
    return other and " ".join((*words[:start], other, *words[end:]))


def _proper_name(crosswalk: Crosswalk, words: list[str]) -> str | None:
    text = " ".join(words)
    ordinal = _ORDINAL.fullmatch(text)
    if ordinal is not None:
        at = crosswalk.draws.number("ordinal", ordinal[1], below=80)
        every = [n for n in range(10, 91) if n != int(ordinal[1]) and n % 10 > 3]
        return f"{every[at % len(every)]}{'TH' if text.isupper() else 'th'}"
    other = crosswalk.choose("street", street_key(text), name_pools().surnames)
    return other and in_case_of(text, other)


def _unit(crosswalk: Crosswalk, text: str) -> str | None:
    """Return "Apt 4B" with another number; None for a unit without any."""
    found = re.fullmatch(r"(?i)(\s*(?:[a-z]+\.?)?\s*#?\s*)(\S+)\s*", text)
    if found is None:
        return None
    if not any(map(str.isdigit, found[2])):
        letter = found[2].upper()
        if len(letter) > 1 or not letter.isascii() or not letter.isalpha():
            return None
        others = "ABCDEFGH".replace(letter, "")
        at = crosswalk.draws.number("unit", letter, below=len(others))
        return found[1] + others[at]
    other = number(crosswalk, Label.STREET, found[2])
    return other and found[1] + other


def _is_in(word: str, name: str) -> bool:
    return street_key(word) in load_list(name)
