"""Values of a note and of its record: real ones, never written as a surrogate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields

from ..document import Annotation, KnownIdentifiers
from ..labels import Label
from ..language.lexicons import forms_of, normal

_NOT_ALNUM = re.compile(r"[^a-z0-9]+")
_SHORTEST_NUMBER = 4
_LOCAL_DIGITS = (7, 10)
_REACH = 24


@dataclass(frozen=True, slots=True)
class Found:
    """One value of a note.

    Args:
        label: Its label.
        text: As written.
        before: The end of the text between it and the value before.
        is_near: Whether that is the whole text between them.
    """

    label: Label
    text: str = field(repr=False)
    before: str = field(default="", repr=False)
    is_near: bool = False


def found_in(
    text: str, annotations: Iterable[Annotation], values: Iterable[str]
) -> Iterator[Found]:
    """Yield the values of a note.

    Args:
        text: The annotations' text.
        annotations: Ordered and disjoint.
        values: How each of them reads.
    """
    end = 0
    for each, value in zip(annotations, values, strict=True):
        start = max(end, each.span.start - _REACH)
        before = text[start : each.span.start]
        yield Found(each.label, value, before, is_near=start == end > 0)
        end = each.span.end


@dataclass(frozen=True, slots=True)
class RealValues:
    """The values of a record, or of the annotations of a note, in compared form.

    Args:
        wholes: Each value without separators.
        words: Every word and number of every value, in compared form.
        numbers: Forms that no number may take, without leading zeros.
    """

    wholes: frozenset[str] = field(repr=False)
    words: frozenset[str] = field(repr=False)
    numbers: frozenset[str] = field(repr=False)

    @classmethod
    def of(cls, values: Iterable[str]) -> RealValues:
        """Return the real values of a list."""
        given = [value for value in values if value]
        return cls(
            frozenset(filter(None, map(without_separators, given))),
            frozenset(word for value in given for word in forms_of(value)),
            frozenset(filter(None, (n for value in given for n in _numbers(value)))),
        )


def without_separators(text: str) -> str:
    """Return the letters and digits of a text, in compared form."""
    compared = normal(text)
    if compared.isascii():
        return _NOT_ALNUM.sub("", compared)
    return "".join(filter(str.isalnum, compared))


def number_key(text: str) -> str:
    """Return a number's letters and digits without leading zeros."""
    return without_separators(text).lstrip("0")


def real_in_record(known: KnownIdentifiers) -> RealValues:
    """Return the real values of a patient's record."""
    return RealValues.of(_values(known))


def _values(known: KnownIdentifiers) -> Iterator[str]:
    for name in (*known.patient_names, *known.kin_names, *known.provider_names):
        yield from (name.family, name.given, name.middle)
        yield f"{name.given} {name.family}"
        yield f"{name.family} {name.given}"
    for address in known.addresses:
        yield from (getattr(address, each.name) for each in fields(address))
    yield from (*known.phones, *known.emails, *known.facilities, *known.employers)
    yield from (each.value for each in known.ids)


def _numbers(value: str) -> Iterator[str]:
    key = number_key(value)
    if not any(map(str.isdigit, key)):
        return
    yield key
    if key.isdigit():
        yield from (key[-tail:] for tail in _LOCAL_DIGITS if len(key) > tail)
    for run in forms_of(value):
        if run.isdigit() and len(run) >= _SHORTEST_NUMBER:
            yield run.lstrip("0")
