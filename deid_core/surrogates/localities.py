"""Towns, states and ZIP codes that belong together, by the record and the note.

"Springfield" is in Illinois if the record or the note says so, else the largest town of
that name.  Surrogates of what belongs together belong together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deid_core.document import Address, KnownIdentifiers
from deid_core.fiction.places import (
    countries,
    home_of,
    postal_states,
    states,
    town_of_zip,
)
from deid_core.labels import Label
from deid_core.language.lexicons import forms_of, load_list
from deid_core.language.lexicons.lists import load_pairs

from .real import Found

_ZIP = re.compile(r"(?<![^\s,])[0-9]{5}(?:[- ]?[0-9]{4})?\s*\Z")
_WHOLE_ZIP = re.compile(r"\s*([0-9]{5})(?:[- ]?[0-9]{4})?\s*")
_CODE = re.compile(r"(?<![^\s,])[A-Z]{2}\s*\Z")
_GAP = re.compile(r"[\s,.;()]*")
_LINE_END = re.compile(r",\s*|\n\s*")
_LONGEST = 120


_LABELS = frozenset({Label.CITY, Label.STATE, Label.COUNTRY, Label.ZIP})


@dataclass(frozen=True, slots=True)
class PlacePart:
    """A part of an address, as a range of its text; a province is LOCATION_OTHER."""

    label: Label
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Localities:
    """The towns of regions and the ZIP codes of towns.

    Args:
        regions: By town, in compared form, the state or country: "US-IL", "FR".
        towns: By ZIP code of five digits, town and region.
    """

    regions: Mapping[str, str] = field(repr=False)
    towns: Mapping[str, tuple[str, str]] = field(repr=False)

    @classmethod
    def of(cls, known: KnownIdentifiers, found: Iterable[Found]) -> Localities:
        """Return the localities of a record and a note; the record has precedence."""
        regions: dict[str, str] = {}
        towns: dict[str, tuple[str, str]] = {}
        for place in (*map(_of_record, known.addresses), *_places(found)):
            city, region = key_of(place.get(Label.CITY, "")), region_in(place)
            code = _WHOLE_ZIP.fullmatch(place.get(Label.ZIP, ""))
            by_code = town_of_zip(code[1]) if code else None
            region = region or (by_code[1] if by_code else None)
            if region is not None and city:
                regions.setdefault(city, region)
            if code and region is not None and (city or by_code is None):
                towns.setdefault(code[1], (city, region))
        return cls(regions, towns)

    def region_of(self, city: str) -> str | None:
        """Return where a town, in compared form, lies."""
        return self.regions.get(city) or home_of(city)

    def town_of(self, code: str) -> tuple[str, str] | None:
        """Return town and region of a ZIP code of five digits."""
        return self.towns.get(code) or town_of_zip(code)


def key_of(text: str) -> str:
    """Return the compared form of a place."""
    return " ".join(forms_of(text))


def region_in(place: Mapping[Label, str]) -> str | None:
    """Return the region that the parts of one place name."""
    state = postal_states().get(key_of(place.get(Label.STATE, "")))
    if state is not None:
        return f"US-{state.code}"
    country = countries().get(key_of(place.get(Label.COUNTRY, "")))
    if country is None:
        return None
    code = countries()[key_of(country.name)].code
    return None if code == "US" else code


def parts_of(label: Label, text: str) -> Sequence[PlacePart]:
    """Return the parts of "Springfield, IL 62704", in order.

    Args:
        label: Of a text without separate parts.
        text: One line; a long one counts as a single part.
    """
    end = len(text.rstrip())
    whole = PlacePart(label if label in _LABELS else Label.CITY, _start(text, 0), end)
    if len(text) > _LONGEST or not text.strip():
        return [whole]
    parts: list[PlacePart] = []
    code = _ZIP.search(text, 0, end)
    if code is not None:
        parts.append(PlacePart(Label.ZIP, code.start(), code.end()))
        end = _end(text, code.start())
    region = _region(text, end, has_zip=bool(parts), is_state=label is Label.STATE)
    if region is not None:
        parts.append(region)
        end = _end(text, region.start)
    comma = text.find(",", 0, end)
    if comma > 0 and end > comma + 1:
        # "Toronto, ON"
        parts.append(PlacePart(Label.LOCATION_OTHER, _start(text, comma + 1), end))
        end = _end(text, comma)
    if end:
        parts.append(PlacePart(Label.CITY, _start(text, 0), end) if parts else whole)
    return parts[::-1]


def town_start(street: str) -> int:
    """Return where a town after a street and its unit starts; 0 without one."""
    for line in _LINE_END.finditer(street):
        word = street[line.end() :].split(None, 1)[:1]
        if word and not is_unit(word[0]):
            return line.end()
    return 0


def is_unit(word: str) -> bool:
    """Return whether a word begins a unit of a building: "Apt", "#4"."""
    return word.startswith("#") or street_key(word) in load_list("street_units")


def street_key(text: str) -> str:
    """Return the compared form of a part of a street line: "street" is "st"."""
    shorter = load_pairs("street_words")
    return " ".join(shorter.get(word, word) for word in forms_of(text))


def _region(text: str, end: int, *, has_zip: bool, is_state: bool) -> PlacePart | None:
    """Return a state or country at the end, after a comma or before a ZIP code."""
    start = _start(text, text.rfind(",", 0, end) + 1)
    is_tail = start > 0 or has_zip or is_state
    name = key_of(text[start:end])
    if is_tail and name in states():
        return PlacePart(Label.STATE, start, end)
    if start > 0 and name in countries():
        return PlacePart(Label.COUNTRY, start, end)
    code = _CODE.search(text, 0, end)
    if code is not None and code.start() and code[0].strip().lower() in states():
        return PlacePart(Label.STATE, code.start(), end)
    if has_zip:
        # "West Haven Connecticut 06516"
        for space in re.finditer(r"\s", text[start:end]):
            at = start + space.end()
            if key_of(text[at:end]) in states():
                return PlacePart(Label.STATE, at, end)
    return None


def _places(found: Iterable[Found]) -> Iterator[dict[Label, str]]:
    """Yield the parts of each place in a note, from single and adjacent values."""
    row: dict[Label, str] = {}
    for each in found:
        if each.label not in _LABELS:
            yield from [row] if row else []
            row = {}
            start = 0
            if each.label is Label.STREET:
                start = town_start(each.text)
            elif each.label is Label.HOSPITAL:
                start = each.text.find(",") + 1
            if start:
                yield _by_label(Label.CITY, each.text[start:])
            continue
        parts = _by_label(each.label, each.text)
        is_next = (
            each.is_near and _GAP.fullmatch(each.before) and "\n\n" not in each.before
        )
        if not is_next or not row.keys().isdisjoint(parts):
            yield from [row] if row else []
            row = {}
        row |= parts
    yield from [row] if row else []


def _by_label(label: Label, text: str) -> dict[Label, str]:
    return {p.label: text[p.start : p.end] for p in parts_of(label, text)}


def _of_record(address: Address) -> dict[Label, str]:
    parts = {
        Label.CITY: address.city,
        Label.STATE: address.state,
        Label.ZIP: address.zip,
        Label.COUNTRY: address.country,
    }
    return {label: text for label, text in parts.items() if text}


def _start(text: str, start: int) -> int:
    while start < len(text) and (text[start].isspace() or text[start] == ","):
        start += 1
    return start


def _end(text: str, end: int) -> int:
    return len(text[:end].rstrip(" ,.\t\n"))
