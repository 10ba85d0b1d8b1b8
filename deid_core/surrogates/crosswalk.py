"""Keyed identifier -> surrogate, of one patient, in the sight of one note."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..document import Document
from ..errors import ConfigError
from ..fiction.name_pools import Role
from ..labels import Label
from ..language.lexicons import forms_of
from .calendar import Calendar
from .keys import Draws
from .localities import Localities
from .name_parts import roles_shown
from .options import SurrogateOptions
from .people import People, people_of
from .real import Found, RealValues, number_key, real_in_record

_MOST_RUNS = 64
TRIES = 64
"""Candidates that are drawn before a value falls to its tag."""


class Crosswalk:
    """What the styles ask: keyed numbers, the patient's people, and what is real.

    A surrogate hangs on key, patient and value alone, and on the record and the note
    only in this: a candidate that is real there is passed over, a name that the record
    knows (or nearly) counts as that name, and both say what lists leave open: in which
    state a town lies, whether a rare name is a given name.  So a value gets one
    surrogate wherever it stands, unless that surrogate is itself in the note; then the
    note gets the next candidate.

    Args:
        document: Whose patient, and which record.
        options: The policy's.
        draws: The patient's; None if the policy needs no key.
        found: The values of the note, in their order.
    """

    __slots__ = (
        "_calendar",
        "_draws",
        "_found",
        "_localities",
        "_people",
        "_real_values",
        "_roles_shown",
        "document",
        "options",
    )

    def __init__(
        self,
        document: Document,
        options: SurrogateOptions,
        draws: Draws | None,
        found: Sequence[Found] = (),
    ) -> None:
        self.document = document
        self.options = options
        self._draws = draws
        self._found = found
        self._calendar: Calendar | None = None
        self._real_values: tuple[RealValues, RealValues] | None = None
        self._people: People | None = None
        self._roles_shown: Mapping[str, Role] | None = None
        self._localities: Localities | None = None

    @property
    def draws(self) -> Draws:
        """The patient's keyed numbers."""
        if self._draws is None:
            raise ConfigError("this style needs a key, and there is none")
        return self._draws

    @property
    def people(self) -> People:
        """Who is in the record."""
        if self._people is None:
            self._people = people_of(self.document.known)
        return self._people

    @property
    def roles_shown(self) -> Mapping[str, Role]:
        """Which part of a name words are, wherever the note shows it."""
        if self._roles_shown is None:
            names = (
                (each.before, each.text)
                for each in self._found
                if each.label in (Label.PATIENT, Label.DOCTOR)
            )
            self._roles_shown = roles_shown(names, self.people)
        return self._roles_shown

    @property
    def localities(self) -> Localities:
        """Which town, state and ZIP code belong together."""
        if self._localities is None:
            self._localities = Localities.of(self.document.known, self._found)
        return self._localities

    @property
    def calendar(self) -> Calendar:
        """How this note's dates are to be read."""
        if self._calendar is None:
            self._calendar = Calendar.of(self._found, self.options.day_first)
        return self._calendar

    def choose(
        self,
        kind: str,
        value: str,
        pool: Sequence[str],
        is_free: Callable[[str], bool] | None = None,
    ) -> str | None:
        """Return the first candidate of a pool that is not real; None if all are.

        Args:
            kind: Of value; see `Draws.digest`.
            value: In compared form.
            pool: In an order that never changes.
            is_free: Whether a candidate may be taken; by default, if none of its words
                is in the record or in an annotation of the note.
        """
        free = is_free or self.are_free_words
        for counter in range(TRIES if pool else 0):
            at = self.draws.number(kind, value, counter, below=len(pool))
            if free(pool[at]):
                return pool[at]
        return None

    def are_free_words(self, text: str) -> bool:
        """Return whether no word of the text is real."""
        return self.is_free(forms_of(text))

    def is_free(self, words: Iterable[str]) -> bool:
        """Return whether none of the words, in compared form, is real."""
        return all(each.words.isdisjoint(words) for each in self._real())

    def is_free_whole(self, whole: str) -> bool:
        """Return whether a squeezed text is no real value."""
        return all(whole not in each.wholes for each in self._real())

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
        return all(each.numbers.isdisjoint(keys) for each in self._real())

    def _real(self) -> tuple[RealValues, RealValues]:
        if self._real_values is None:
            in_note = RealValues.of(each.text for each in self._found)
            self._real_values = real_in_record(self.document.known), in_note
        return self._real_values
