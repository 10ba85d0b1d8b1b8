"""Ranges that name their month once: "March 5-8, 2024", "5th to 8th of March"."""

from __future__ import annotations

from datetime import date

from ..language.fragments import to_ascii
from .date_fields import Printed, cased, month_name, ordinal_ending
from .date_forms import RANGES_IN_A_MONTH
from .date_text import DateText, read_as, spliced


def read_range(text: str) -> tuple[DateText, int] | None:
    """Return the first day of a range in one month, and the number of the last.

    The last day's spans are ``d2`` and ``o2``.
    """
    folded = to_ascii(text)
    for form in RANGES_IN_A_MONTH:
        found = form.pattern.fullmatch(folded)
        if found and int(found["d"]) < int(found["d2"]):
            first = read_as(text, form, found, day_first=False)
            if first is not None:
                return first, int(found["d2"])
    return None


def written_range(first: DateText, start: date, end: date) -> str:
    """Return another range in the same format: "March 30-April 2, 2024".

    Two months are both named; the year is that of the last day, as it stands there.
    """
    old = {name: first.text[slice(*span)] for name, span in first.spans.items()}
    months = [month_name(old["mon"], day.month, first) for day in (start, end)]
    year = (end if "y" in old else start).year
    new = {
        "d": str(start.day),
        "o": cased(old.get("o", ""), ordinal_ending(start.day)),
        "d2": str(end.day),
        "o2": cased(old.get("o2", ""), ordinal_ending(end.day)),
        "mon": months[0],
        "y": f"{year % 100:02}" if len(old.get("y", "")) == 2 else str(year),
    }
    if months[0] != months[1]:
        if first.spans["mon"] < first.spans["d"]:
            new["d2"] = f"{months[1]} {new['d2']}"
        else:
            new["o" if "o" in old else "d"] += f" {months[0]}"
            new["mon"] = months[1]
    pieces: list[Printed] = [
        (*span, new[name]) for name, span in first.spans.items() if name in new
    ]
    return spliced(first.text, pieces)
