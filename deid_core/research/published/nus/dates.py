"""Section 3.3: dates, as the grid of all orders of day, month and year.

"Days can be written in single or double-digit.  Months can be written in single-digit,
double-digit, short name (e.g., Jan), or long name (e.g., January).  Years can be
written in double-digit or four-digit.  The delimiters [...] include dash (-), comma
(,), slash (/), colon (:), and white space (space and tab)."

The paper leaves the rest open.  Here a day is 1 to 31, a month 1 to 12, a year any two
or four digits.  A delimiter may have white space around it ("March 14, 2024").  A
letter or digit at either end, or a decimal point with a digit, excludes the match.  So
"2/7" (two days), "1/12" (one month), "10:30" and "2 10" are dates, as they are for the
paper, whose precision on dates is 66.03.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from deid_core.document import Annotation, Span
from deid_core.labels import Label

SCORE = 0.54

ORDERS = ("dmy", "mdy", "ydm", "ymd", "dm", "md", "ym", "my")
"""The paper's eight, in its order: whole dates before their parts."""

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_MONTH_NAMES = "|".join(f"{name}|{name[:3]}" for name in _MONTHS)
_PARTS = {
    "d": r"(?:3[01]|[12][0-9]|0?[1-9])",
    "m": rf"(?:1[0-2]|0?[1-9]|{_MONTH_NAMES}|sept)",
    "y": r"(?:[0-9]{4}|[0-9]{2})",
}
_DELIMITER = r"(?:[ \t]{0,2}[-,/:][ \t]{0,2}|[ \t]{1,2})"
_BEFORE = r"(?<![^\W_])(?<![0-9]\.)"
_AFTER = r"(?![^\W_])(?!\.[0-9])"


def pattern_of(order: str) -> str:
    """Return the pattern of one order, such as ``dmy``."""
    return _DELIMITER.join(_PARTS[part] for part in order)


# The lookahead skips characters that cannot start a date.
DATE = re.compile(
    rf"{_BEFORE}(?=[0-9a-z])(?:{'|'.join(map(pattern_of, ORDERS))}){_AFTER}",
    re.IGNORECASE,
)


def dates(text: str) -> Iterator[Annotation]:
    """Yield the dates of a note, left to right."""
    for found in DATE.finditer(text):
        yield Annotation(Span(*found.span()), Label.DATE, SCORE, "nus", "date")
