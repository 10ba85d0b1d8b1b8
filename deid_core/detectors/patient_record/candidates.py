"""Decide which candidates for names of the record are names in their context."""

from __future__ import annotations

from collections.abc import Set
from enum import IntEnum
from typing import NamedTuple

from deid_core.language.lexicons import is_vocabulary
from deid_core.language.lexicons.vocabulary import zipf
from deid_core.language.lexicons.word_classes import is_mere_word

from .context import (
    has_credential,
    has_cue,
    has_honorific,
    has_relation,
    is_capitalised_in_context,
    is_described,
    is_one_sentence,
    is_possessor,
    is_title_case,
    starts_sentence,
)
from .note import Note, Word

EXACT_SCORE = 0.99
NICKNAME_SCORE = 0.95
_JOINERS = " ,-'\u2019^_\n\u00a0"
_MAX_GAP = 3
_AUXILIARIES = frozenset(
    {"is", "was", "has", "had", "may", "can", "could", "will", "did", "does", "should"}
    | {"seen", "admitted", "discharged"}
)
# Two letters that begin a sentence before such a word, and are no name.
_SHORT_WORDS = frozenset({"as", "do", "he", "if", "in", "it", "no", "so", "we"})
# Robin 4.4, Rose 4.9; pain 5.0, young 5.5.
_RARE_ZIPF = 5.0


class Evidence(IntEnum):
    """The context that a word needs to count as a name."""

    NOTHING = 0
    CAPITAL = 1
    NEIGHBOUR = 2
    PARTICLE = 3
    REFUSED = 4


class Candidate(NamedTuple):
    """A word of the note that may be a name of the record.

    Args:
        word: Where.
        token: Compared form of the name that it is, or is near to; "" for an initial.
        persons: Bit set of those who bear that name.
        score: `EXACT_SCORE`, `NICKNAME_SCORE`, or how near it is.
        needs: What must be around it.
    """

    word: Word
    token: str
    persons: int
    score: float
    needs: Evidence

    def __repr__(self) -> str:
        return "Candidate()"

    @property
    def is_exact(self) -> bool:
        """True if it is written as in the record, case and diacritics aside."""
        return self.score == EXACT_SCORE


def accepted(
    note: Note, candidates: list[Candidate], doubled: Set[str]
) -> list[Candidate]:
    """Return the candidates that are names in their context.

    Args:
        note: The text.
        candidates: In order.
        doubled: Names that are given name and surname of one person.
    """
    is_name = [
        each.needs is Evidence.NOTHING or _is_name_alone(note, each)
        for each in candidates
    ]
    if all(is_name):
        return candidates
    # Forwards, then backwards: in "Will Jay Miller" the surname vouches for both.
    order = [*range(1, len(candidates)), *range(len(candidates) - 1)[::-1]]
    for step, index in enumerate(order):
        if is_name[index]:
            continue
        other = index - 1 if step < len(candidates) - 1 else index + 1
        one, candidate = candidates[other], candidates[index]
        is_twice = one.word.normal == candidate.word.normal
        if is_twice and candidate.token not in doubled:
            continue
        if _vouches(note, one, candidate, is_name=is_name[other]):
            is_name[index] = True
            is_name[other] = True
    sure = {
        each.token for each, stays in zip(candidates, is_name, strict=True) if stays
    }
    return [
        each
        for each, stays in zip(candidates, is_name, strict=True)
        if stays or (each.token in sure and _is_subject(note, each))
    ]


def _is_subject(note: Note, candidate: Candidate) -> bool:
    """Return whether a rarer word begins a sentence about who else is named here.

    "Robin may be reached", where Robin Day is named as well; no "Young is".  A name of
    two letters is none of the few words that may begin a sentence so.
    """
    word = candidate.word
    if not candidate.is_exact or candidate.needs is not Evidence.CAPITAL:
        return False
    gap, after = note.after(word.at)
    return (
        is_title_case(word.text)
        and not note.is_caseless
        and after is not None
        and gap == " "
        and after.text in _AUXILIARIES
        and (
            zipf(word.normal) < _RARE_ZIPF
            if len(word.text) > 2
            else word.normal not in _SHORT_WORDS
        )
    )


def _is_name_alone(note: Note, candidate: Candidate) -> bool:
    needs, word = candidate.needs, candidate.word
    if needs is Evidence.REFUSED:
        return False
    if has_honorific(note, word) or has_cue(note, word):
        return True
    if needs is Evidence.PARTICLE:
        return False
    if has_relation(note, word) or has_credential(note, word):
        return True
    return needs is Evidence.CAPITAL and (
        is_capitalised_in_context(note, word)
        or is_described(note, word)
        or is_possessor(note, word)
    )


def _vouches(
    note: Note, other: Candidate, candidate: Candidate, *, is_name: bool
) -> bool:
    """Return whether a neighbour of the same person says that this is a name, too.

    Two common words vouch for each other when both are exact, different and not small:
    "Will Young".  Small and capitalised words never vouch for each other ("John may"),
    but for what joins a surname ("de la Paz").
    """
    if Evidence.REFUSED in (candidate.needs, other.needs):
        return False
    if not other.persons & candidate.persons:
        return False
    is_same_case = other.word.text.islower() == candidate.word.text.islower()
    if not (is_same_case or candidate.needs is Evidence.PARTICLE or note.is_caseless):
        return False
    if not is_name and not _are_a_pair(note, other, candidate):
        return False
    if _may_open_a_phrase(candidate) and _is_phrase_between(note, other, candidate):
        return False
    return are_adjacent(note, other.word, candidate.word)


def _may_open_a_phrase(candidate: Candidate) -> bool:
    """Return whether it is written as a word that nobody bears as a name: "Call"."""
    return not candidate.is_exact and is_mere_word(candidate.word.normal)


def _is_phrase_between(note: Note, one: Candidate, other: Candidate) -> bool:
    """Return whether a line or a phrase ends between two words.

    A new one may begin with any word: "patient Ada Carr", and below "Call of 3 May".
    """
    left, right = sorted((one.word, other.word))
    between = note.text[left.end : right.start]
    return "\n" in between or " - " in between


def _are_a_pair(note: Note, one: Candidate, other: Candidate) -> bool:
    """Return whether two words that are no names alone are a name together.

    One may be misspelt: "Paty Hill" for Patty Hill, inside a sentence.
    """
    if Evidence.PARTICLE in (one.needs, other.needs):
        return False
    if note.is_caseless:
        return all(c.is_exact or not is_vocabulary(c.word.normal) for c in (one, other))
    if not (is_title_case(one.word.text) and is_title_case(other.word.text)):
        return one.is_exact and other.is_exact and not one.word.text.islower()
    if one.is_exact and other.is_exact:
        return True
    gap, before = note.before(min(one.word.at, other.word.at))
    return (
        (one.is_exact or other.is_exact)
        and before is not None
        and is_one_sentence(gap)
        and (before.text.islower() or starts_sentence(note, before))
    )


def are_adjacent(note: Note, one: Word, other: Word) -> bool:
    """Return whether only name punctuation, or one initial, separates two words."""
    left, right = (one, other) if one.at < other.at else (other, one)
    between = note.text[left.end : right.start]
    if len(between) > 6:
        return False
    if is_joint(between):
        return True
    letters = [each for each in between if each.isalpha()]
    return len(letters) == 1 and letters[0].isupper() and "\n" not in between


def is_joint(gap: str) -> bool:
    """Return whether what separates two words can be inside a name."""
    return len(gap) <= _MAX_GAP and not gap.strip(_JOINERS)
