"""How the dates of one note are to be read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from ..detectors.fragments import fold
from .date_fields import shows_day_first
from .date_forms import Grain
from .date_text import DateText, read

_LEADING_NUMBERS = re.compile(r"\D*?([0-9]{1,2})[ ]?[-/._:, ][ ]?([0-9]{1,2})(?![0-9])")
_DOTTED = re.compile(r"[0-9][ ]?\.[ ]?[0-9]{1,2}[ ]?\.")


@dataclass(frozen=True, slots=True)
class Calendar:
    """How the dates of one note are to be read.

    Args:
        day_first: Whether 3/4 is the third of April.
        dotted_day_first: Whether 3.4.2024 is.
        anchor: The last day that the note gives in full, for days without a year.
    """

    day_first: bool = False
    dotted_day_first: bool = True
    anchor: date | None = field(default=None, repr=False)

    @classmethod
    def of(cls, texts: Sequence[str], day_first: bool | None) -> Calendar:
        """Return what a note's dates show.

        Args:
            texts: The dates as they are written.
            day_first: None: a day over 12 shows it, unless another shows the contrary.
                If none shows it, only between dots the day stands first.
        """
        if day_first is None:
            dotted = [text for text in texts if _DOTTED.search(fold(text))]
            others = [text for text in texts if text not in dotted]
            order = cls(_shown(others, unless=False), _shown(dotted, unless=True))
        else:
            order = cls(day_first, day_first)
        found = [each for text in texts if (each := order.read(text))]
        return replace(order, anchor=_anchor(found))

    def read(self, text: str) -> DateText | None:
        """Return the date that a text is as a whole; None if it is none."""
        is_dotted = _DOTTED.search(fold(text)) is not None
        day_first = self.dotted_day_first if is_dotted else self.day_first
        return read(text, day_first=day_first)


def _shown(texts: list[str], *, unless: bool) -> bool:
    shown = {shows_day_first(pair) for text in texts for pair in _pairs(text)} - {None}
    return shown == {True} if len(shown) == 1 else unless


def _pairs(text: str) -> list[tuple[str, str]]:
    found = _LEADING_NUMBERS.match(fold(text))
    return [(found[1], found[2])] if found else []


def _anchor(found: list[DateText]) -> date | None:
    full = [
        each for each in found if each.form.grain is Grain.DAY and each.year is not None
    ]
    # Years of two digits only where there is nothing better: '45 may be either.
    chosen = [each for each in full if each.has_long_year] or full
    return max((day for each in chosen if (day := each.meant())), default=None)
