"""Values of a note and of its record: real ones, never written as a surrogate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache

from deid_core.document import Address, Annotation, KnownIdentifiers, PersonName
from deid_core.labels import Label
from deid_core.language.lexicons import forms_of, normal

_NOT_ALNUM = re.compile(r"[^a-z0-9]+")
_SHORTEST_NUMBER = 4
_LOCAL_DIGITS = (7, 10)
_REACH = 24
_VALUES = 4096


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
        wholes: set[str] = set()
        words: set[str] = set()
        numbers: set[str] = set()
        for value in filter(None, values):
            whole, runs = without_separators(value), forms_of(value)
            wholes.add(whole)
            words.update(runs)
            numbers.update(_numbers(whole.lstrip("0"), runs))
        return cls(
            frozenset(wholes - {""}), frozenset(words), frozenset(numbers - {""})
        )

    @classmethod
    def joined(cls, parts: Sequence[RealValues]) -> RealValues:
        """Return the real values of several lists."""
        nothing = frozenset[str]()
        return cls(
            nothing.union(*(each.wholes for each in parts)),
            nothing.union(*(each.words for each in parts)),
            nothing.union(*(each.numbers for each in parts)),
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


class RealValuesReader:
    """Read the real values of patient records.  Thread-safe.

    Each value is read once.  It keeps the values seen last; they go with it.
    """

    def __init__(self) -> None:
        self._name = lru_cache(maxsize=_VALUES)(_in_name)
        self._address = lru_cache(maxsize=_VALUES)(_in_address)
        self._text = lru_cache(maxsize=_VALUES)(_in_text)

    def real_in(self, known: KnownIdentifiers) -> RealValues:
        """Return the real values of a record."""
        names = (*known.patient_names, *known.kin_names, *known.provider_names)
        texts = (*known.phones, *known.emails, *known.facilities, *known.employers)
        return RealValues.joined(
            (
                *map(self._name, names),
                *map(self._address, known.addresses),
                *map(self._text, texts),
                *(self._text(each.value) for each in known.ids),
            )
        )


def _in_name(name: PersonName) -> RealValues:
    family, given = name.family, name.given
    both = (f"{given} {family}", f"{family} {given}")
    return RealValues.of((family, given, name.middle, *both))


def _in_address(address: Address) -> RealValues:
    return RealValues.of(getattr(address, each.name) for each in fields(address))


def _in_text(text: str) -> RealValues:
    return RealValues.of((text,))


def _numbers(key: str, runs: Iterable[str]) -> Iterator[str]:
    """Yield the forms that no number may take because of a value.

    Args:
        key: The value's `number_key`.
        runs: Its words and numbers.
    """
    if not any(map(str.isdigit, key)):
        return
    yield key
    if key.isdigit():
        yield from (key[-tail:] for tail in _LOCAL_DIGITS if len(key) > tail)
    for run in runs:
        if run.isdigit() and len(run) >= _SHORTEST_NUMBER:
            yield run.lstrip("0")
