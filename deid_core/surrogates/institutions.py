"""Surrogates of hospitals, employers and other places, in the same form.

The words of the kind stay, and names between them are replaced:
"Mercy General Hospital" is "Meehan General Hospital", and "Mercy" is "Meehan".  A saint
becomes a saint, a state the patient's other state, and a town a town of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from deid_core.fiction.name_pools import name_pools
from deid_core.fiction.places import is_large_town, professions, states
from deid_core.labels import Label
from deid_core.language.fragments import words
from deid_core.language.lexicons import forms_of, load_list
from deid_core.runtime.toml_files import table_of

from .crosswalk import Crosswalk
from .letter_case import in_case_of, in_single_case_of
from .localities import key_of, parts_of
from .numbers import number
from .places import place, state, street, town

_TABLES = {
    Label(label): each for label, each in table_of(__package__, "institutions").items()
}
_KINDS = {label: frozenset(words(each["words"])) for label, each in _TABLES.items()}
_BETWEEN = frozenset(words("a and at by for in of on s the"))
_SAINT = frozenset(words("st saint ste sainte sts saints santa san"))
_SPACE = re.compile(r"(\s+)")
_EDGES = re.compile(
    r"(?P<start>[^\w]*)(?P<name>.*?)(?P<end>(?:['\u2019][sS])?[^\w]*)", re.DOTALL
)
_ACRONYM = re.compile(r"[A-Z]{2,5}")
_CODE = 2
_LETTERS = "BCDFGHJKLMNPRSTVW"


def institution(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return an institution of the same form: "... Medical Center"."""
    if label is Label.LOCATION_OTHER and any(map(str.isdigit, text)):
        return street(crosswalk, label, text) or number(crosswalk, label, text)
    if _ACRONYM.fullmatch(text.strip()):
        return _acronym(crosswalk, text.strip())
    head, comma, tail = text.partition(",")
    if comma and head.strip() and _is_place(tail):
        name = institution(crosswalk, label, head)
        other = place(crosswalk, Label.CITY, tail)
        return name and other and name + comma + other
    pieces = _SPACE.split(text)
    runs = list(_names(pieces, label))
    if not runs or (label is Label.ORGANIZATION and _is_bare(pieces, runs)):
        # A mere kind ("the clinic") gets another one; a lone "Acme" stays without.
        name = _name(crosswalk, " ".join(forms_of(text)))
        written = f"{name} {_other_kind(crosswalk, label, text)}"
        return name and in_single_case_of(text, written)
    others: list[str] = []
    kept = 0
    for start, end in runs:
        new = _other_name(crosswalk, label, "".join(pieces[start:end]))
        if new is None:
            return None
        others += *pieces[kept:start], new
        kept = end
    return "".join((*others, *pieces[kept:]))


def profession(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another profession."""
    other = crosswalk.choose("profession", " ".join(forms_of(text)), professions())
    if other is None:
        return None
    return in_case_of(text, other) if not text[0].islower() else other.lower()


def _names(pieces: list[str], label: Label) -> Iterator[tuple[int, int]]:
    """Yield the runs of words that belong to no kind, as ranges of pieces."""
    start = end = -1
    for at in range(0, len(pieces), 2):
        forms = set(forms_of(pieces[at]))
        # Text without a compared form is no word of a kind.
        has_letters = any(map(str.isalnum, pieces[at]))
        if forms <= _KINDS[label] | _BETWEEN and bool(forms) is has_letters:
            if start >= 0 and forms:
                yield start, end
                start = -1
            continue
        start, end = (start if start >= 0 else at), at + 1
    if start >= 0:
        yield start, end


def _is_bare(pieces: list[str], runs: list[tuple[int, int]]) -> bool:
    return runs == [(0, len(pieces))] and len(pieces) > 1


def _other_name(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another name; quotes, commas and "'s" around it stay."""
    found = _EDGES.fullmatch(text)
    if found is None or not found["name"]:
        return None
    other = _proper(crosswalk, label, found["name"])
    return (
        other
        and found["start"] + in_single_case_of(found["name"], other) + found["end"]
    )


def _proper(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    key = " ".join(forms_of(text))
    if label is not Label.LOCATION_OTHER:
        if key in states() and len(key) > _CODE:
            return state(crosswalk, text)
        if is_large_town(key):
            return town(crosswalk, text)
    saint, _, name = text.partition(" ")
    if label is Label.HOSPITAL and name and set(forms_of(saint)) <= _SAINT:
        other = crosswalk.choose("saint", " ".join(forms_of(name)), _saints())
        return other and f"{saint} {other.capitalize()}"
    return _name(crosswalk, key)


def _name(crosswalk: Crosswalk, key: str) -> str | None:
    other = crosswalk.choose("institution", key, name_pools().surnames)
    return other and other.capitalize()


@cache
def _saints() -> tuple[str, ...]:
    return tuple(sorted(load_list("saints")))


def _is_place(text: str) -> bool:
    labels = {each.label for each in parts_of(Label.CITY, text)}
    return bool(labels - {Label.CITY, Label.LOCATION_OTHER}) or is_large_town(
        key_of(text)
    )


def _other_kind(crosswalk: Crosswalk, label: Label, text: str) -> str:
    own = set(forms_of(text))
    pool = [each for each in _TABLES[label]["kinds"] if own.isdisjoint(forms_of(each))]
    at = crosswalk.draws.number("kind", " ".join(sorted(own)), below=len(pool) or 1)
    return pool[at] if pool else "House"


def _acronym(crosswalk: Crosswalk, text: str) -> str | None:
    for counter in range(8):
        drawn = crosswalk.draws.numbers("acronym", text, counter, count=len(text))
        other = "".join(_LETTERS[each % len(_LETTERS)] for each in drawn)
        if other != text and crosswalk.are_free_words(other):
            return other
    return None
