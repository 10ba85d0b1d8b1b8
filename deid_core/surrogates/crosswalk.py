"""The context in which the surrogates of one note are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from deid_core.document import Document
from deid_core.errors import ConfigError
from deid_core.fiction.gender import Gender
from deid_core.fiction.name_pools import Role
from deid_core.labels import Label
from deid_core.language.lexicons import forms_of

from .calendar import Calendar
from .keys import Draws
from .localities import Localities
from .name_parts import genders_shown, roles_shown
from .options import SurrogateOptions
from .people import PeopleReader, RecordPeople
from .real import Found, RealValues, RealValuesReader, number_key

_MAX_RECORDS = 256
_MOST_RUNS = 64
TRIES = 64
"""Candidates drawn before the tag is written instead."""


class RecordCache:
    """A cache of what surrogates take from the patient records used last.  Thread-safe.

    Attributes:
        people: The persons of a record.
        real: Its real values.
    """

    __slots__ = ("people", "real")

    def __init__(self) -> None:
        self.people = lru_cache(maxsize=_MAX_RECORDS)(PeopleReader().people_of)
        self.real = lru_cache(maxsize=_MAX_RECORDS)(RealValuesReader().real_in)


class Crosswalk:
    """The context of one note's surrogates: keyed draws, and the patient's real values.

    A surrogate depends on key, patient, value and record.  The record matters in three
    ways.  A candidate that is a real value there is passed over.  A name that equals or
    resembles a name of the record counts as that name.  And it decides what lists leave
    open: the state of a town, whether a rare name is a given name, a gender.

    The note decides only what both leave open.  Its other values never do: a field,
    which has no note, must show what the notes show.  So a surrogate may by chance be
    another value of the note, which becomes something else there.

    Args:
        document: Gives patient and record.
        options: Of the policy.
        draws: Of the patient; None if the policy needs no key.
        found: The values of the note, in order.
        records: Shared by the documents of a `Replacer`.
    """

    def __init__(
        self,
        document: Document,
        options: SurrogateOptions,
        draws: Draws | None,
        found: Sequence[Found] = (),
        records: RecordCache | None = None,
    ) -> None:
        self.document = document
        self.options = options
        self._draws = draws
        self._found = found
        self._records = records or RecordCache()

    @property
    def draws(self) -> Draws:
        """The patient's keyed numbers."""
        if self._draws is None:
            raise ConfigError("this style needs a key, and there is none")
        return self._draws

    @cached_property
    def people(self) -> RecordPeople:
        """The persons of the record."""
        return self._records.people(self.document.known)

    @cached_property
    def roles_shown(self) -> Mapping[str, Role]:
        """The part of a name that each word is, wherever the note shows it."""
        return roles_shown(self._names(), self.people)

    @cached_property
    def genders_shown(self) -> Mapping[str, Gender]:
        """The genders of given names of no record, by the titles before them."""
        return genders_shown(self._names(), self.people)

    @cached_property
    def localities(self) -> Localities:
        """The towns, states and ZIP codes that belong together."""
        return Localities.of(self.document.known, self._found)

    @cached_property
    def calendar(self) -> Calendar:
        """The calendar by which the dates of this note are read."""
        return Calendar.of(self._found, self.options.day_first)

    def choose(
        self,
        kind: str,
        value: str,
        pool: Sequence[str],
        is_free: Callable[[str], bool] | None = None,
        *,
        own: str | None = None,
    ) -> str | None:
        """Return the first candidate of a pool that is not real; None if all are.

        No word of it is one of the value.

        Args:
            kind: Of value; see `Draws.digest`.
            value: In compared form.
            pool: In an order that never changes.
            is_free: Whether a candidate may be taken; by default, if none of its words
                is in the record.
            own: The value alone, where `value` holds more.
        """
        free = is_free or self.are_free_words
        words = frozenset(forms_of(value if own is None else own))
        for counter in range(TRIES if pool else 0):
            at = self.draws.number(kind, value, counter, below=len(pool))
            if words.isdisjoint(forms_of(pool[at])) and free(pool[at]):
                return pool[at]
        return None

    def are_free_words(self, text: str) -> bool:
        """Return whether no word of the text is real."""
        return self.is_free(forms_of(text))

    def is_free(self, words: Iterable[str]) -> bool:
        """Return whether none of the words, in compared form, is real."""
        return self._real.words.isdisjoint(words)

    def is_free_whole(self, whole: str) -> bool:
        """Return whether a text without separators is no real value."""
        return whole not in self._real.wholes

    def is_free_number(self, text: str) -> bool:
        """Return whether neither the number nor any run of its parts is real."""
        runs = forms_of(text)
        if len(runs) > _MOST_RUNS:
            # No number has so many parts, and there are too many runs of them.
            return False
        keys = {number_key(text)}
        for start in range(len(runs)):
            for end in range(start + 1, len(runs) + 1):
                keys.add("".join(runs[start:end]).lstrip("0"))
        return self._real.numbers.isdisjoint(keys)

    def _names(self) -> Iterator[tuple[str, str]]:
        for each in self._found:
            if each.label in (Label.PATIENT, Label.DOCTOR):
                yield each.before, each.text

    @cached_property
    def _real(self) -> RealValues:
        return self._records.real(self.document.known)
