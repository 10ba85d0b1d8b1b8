"""Phone and fax numbers: of the range that is reserved for fiction where there is one.

North America: 555-0100 to 555-0199 in any area (ATIS-0300115).  Elsewhere the country
code stays, and the digits behind it are other digits.
"""

from __future__ import annotations

import re

from ..labels import Label
from .crosswalk import TRIES, Crosswalk
from .numbers import in_format, is_plain, number, other_number
from .real import squeezed

_EXTENSION = re.compile(r"(?i)[ ,;]{0,2}(?:x|ext(?:ension)?\.?)[ :#]{0,2}(?=\d)")
_INTERNATIONAL = re.compile(r"\s*\+\s*(?!1\b)(\d{1,3})(?=[ ().-])")
_LOCAL, _NATIONAL, _WITH_CODE = 7, 10, 11
_AREAS = [
    str(area)
    for area in range(201, 980)
    # N11 are services, N9X is kept back (NANP).
    if area % 100 != 11 and area // 10 % 10 != 9
]


def phone(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another phone number in the same format, its extension as well."""
    cut = _EXTENSION.search(text)
    if cut is None:
        return _main(crosswalk, label, text)
    start = text[: cut.start()]
    # A bare extension: "x4821".
    main = _main(crosswalk, label, start) if start.strip() else start
    tail = text[cut.end() :]
    extension = other_number(crosswalk, "extension", squeezed(tail).lstrip("0"), tail)
    if main is None or extension is None:
        return None
    return main + cut[0] + in_format(tail, extension)


def _main(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    digits = squeezed(text)
    if not is_plain(text) or not digits.isdigit():
        return number(crosswalk, label, text)
    is_national = len(digits) in (_LOCAL, _NATIONAL) and "+" not in text
    if is_national or (len(digits) == _WITH_CODE and digits[0] == "1"):
        return _north_american(crosswalk, digits, text)
    code = _INTERNATIONAL.match(text)
    start = code.end() if code else 0
    rest = number(crosswalk, label, text[start:])
    return rest and text[:start] + rest


def _north_american(crosswalk: Crosswalk, digits: str, text: str) -> str | None:
    """Return a fictional number; its last seven digits hang on the last seven alone."""
    draws, local, national = crosswalk.draws, digits[-_LOCAL:], digits[-_NATIONAL:]
    code = digits[:-_NATIONAL]
    for counter in range(TRIES):
        line = draws.number("phone", local, counter, below=100)
        other = f"55501{line:02}"
        if len(digits) > _LOCAL:
            at = draws.number("area", national, counter, below=len(_AREAS))
            other = _AREAS[at] + other
        if other != national and crosswalk.is_free_number(other):
            return in_format(text, code + other, skip_zeros=False)
    return None
