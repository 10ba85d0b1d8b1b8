"""A tagger's names without the words around them that are none.  For English."""

from __future__ import annotations

import re
from functools import cache

from ..language.fragments import words
from ..language.lexicons import load_list, normal
from ..language.lexicons.word_classes import WordClass, word_classes
from ..language.text_cache import cached_by_text

_CACHE_SIZE = 16_384
WORD = re.compile(r"[A-Za-z](?:[A-Za-z]|'(?=[A-Za-z]))*")
"""A word of a name, in folded text."""
MAY_NAME = (
    WordClass.GIVEN
    | WordClass.WEAK_GIVEN
    | WordClass.FAMILY
    | WordClass.WEAK_FAMILY
    | WordClass.CITY
    | WordClass.TOWN
    | WordClass.UNKNOWN
)
"""What a word of a name is at least one of, as long as a list holds it."""
_OPENERS = frozenset(
    words(
        """
        the a an and but then now today yesterday also patient pt per when if since
        after before however his her their my our this that with by for from to on in
        at as so while both please thank thanks dear re cc name client caller specimen
        formerly telephone
        """
    )
)
_CLOSERS = frozenset(
    words(
        """
        dob mrn ssn id acct account age sex race phone tel fax md rn np pa pac crna dds
        phd
        """
    )
)
_NEVER_ALONE = _OPENERS | _CLOSERS
# Labels of a header's next field, where a colon follows.
_FIELDS = frozenset(
    words(
        """
        ward facility location room chart bed floor specialty speciality accession
        status admitted occupation employer
        """
    )
)
_BIRTH = re.compile(r"D\.?[ ]?O\.?[ ]?B(?![A-Za-z])", re.IGNORECASE)
_JOINTS = frozenset("&/")
# "Taken by Jane Roe": the name begins behind it; "Anh To Nguyen" is one name.
_LEADS = frozenset(words("by to from with"))


def without_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a name without the words around it that are none.

    "Formerly Kowalska" is Kowalska, "Jane Roe  DOB" Jane Roe.  Where nothing would be
    left, all stays.
    """
    found = [(form_of(each[0]), each) for each in WORD.finditer(text, start, end)]
    first = max(
        (n for n, each in enumerate(found, 1) if each[1][0] in _LEADS), default=0
    )
    last = len(found)
    if first == last:
        first = 0
    while first < last and _is_opener(text, *found[first]):
        first += 1
    while last > first and _is_closer(text, *found[last - 1]):
        last -= 1
    if first == last:
        return start, end
    is_closed = last < len(found)
    return found[first][1].start(), found[last - 1][1].end() if is_closed else end


def _is_opener(text: str, form: str, word: re.Match[str]) -> bool:
    """Return whether a word stands before a name and is no part of it."""
    if form in _every_opener():
        return True
    if len(form) == 1:
        # "H&P. Jane Roe", "12 mg/L. Jane Roe".
        start, end = word.span()
        return not _JOINTS.isdisjoint(
            text[max(0, start - 1) : start] + text[end : end + 1]
        )
    return _is_adverb(form)


@cache
def _every_opener() -> frozenset[str]:
    # Nobody is called Mother; Son is a name, too.
    return _OPENERS | (load_list("kin") - {"son"})


def is_no_name(form: str) -> bool:
    """Return whether a word is never a name that stands alone."""
    return form in _NEVER_ALONE or len(form) == 1 or _is_adverb(form)


def _is_adverb(form: str) -> bool:
    if not form.endswith("ly"):
        return False
    return word_classes(form) & (WordClass.WORD | MAY_NAME) == WordClass.WORD


def _is_closer(text: str, form: str, word: re.Match[str]) -> bool:
    """Return whether a word is the next field's label, a degree, or no name at all."""
    if _is_adverb(form):
        return True
    if word[0].islower() and len(form) > 3:
        return not word_classes(form) & MAY_NAME
    has_colon = text[word.end() : word.end() + 1] == ":"
    if (form in _FIELDS and has_colon) or _BIRTH.match(text, word.start()):
        return True
    is_degree = text[word.start() - 1 : word.start()] == "-" and len(form) == 1
    return is_degree or (form in _CLOSERS and (word[0].isupper() or has_colon))


@cached_by_text(_CACHE_SIZE)
def form_of(word: str) -> str:
    """Return a word in compared form, without a possessive."""
    return normal(word).removesuffix("'s").replace("'", "")
