"""What the rules know of numbers and pairs may refuse what a tagger takes for them.

A tagger sees a word at a time: that 6/9 is an acuity, 17-OHP a result and a row of
vital signs no telephone number, the rules for dates and identifiers know better.
"""

from __future__ import annotations

import re

from ..labels import Label
from .rules.dates.bare import BareDays
from .rules.ids.shapes import is_identifier_shaped

_SURE = 0.85
"""From this probability on, a number may identify whatever its shape."""
_SURE_OF_DAY = 0.97
"""Likewise a pair be a day whatever is next to it."""
_LOCAL_PHONE = re.compile(r"[2-9][0-9]{2}[-. ][0-9]{4}")
_MOST_PARTS = 4
"""Numbers of more parts are rows of values."""


def is_refused(
    days: BareDays, start: int, end: int, label: Label, score: float
) -> bool:
    """Return whether a tagger's proposal is surely a result, a score or a code.

    Args:
        days: Of the note.
        start: Of the proposal.
        end: Of the proposal.
        label: What the tagger calls it.
        score: How sure it is.
    """
    if label is Label.DATE:
        return score < _SURE_OF_DAY and days.is_no_day(start, end)
    if score >= _SURE or (label is not Label.PHONE and label.main != "ID"):
        return False
    value = days.text[start:end]
    if label is Label.PHONE and _LOCAL_PHONE.fullmatch(value):
        return False
    if "  " in value or len(value.split()) > _MOST_PARTS:
        return True
    return not is_identifier_shaped(value)
