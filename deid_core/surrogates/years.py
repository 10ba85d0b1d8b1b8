"""Years of dates: all that Safe Harbor lets stand, unless it tells an age over 89.

Source: 45 CFR 164.514(b)(2)(i)(C): "all elements of dates (except year) [...] and all
ages over 89 and all elements of dates (including year) indicative of such age, except
that such ages and elements may be aggregated into a single category".
"""

from __future__ import annotations

from datetime import date

from ..labels import Label
from .ages import OLDEST
from .calendar import RELEASED
from .crosswalk import Crosswalk
from .date_ranges import read_range
from .date_text import DateText
from .dates import days_moved

_MIDDLE = (7, 1)


def year(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return the year of a date, or both years of a range.

    None for a date that does not show its year in four digits.
    """
    in_a_month = read_range(text)
    single = in_a_month[0] if in_a_month else crosswalk.calendar.read(text)
    if single is not None:
        return _long_year(single)
    ends = crosswalk.calendar.ends_of(text)
    if ends is None:
        return None
    left, between, right = ends
    start, end = _long_year(left), _long_year(right)
    if end is None or (start is None and left.year is not None):
        return None
    return end if start in (None, end) else f"{start}{between}{end}"


def tells_old_age(crosswalk: Crosswalk, text: str) -> bool:
    """Return whether a date's year tells an age over 89, if somebody was born then."""
    births = crosswalk.document.known.birth_dates
    return crosswalk.calendar.tells_old_age(text, births)


def old_year(crosswalk: Crosswalk, *, is_shifted: bool) -> str:
    """Return the category of all years that tell an age over 89: "1936 or earlier".

    Args:
        crosswalk: The patient's.
        is_shifted: Whether the note's other dates are moved, and the latest with them.
    """
    latest = crosswalk.calendar.this_year
    if is_shifted and latest > RELEASED:
        latest = date.fromordinal(
            date(latest, *_MIDDLE).toordinal() + days_moved(crosswalk)
        ).year
    return f"{latest - OLDEST - 1} or earlier"


def _long_year(each: DateText) -> str | None:
    return each.text[slice(*each.spans["y"])] if each.has_long_year else None
