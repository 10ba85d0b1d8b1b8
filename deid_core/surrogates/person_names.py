"""Realistic names, word by word, so that every part of a name stays that name.

"John Smith", "SMITH, JOHN", "Mr. Smith" and "J. Smith" become one person, on every note
of the patient, without anything being remembered: a word becomes the same word of the
same role, and all names with the same first letter get the same other first letter.
"""

from __future__ import annotations

import re

from ..detectors import fragments
from ..labels import Label
from ..lexicons import load_list
from .crosswalk import Crosswalk
from .name_pools import name_pools
from .people import NAME_WORD, Role, is_near
from .real import squeezed

_MOST_INITIALS = 3
_PARTICLES = frozenset(
    fragments.words(
        "al bin da de del della den der di dos du el ibn la las le los van von y zu"
    )
)
# What stands between names that were merged into one annotation.
_BETWEEN = frozenset(fragments.words("and at by for from in of or the to with"))
_PIECES = re.compile(rf"({NAME_WORD.pattern})")


def person_name(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another name: roles, gender, case, initials and titles as they were.

    None for what holds a digit, or if no name is free.
    """
    if any(map(str.isnumeric, text)):
        return None
    # Every second piece is a word, the others stand between.
    pieces = _PIECES.split(text)
    words = pieces[1::2]
    written = [_written(crosswalk, words, at) for at in range(len(words))]
    if None in written:
        return None
    for at, word in enumerate(written):
        pieces[2 * at + 1] = word or ""
        if not word:
            # A particle goes, and the space behind it.
            pieces[2 * at + 2] = ""
    return "".join(pieces)


def name_word(crosswalk: Crosswalk, word: str) -> str | None:
    """Return another name for one word, in compared form; None if none is free."""
    word = crosswalk.people.meant(word)
    role = role_of(crosswalk, word)
    pool = name_pools().like(role, word, initial_of(crosswalk, role, word[0]) or "")

    def is_free(candidate: str) -> bool:
        return (
            not is_near(candidate, word)
            and not crosswalk.people.is_near_any(candidate)
            and crosswalk.are_free_words(candidate)
        )

    return crosswalk.choose(role, word, pool, is_free)


def role_of(crosswalk: Crosswalk, word: str) -> Role:
    """Return which part of a name a word is: by the record, else by the lists."""
    known = crosswalk.people.roles.get(word)
    if known is not None:
        return known
    return Role.GIVEN if name_pools().is_given(word) else Role.FAMILY


def initial_of(crosswalk: Crosswalk, role: Role, letter: str) -> str | None:
    """Return the letter with which all names of that first letter begin instead."""
    letters = name_pools().letters[role]
    if crosswalk.options.keep_initials:
        return letter
    others = letters.replace(letter, "")
    at = crosswalk.draws.number(f"initial {role}", letter, below=len(others))
    return others[at]


def is_title(compared: str, *, is_known: bool) -> bool:
    """Return whether a word, in compared form, is a title and no one's name."""
    if compared in load_list("placeholders"):
        return True
    titles = load_list("honorifics") | load_list("doctor_titles")
    return compared in titles and not is_known


def in_case_of(like: str, word: str) -> str:
    """Return the word in the case of another: UPPER, lower or Title."""
    if like.islower():
        return word.lower()
    if like.isupper() and sum(map(str.isalpha, like)) > 1:
        return word.upper()
    return word[:1].upper() + word[1:]


def _written(crosswalk: Crosswalk, words: list[str], at: int) -> str | None:
    """Return what is written for one of the words; "" for nothing, None for failure."""
    word = words[at]
    compared = squeezed(word)
    if not compared:
        return None
    is_known = compared in crosswalk.people.roles
    if is_title(compared, is_known=is_known):
        return word
    if word in _BETWEEN and not is_known and at:
        return word
    if compared in _PARTICLES and at + 1 < len(words):
        return ""
    if len(compared) == 1 or (not is_known and _are_initials(word, compared)):
        return _initials(crosswalk, words, at, compared)
    other = name_word(crosswalk, compared)
    return other and in_case_of(word, other)


def _are_initials(word: str, compared: str) -> bool:
    if len(compared) > _MOST_INITIALS or not word.isupper():
        return False
    pools = name_pools()
    is_name = pools.is_given(compared) or compared in pools.family.get(compared[0], ())
    return not is_name


def _initials(
    crosswalk: Crosswalk, words: list[str], at: int, letters: str
) -> str | None:
    is_last = at == len(words) - 1
    ends_a_name = is_last and not _has_family_name(crosswalk, words[:at])
    written = ""
    for place, letter in enumerate(letters):
        is_family = ends_a_name and place == len(letters) - 1 and (at or place)
        role = Role.FAMILY if is_family else Role.GIVEN
        other = initial_of(crosswalk, role, letter)
        if other is None:
            return None
        written += other
    return in_case_of(words[at], written) if len(letters) == 1 else written.upper()


def _has_family_name(crosswalk: Crosswalk, words: list[str]) -> bool:
    compared = (squeezed(word) for word in words)
    return any(
        role_of(crosswalk, crosswalk.people.meant(word)) is Role.FAMILY
        for word in compared
        if len(word) > 1 and not is_title(word, is_known=False)
    )
