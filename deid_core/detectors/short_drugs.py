"""Short forms of drugs that a tagger takes for names: "on warf.".  For English."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache

from ..language import context
from ..language.fragments import words
from ..language.lexicons import is_common_name, load_list
from ..language.lexicons.word_classes import WordClass, word_classes
from .trimming import form_of

# What is done with a drug.
_DRUG_CUES = frozenset(
    words(
        """
        on off take takes took taking hold holds held holding start starts started
        starting stop stops stopped stopping restart restarted resume resumed resuming
        continue continued continues cont dc d/c dc'd d/c'd discontinue discontinued
        refill refilled increase increased decrease decreased wean weaned
        """
    )
)
_SWITCHED = frozenset(
    words("switch switched change changed transition transitioned bridge bridged")
)
# "Called on Roe", "waits on Roe".
_CALLED_ON = frozenset(
    words(
        """
        call called calling wait waits waiting waited rely relies relied depend depends
        depended based check checks checked checking
        """
    )
)
_DOSE = re.compile(
    r"""
    \.?,?[ ](?:[0-9][0-9.,/]{0,6}[ ]?(?:mg|mcg|g|gm|meq|units?|u|tabs?|ml|%)(?![a-z])
      |(?:bid|tid|qid|qd|qhs|daily|prn|po|iv|q[0-9]{1,2}h?)(?![a-z]))
    """,
    re.VERBOSE | re.IGNORECASE,
)
_GOES_ON = re.compile(r"\.(?:[,;)]|[ ]{1,2}[a-z0-9(])")
_SHORTEST_DRUG = 4


def is_short_drug(text: str, start: int, end: int) -> bool:
    """Return whether a word is the beginning of a drug's name, and stands as a drug.

    "On warf.", "stopped metop 25 mg".  It is written small, or its period is no
    sentence's end; it is no given name, and no common surname.
    """
    form = form_of(text[start:end])
    if word_classes(form) & (WordClass.GIVEN | WordClass.WEAK_GIVEN) or is_common_name(
        form
    ):
        return False
    if not _begins_drug(form):
        return False
    is_dosed = _DOSE.match(text, end) is not None
    is_small = text[start:end].islower()
    if not (is_dosed or is_small or _GOES_ON.match(text, end)):
        return False
    left = context.before(text, start)
    if left.gap != " ":
        return is_dosed
    if left.nearest in {"to", "from"}:
        return is_dosed or left.word(1) in _SWITCHED
    if left.nearest == "on" and left.word(1) in _CALLED_ON:
        return is_dosed
    return is_dosed or left.nearest in _DRUG_CUES


@cache
def _drug_names() -> tuple[str, ...]:
    return tuple(sorted(load_list("drugs")))


def _begins_drug(form: str) -> bool:
    """Return whether a drug's name begins with a word, and is longer."""
    if len(form) < _SHORTEST_DRUG:
        return False
    drugs = _drug_names()
    at = bisect_right(drugs, form)
    return at < len(drugs) and drugs[at].startswith(form)
