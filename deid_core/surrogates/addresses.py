"""Realistic street lines: another number, name and unit, the same kind of street."""

from __future__ import annotations

import re

from ..labels import Label
from ..language.lexicons import load_list
from .crosswalk import Crosswalk
from .localities import is_unit, place_behind, street_key
from .name_pools import name_pools
from .numbers import in_format, number, other_number
from .person_names import in_case_of
from .places import place
from .real import squeezed

_BOX = re.compile(r"(?i)(.*\bbox\b[ #]*)([0-9]{1,7})\s*")
_PARTS = re.compile(r"(,\s*|\n\s*)")
_LINE = re.compile(
    r"(?P<house>[0-9]+(?:-[0-9]+)?[A-Za-z]?(?:\s1/2)?\s+)?(?P<rest>.*)", re.DOTALL
)
_WORD = re.compile(r"\s+")
_ORDINAL = re.compile(r"(?i)([0-9]{1,3})(st|nd|rd|th)")


def street(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another street line; a unit and a town behind commas become others."""
    box = _BOX.fullmatch(text)
    if box is not None:
        other = other_number(crosswalk, "box", box[2].lstrip("0"), box[2])
        return other and box[1] + in_format(box[2], other)
    start = place_behind(text)
    pieces = _PARTS.split(text[:start] if start else text)
    for at in range(0, len(pieces), 2):
        written = _unit if is_unit(_WORD.split(pieces[at])[0]) else _line
        other = written(crosswalk, pieces[at]) if pieces[at] else ""
        if other is None:
            return None
        pieces[at] = other
    tail = place(crosswalk, Label.CITY, text[start:]) if start else ""
    return None if tail is None else "".join(pieces) + tail


def _line(crosswalk: Crosswalk, text: str) -> str | None:
    found = _LINE.fullmatch(text)
    house, rest = (found["house"] or "", found["rest"]) if found else ("", text)
    words = rest.split()
    units = [at for at, word in enumerate(words) if at and is_unit(word)]
    at = units[0] if units else len(words)
    name = _name(crosswalk, words[:at])
    if name is None:
        return None
    if house:
        key = squeezed(house).lstrip("0")
        other = other_number(crosswalk, "house", key, house)
        if other is None:
            return None
        house = in_format(house, other)
    if not words[at:]:
        return house + name
    unit = _unit(crosswalk, " ".join(words[at:]))
    return unit and f"{house}{name} {unit}"


def _name(crosswalk: Crosswalk, words: list[str]) -> str | None:
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
    other = _proper(crosswalk, words[start:end])
    return other and " ".join((*words[:start], other, *words[end:]))


def _proper(crosswalk: Crosswalk, words: list[str]) -> str | None:
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
