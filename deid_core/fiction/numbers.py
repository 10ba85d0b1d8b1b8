"""Numbers: from patterns, and by the plans of North American phones and SSNs.

Sources: North American Numbering Plan (ATIS-0300051); phone numbers for fiction,
ATIS-0300115; Social Security Administration, POMS RM 10201.035.
"""

from __future__ import annotations

import re
import string
from random import Random

FICTIONAL_LINE = "55501"
"""Exchange and first digits of the numbers 555-0100 to 555-0199, kept for fiction."""

AREA_CODES = tuple(
    str(area)
    for area in range(201, 980)
    # N11 are services, N9X is reserved.
    if area % 100 != 11 and area // 10 % 10 != 9
)
"""Area codes that the plan allows."""

_LARGE_CITIES = (202, 206, 212, 303, 312, 404, 415, 503, 512, 602, 617, 702, 713, 808)
_EXCHANGES = tuple(n for n in range(220, 990) if n % 100 != 11)
# The SSA assigned areas up to 772, never 666, group 00 or serial 0000.
_SSN_AREAS = tuple(n for n in range(1, 773) if n != 666)

_CLASSES = {
    "#": string.digits,
    "%": string.digits[1:],
    "$": string.digits[2:],
    "?": string.ascii_uppercase,
    "&": "0123456789abcdef",
}
_WILD = re.compile("[#%$?&]")


def from_pattern(pattern: str, chance: Random) -> str:
    """Return a pattern with its signs drawn.

    ``#`` is any digit, ``%`` one that is not 0, ``$`` one of 2 to 9, ``?`` a capital
    letter, ``&`` a hexadecimal digit.
    """
    return _WILD.sub(lambda sign: chance.choice(_CLASSES[sign[0]]), pattern)


def phone(chance: Random) -> str:
    """Return ten digits that North America could have assigned."""
    exchange = chance.choice(_EXCHANGES)
    return f"{chance.choice(_LARGE_CITIES)}{exchange}{chance.randrange(10_000):04}"


def social_security_number(chance: Random) -> str:
    """Return a number that could have been issued before 2011."""
    area, group = chance.choice(_SSN_AREAS), chance.randrange(1, 100)
    return f"{area:03}-{group:02}-{chance.randrange(1, 10_000):04}"
