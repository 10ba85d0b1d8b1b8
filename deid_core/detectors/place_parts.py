"""Split a tagged place into hospital, town and state; complete a truncated one.

"Mercy Hospital, Reno, NV 89501" is a hospital, a town and a state; a policy may keep
the state, so no other annotation may cover it.  Of "lumen specialty rx" and "3rd Floor,
19 Cobham Ct" the tagger may miss the last or the first words.  For English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from deid_core.document import Span
from deid_core.labels import Label
from deid_core.language import context
from deid_core.language.fragments import STATE, ZIP, words
from deid_core.language.lexicons import load_list

_CAPITAL_WORDS = r"[A-Z][A-Za-z'.-]{1,24}(?:[ ][A-Z][A-Za-z'-]{1,24}){0,2}"
_WITH_STATE = re.compile(
    rf"""
    (?:,[ ]{{1,2}}(?P<city>{_CAPITAL_WORDS}))?
    (?:,[ ]{{1,2}}|[ ](?=[A-Z][A-Z](?![A-Za-z])))(?P<state>{STATE})(?![A-Za-z])
    (?:[.,]?[ ]{{1,2}}(?P<zip>{ZIP}))?
    \Z
    """,
    re.VERBOSE,
)
_IN_TOWN = re.compile(
    rf"""
    (?i:(?:hospital|hosp|clinic|infirmary|hospice|(?:medical|health)[ ]cent(?:er|re)))
    (?:'?s)?(?P<joint>,?[ ](?:in|at)[ ])(?P<city>{_CAPITAL_WORDS})\Z
    """,
    re.VERBOSE,
)
_ZIP_ALONE = re.compile(rf"{ZIP}-?")
_SAINT = re.compile(r"(?:St\.?|Saint|ST\.?|SAINT)[ ][A-Za-z]+'[sS]")
_GOES_TO = frozenset(
    words(
        """
        admitted readmitted transferred transfer referred sent brought taken discharged
        released presented
        """
    )
)
_SPLIT = frozenset({Label.HOSPITAL, Label.ORGANIZATION, Label.CITY})
_OF_HOSPITAL = frozenset(
    words("hospital hospitals hosp clinic clinics infirmary hospice")
)
_MEDICAL_CENTER = re.compile(r"medical[ ](?:center|centre|ctr)\Z", re.IGNORECASE)

_UNIT = (
    r"(?:apartment|apt|unit|flat|room|rm|suite|ste|lot|spot|space|bldg|building|blk)"
)
_FLOOR = r"(?:[0-9]{1,2}(?:st|nd|rd|th)[ ](?:floor|fl)|ground[ ]floor|[0-9]{1,2}/f)"
_NUMBER = r"\.?[ ]?[#]?[0-9]{1,4}[a-z]?"
_BEFORE_STREET = re.compile(
    rf"(?<![A-Za-z0-9])(?:{_FLOOR}|{_UNIT}{_NUMBER})(?:,[ ]?|[ ])\Z",
    re.IGNORECASE,
)
_AFTER_STREET = re.compile(
    rf"(?:,[ ]?|[ ])(?:{_FLOOR}|{_UNIT}(?:{_NUMBER}|[ ][a-z])|rear)"
    r"(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_AFTER_INSTITUTION = re.compile(
    rf"[ ](?:{'|'.join(sorted(load_list('institution_tails')))})(?![A-Za-z0-9'-])",
    re.IGNORECASE,
)
_REACH = 24

Part = tuple[Span, Label]


def parts_of(text: str, start: int, end: int, label: Label) -> Iterator[Part]:
    """Yield what a proposed place consists of; any other proposal as it is.

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the proposal.
        end: Of the proposal.
        label: What the tagger calls it.
    """
    if label is Label.STREET and _ZIP_ALONE.fullmatch(text, start, end):
        yield Span(start, end), Label.ZIP
        return
    if label not in _SPLIT:
        yield Span(start, end), label
        return
    found = _WITH_STATE.search(text, start, end)
    if found is not None and found.start() > start:
        end = found.start()
        yield Span(*found.span("state")), Label.STATE
        if found["city"]:
            yield Span(*found.span("city")), Label.CITY
        if found["zip"]:
            yield Span(*found.span("zip")), Label.ZIP
    within = _IN_TOWN.search(text, start, end)
    if within is not None:
        end = within.start("joint")
        yield Span(*within.span("city")), Label.CITY
    is_hospital = label is Label.CITY and _is_hospital(text, start, end)
    yield Span(start, end), Label.HOSPITAL if is_hospital else label


def whole_of(text: str, start: int, end: int, label: Label) -> tuple[int, int]:
    """Return where a proposed place begins and ends, with words that belong to it.

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the proposal.
        end: Of the proposal.
        label: What the tagger calls it.
    """
    if label in (Label.HOSPITAL, Label.ORGANIZATION):
        while found := _AFTER_INSTITUTION.match(text, end):
            if text[start].isupper() and not found[0][1].isupper():
                break
            end = found.end()
    elif label is Label.STREET:
        left = max(0, start - _REACH)
        if before := _BEFORE_STREET.search(text[left:start]):
            start = left + before.start()
        while after := _AFTER_STREET.match(text, end):
            end = after.end()
    return start, end


def _is_hospital(text: str, start: int, end: int) -> bool:
    """Return whether it is no town: "Mercy Hospital", "admitted to St. Luke's"."""
    value = text[start:end]
    last = value.rpartition(" ")[2].lower()
    if last in _OF_HOSPITAL or _MEDICAL_CENTER.search(value):
        return True
    if not _SAINT.fullmatch(value):
        return False
    left = context.before(text, start)
    return left.nearest == "at" or (
        left.nearest in {"to", "from"} and left.word(1) in _GOES_TO
    )
