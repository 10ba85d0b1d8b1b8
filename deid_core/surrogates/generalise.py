"""Say less: ages over 89, three digits of a ZIP, a state for a town.

Source: 45 CFR 164.514(b)(2)(i)(B) and (C).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..detectors.fragments import words
from ..labels import Label
from ..lexicons import forms_of, is_common_name
from .crosswalk import Crosswalk
from .places_lists import Place, countries, state_of_city, states

OLDEST = 89
"""Ages above are written as one."""

RESTRICTED_ZIPS = frozenset(
    words("036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893")
)
"""Three digits that cover 20,000 people or fewer: the 17 of the census of 2000, as the
Department of Health and Human Services lists them (guidance of 26 November 2012)."""

_AGE = re.compile(
    r"(?i)\s*(?P<years>\d{1,3})(?P<unit>[- ]{0,2}(?:y|yo|y/o|y\.o\.?|yrs?|years?)"
    r"(?:[- ]{0,2}(?:old|of[- ]age))?)?\s*"
)
_YOUNG = re.compile(
    r"(?i)\s*\d{1,3}[- ]{0,2}(?:m|mo|mos|months?|w|wks?|weeks?|d|days?)"
    r"(?:[- ]{0,2}old)?\s*"
)
_ZIP = re.compile(r"\s*([0-9]{5})(?:[- ]?[0-9]{4})?\s*")
_UNITS = words("zero one two three four five six seven eight nine")
_TENS = words("twenty thirty forty fifty sixty seventy eighty ninety")
_TEENS = words(
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_NUMBER_WORDS = {
    **{word: n for n, word in enumerate((*_UNITS, *_TEENS))},
    **{word: 10 * n for n, word in enumerate(_TENS, start=2)},
}
_OVER_89 = re.compile(
    r"(?i)\s*(?:super)?(?:nonagenarian|centenarian|nineties|9\ds|9\d'?s|1\d\ds|1\d\d'?s"
    r"|ninetieth|(?:9\d|1\d\d)(?:st|nd|rd|th)|(?:(?:a|one)[ -])?hundred"
    r"(?:[ -](?:and[ -])?[a-z]+)?)\s*"
)


def generalise(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return what may be said of a value; None if it can't be told what it is."""
    return _BY_LABEL[label](crosswalk, text)


def _age(_: Crosswalk, text: str) -> str | None:
    """Return "90+" for every age over 89; younger ones as they are."""
    if _OVER_89.fullmatch(text):
        return "90+"
    if _YOUNG.fullmatch(text):
        return text
    found = _AGE.fullmatch(text)
    if found is None:
        years = _in_words(text)
        return None if years is None else _capped(years, text, "90+")
    return _capped(int(found["years"]), text, "90+" + (found["unit"] or ""))


def _capped(years: int, text: str, over: str) -> str:
    return over if years > OLDEST else text


def _in_words(text: str) -> int | None:
    """Return the number that words up to "ninety-nine" say."""
    parts = forms_of(text)
    values = [_NUMBER_WORDS[word] for word in parts if word in _NUMBER_WORDS]
    if not values or len(values) < len(parts) or len(values) > 2:
        return None
    if len(values) == 2 and not (values[0] in range(20, 100, 10) and values[1] < 10):
        return None
    return sum(values)


def _zip(_: Crosswalk, text: str) -> str | None:
    """Return three digits, or 000 where few live; None for a code of elsewhere."""
    found = _ZIP.fullmatch(text)
    if found is None:
        return None
    area = found[1][:3]
    return "000" if area in RESTRICTED_ZIPS else area


def _state(_: Crosswalk, text: str) -> str | None:
    """Return the state itself; None for what may be a name: Virginia, Georgia."""
    return text if _is_only(text, states()) else None


def _country(_: Crosswalk, text: str) -> str | None:
    """Return the country itself; None for what may be a name: Jordan, Chad."""
    return text if _is_only(text, countries()) else None


def _is_only(text: str, places: Mapping[str, Place]) -> bool:
    parts = forms_of(text)
    is_name = len(parts) == 1 and len(parts[0]) > 2 and is_common_name(parts[0])
    return " ".join(parts) in places and not is_name


def _city(crosswalk: Crosswalk, text: str) -> str | None:
    """Return the name of the state in which a town lies; None if several have it."""
    name, _, state = text.partition(",")
    if state and _is_only(state, states()):
        return state.strip()
    parts = forms_of(name)
    for address in crosswalk.document.known.addresses:
        if parts and forms_of(address.city) == parts:
            of_record = states().get(" ".join(forms_of(address.state)))
            return of_record.name if of_record else None
    return state_of_city(" ".join(parts))


_BY_LABEL = {
    Label.AGE: _age,
    Label.ZIP: _zip,
    Label.STATE: _state,
    Label.CITY: _city,
    Label.COUNTRY: _country,
}
GENERALISED = frozenset(_BY_LABEL)
"""The labels for which there is something less to say."""
