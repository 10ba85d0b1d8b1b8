"""HL7 data types (chapter 2A) as values of phistream: names, addresses, numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime

from deid_core.document import Address
from streams.model.patients.demographics import Identifier, Name

from .message import Repetition, part

_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}")
_TIME = re.compile(
    r"(?P<year>\d{4})(?P<month>\d\d)?(?P<day>\d\d)?"
    r"(?P<hour>\d\d)?(?P<minute>\d\d)?(?P<second>\d\d)?",
    re.ASCII,
)
_DAY = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)", re.ASCII)
_FIRST_YEAR = 1800
_BARE_NAME = re.compile(r"[^\W\d]+\.?(?:(?:, ?| )[^\W\d]+\.?){1,2}")
"""Two or three words in place of an identifier."""


def name_of_xpn(value: Repetition) -> Name:
    """Return a person's name (XPN: family, given, middle, suffix, prefix, ., use)."""
    family, given, middle = parted(_family(value, 1), part(value, 2), part(value, 3))
    return Name(
        family=family,
        given=given,
        middle=middle,
        suffix=part(value, 4),
        prefix=part(value, 5),
        use=part(value, 7)[:8],
    )


def names_of_xpn(value: Repetition) -> list[Name]:
    """Return all names of a person, including own and partner's surname.

    FN: surname & own prefix & own surname & partner's prefix & partner's surname.
    """
    name = name_of_xpn(value)
    others = (part(value, 1, 3), part(value, 1, 5))
    present = ("", *name.family.split())
    more = (replace(name, family=each) for each in others if each not in present)
    return [name, *more]


def name_of_xcn(value: Repetition) -> Name:
    """Return a provider's name (XCN: id, family, given, middle, suffix, prefix)."""
    family, given, middle = parted(_family(value, 2), part(value, 3), part(value, 4))
    if not (family or given) and _BARE_NAME.fullmatch(part(value, 1)):
        family, given, middle = parted(part(value, 1), "", "")
    return Name(
        family=family,
        given=given,
        middle=middle,
        suffix=part(value, 5),
        prefix=part(value, 6),
    )


def name_of_ndl(value: Repetition) -> Name:
    """Return a provider's name (NDL.1 is a CNN: id & family & given & middle...).

    Many systems send an XCN instead.
    """
    if not any(value[0][1:]):
        return name_of_xcn(value)
    return Name(
        family=part(value, 1, 2),
        given=part(value, 1, 3),
        middle=part(value, 1, 4),
        suffix=part(value, 1, 5),
        prefix=part(value, 1, 6),
    )


def address_of_xad(value: Repetition) -> Address:
    """Return an address (XAD; its street is an SAD: line & street name & number)."""
    line = part(value, 1)
    # Some systems send a number or nothing in SAD.1 and the street's name in SAD.2.
    others = (part(value, 1, 3), part(value, 1, 2))
    line = " ".join([*filter(None, [line]), *(o for o in others if o not in line)])
    return Address(
        street=line,
        other=part(value, 2),
        city=part(value, 3),
        state=part(value, 4),
        zip=part(value, 5),
        country=part(value, 6),
    )


def phone_of_xtn(value: Repetition) -> str:
    """Return a telephone number (XTN.1, or country, area, number; or XTN.12)."""
    written = part(value, 1)
    if "@" not in written and any(letter.isdigit() for letter in written):
        return written
    pieces = [part(value, n) for n in (5, 6, 7)]
    return " ".join(each for each in pieces if each) if pieces[2] else part(value, 12)


def email_of_xtn(value: Repetition) -> str:
    """Return an e-mail address (XTN.4, or XTN.1 where it is sent there)."""
    for component in (4, 1):
        if _EMAIL.fullmatch(part(value, component)):
            return part(value, component)
    return ""


def identifier_of_cx(value: Repetition, type_: str = "") -> Identifier:
    """Return an identifier (CX: id, ., ., assigning authority, type)."""
    return Identifier(part(value, 1), part(value, 5)[:8] or type_, authority_of(value))


def authority_of(value: Repetition) -> str:
    """Return the assigning authority (CX.4, HD: namespace id, else universal id)."""
    return part(value, 4, 1) or part(value, 4, 2)


def birth_date_of(text: str) -> str:
    """Return an ISO date; empty if it is not a complete, plausible date (PID-7)."""
    found = _DAY.match(text)
    if found is None:
        return ""
    try:
        day = date(*map(int, found.groups()))
    except ValueError:
        return ""
    return day.isoformat() if day.year >= _FIRST_YEAR else ""


def time_of(text: str) -> str:
    """Return an HL7 time (DTM) as ISO 8601 to the second, without its zone.

    An invalid time gives an empty string, so that it is never compared.
    """
    found = _TIME.match(text)
    if found is None:
        return ""
    year, month, day, *clock = (int(each) if each else None for each in found.groups())
    hour, minute, second = (each or 0 for each in clock)
    try:
        when = datetime(year or 0, month or 1, day or 1, hour, minute, second)
    except ValueError:
        return ""
    return when.isoformat()


def _family(value: Repetition, component: int) -> str:
    """Return a family name (FN: surname & own prefix & own surname...)."""
    return part(value, component, 1) or part(value, component, 3)


def parted(family: str, given: str, middle: str) -> tuple[str, str, str]:
    """Return the parts of a name, also if all of it was sent as the family name.

    Otherwise the family name "DOE, JOHN" would not match "John" in a note.
    """
    if given or middle or not re.search(r"[ ,]", family):
        return family, given, middle
    last, comma, first = (each.strip() for each in family.partition(","))
    words = first.split() if comma else last.split()
    if comma:
        return last, words[0] if words else "", " ".join(words[1:])
    return words[-1], words[0], " ".join(words[1:-1])
