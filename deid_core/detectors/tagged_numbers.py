"""Reject tagged numbers that the rules know to be results, scores or vital signs.

A tagger sees a word at a time: that 6/9 is an acuity, 17-OHP a result and a row of
vital signs no telephone number, the rules for dates and identifiers know better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from deid_core.labels import Label

from .rules.dates.bare import BareDays
from .rules.ids.shapes import (
    is_clinical_value,
    is_code_by_form,
    is_identifier_shaped,
    is_plate_shaped,
)

_SURE = 0.85
"""From this probability on, a number may identify whatever its shape."""
_SURE_OF_DAY = 0.97
"""From this probability on, a pair may be a day whatever is next to it."""
_TIME_BEHIND = re.compile(
    r"""
    [0-9]{1,4}([-/.])[0-9]{1,2}\1[0-9]{2,4}
        (?P<time>[ ]+(?:[01][0-9]|2[0-3])[0-5][0-9])\Z
    # Behind a day without a year it may be one.
    |(?:[A-Za-z]{3}\.?|/)[ ]?[0-9]{1,2}
        (?P<no_year>[ ]+(?:0[0-9]|1[0-8]|2[1-3])[0-5][0-9])\Z
    """,
    re.VERBOSE,
)
_LOCAL_PHONE = re.compile(r"[2-9][0-9]{2}[-. ][0-9]{4}")
_MOST_PARTS = 4
"""Numbers of more parts are rows of values."""
_LABELLED = re.compile(
    r"[A-Za-z]{3,}\.? (?P<number>[0-9]+(?: [0-9]+)*(?: [A-Z]{1,2})?)"
)
_DECIMAL_OR_CODE = re.compile(r"[0-9]{1,3}\.[0-9]|[0-9]{1,5}-[0-9]")
"""Of a result, or of LOINC: a tagger may take them for days."""
_DIGIT = re.compile("[0-9]")
_COLUMN = re.compile(r"\S+(?: \S+)*")
_SERIES = re.compile(r"[ \n(][A-Z]{3} [0-9]{4}(?![0-9])")
"""A plate of which a tagger took the digits alone: "PCE 4471"."""
_SERIES_LENGTH = 5
_LEAST_DIGITS = 5
"""In a column of a table after the first."""


def identifying(
    days: BareDays, start: int, end: int, label: Label, score: float
) -> Iterator[tuple[int, int]]:
    """Yield what of a tagger's proposal may identify: all, some columns, or nothing.

    What has neither the shape of an identifier nor that of a plate is mostly a result,
    a score or a code, and whatever the score, so is what `is_clinical_value` names.

    Args:
        days: Of the note.
        start: Of the proposal.
        end: Of the proposal.
        label: What the tagger calls it.
        score: How sure it is.
    """
    if is_code_by_form(days.text[start:end]):
        return
    if label is Label.DATE:
        end = _without_time(days.text, start, end)
        if _DECIMAL_OR_CODE.fullmatch(days.text, start, end) and is_clinical_value(
            days.text, start, end
        ):
            return
        if score >= _SURE_OF_DAY or not days.is_no_day(start, end):
            yield start, end
    elif label is not Label.AGE and _is_clinical_value(days.text, start, end):
        return
    elif score >= _SURE or (label is not Label.PHONE and label.main != "ID"):
        yield start, end
    else:
        for column in _COLUMN.finditer(days.text, start, end):
            yield from _in_column(days.text, column, label, column.start() == start)


def _is_clinical_value(text: str, start: int, end: int) -> bool:
    """Return whether the last word of a proposal is one; what is before names it."""
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    value = max(start, text.rfind(" ", start, end) + 1)
    return _DIGIT.search(text, value, end) is not None and is_clinical_value(
        text, value, end
    )


def _without_time(text: str, start: int, end: int) -> int:
    """Return where a day ends whose time of day ("3/19/24 0218") was taken with it."""
    found = _TIME_BEHIND.search(text, start, end)
    return end if found is None else found.start(found.lastgroup or "time")


def _in_column(
    text: str, column: re.Match[str], label: Label, is_first: bool
) -> Iterator[tuple[int, int]]:
    """Yield what of a column may identify."""
    value, (start, end) = column[0], column.span()
    if len(value.split()) > _MOST_PARTS and (labelled := _LABELLED.fullmatch(value)):
        value, start = labelled["number"], start + labelled.start("number")
    least = 0 if is_first else _LEAST_DIGITS
    if _may_identify(value, label) and sum(map(str.isdigit, value)) >= least:
        yield start, end
    elif label.main == "ID" and (
        plate := _SERIES.match(text, max(0, start - _SERIES_LENGTH), end)
    ):
        yield plate.start() + 1, end


def _may_identify(value: str, label: Label) -> bool:
    if label is Label.PHONE and _LOCAL_PHONE.fullmatch(value):
        return True
    if len(value.split()) > _MOST_PARTS:
        return False
    return is_identifier_shaped(value) or is_plate_shaped(value)
