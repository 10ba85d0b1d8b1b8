"""What a tagger takes for a part of a name, and is none: forms of address, degrees."""

from __future__ import annotations

import re
from functools import cache

from ..language.fragments import words
from ..language.lexicons import load_list

_LEAD = re.compile(r"([A-Za-z]+)[.:]?[ ]{1,3}(?=[A-Za-z])")
_TRAIL = re.compile(r"(?<=[A-Za-z.])[ ]?,?[ ]{1,3}([A-Za-z][A-Za-z.-]{1,7})\.?\Z")
_DEGREES = frozenset(
    words(
        """
        bn bsn cho dds dmd emt fme frcs fwacs lcsw ln ma mbbs mrcp msw nzrp ot pa-c pt
        rco rmo slp
        """
    )
)
_MOST = 3


def without_address(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a name without the forms of address before it and the degrees after it.

    "Alhaji Sani Danladi" is Sani Danladi, "Aoibhinn Roe OT" Aoibhinn Roe.  A single
    word stays as it is.

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the name.
        end: Of the name.
    """
    for _ in range(_MOST):
        found = _LEAD.match(text, start, end)
        if found is None or found[1].lower() not in load_list("courtesies"):
            break
        start = found.end()
    for _ in range(_MOST):
        found = _TRAIL.search(text[start:end])
        if found is None or found[1].lower().rstrip(".") not in _every_degree():
            break
        end = start + found.start()
    return start, end


@cache
def _every_degree() -> frozenset[str]:
    return _DEGREES | load_list("credentials")
