"""Names of the record in a note: exact, misspelt, and with their initials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

from ...lexicons import is_common_name, is_frequent, is_vocabulary, load_list
from .context import (
    has_cue,
    has_honorific,
    is_capitalised_in_context,
    is_described,
    is_eponym,
    is_title_case,
)
from .note import Note, Word
from .record import Names, NameToken

EXACT_SCORE = 0.99
_JOINERS = " ,-'\u2019^_\n\u00a0"
_BEFORE = " .'\u2019"
_AFTER = " ,."
_APOSTROPHES = frozenset("'\u2019")
_MAX_INITIALS = 3
_MAX_GAP = 3


class Evidence(IntEnum):
    """What a word needs around it to count as a name."""

    NOTHING = 0
    CAPITAL = 1
    NEIGHBOUR = 2
    REFUSED = 3


class Candidate(NamedTuple):
    """A word of the note that may be a name of the record.

    Args:
        word: Where.
        token: Compared form of the name that it is, or is near to; "" for an initial.
        persons: Bit set of those who bear that name.
        score: `EXACT_SCORE`, or how near it is.
        needs: What must stand around it.
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
        """Whether it is written as in the record, case and diacritics aside."""
        return self.score == EXACT_SCORE


class NameSearch:
    """The names of one record in one note.

    Args:
        note: Where to look.
        names: Whom to look for.
        threshold: See `KnownOptions`.

    Attributes:
        misspelt: The compared forms of the note that resemble a name.
    """

    __slots__ = ("_names", "_nearest", "_note", "misspelt")

    def __init__(self, note: Note, names: Names, threshold: float) -> None:
        self._note, self._names = note, names
        unknown = note.candidates - names.tokens.keys()
        self._nearest = misspelt(names.fuzzy, unknown, threshold)
        self.misspelt: Set[str] = self._nearest.keys()

    def accept(self, words: Iterable[Word]) -> list[Candidate]:
        """Return those of the located words that are names, initials included.

        Args:
            words: Hold all occurrences of the record's name tokens and ``misspelt``.
        """
        candidates = [each for word in words if (each := self._candidate(word))]
        return [
            each
            for name in _accept(self._note, candidates)
            for each in (*_initials(self._note, self._names, name), name)
        ]

    def _candidate(self, word: Word) -> Candidate | None:
        form, score = self._nearest.get(word.normal, (word.normal, EXACT_SCORE))
        token = self._names.tokens.get(form)
        if token is None:
            return None
        needs = _evidence(self._note, word, token)
        return Candidate(word, form, token.persons, score, needs)


def misspelt(
    tokens: tuple[str, ...], words: set[str], threshold: float
) -> dict[str, tuple[str, float]]:
    """Return the words that are near a token: word to (token, score).

    R = d / min(len(token), len(word)) < threshold, the score 1 - R.  Source: Ng and
    others, the NUS system, section 3.1, with one change: d counts a swap of two
    neighbouring letters once (optimal string alignment), so that "Jonh" is near "John".
    """
    if not tokens or not words:
        return {}
    forms = sorted(words)
    # d < threshold * len(token) follows from the definition and leaves few pairs.
    limits = np.array([threshold * len(token) for token in tokens])
    distances = process.cdist(
        tokens,
        forms,
        scorer=OSA.distance,
        score_cutoff=int(limits.max()),
        dtype=np.uint8,
    )
    nearest: dict[str, tuple[str, float]] = {}
    for row, column in np.argwhere(distances < limits[:, None]).tolist():
        token, form = tokens[row], forms[column]
        score = 1.0 - int(distances[row, column]) / min(len(token), len(form))
        if score > max(1.0 - threshold, nearest.get(form, ("", 0.0))[1]):
            nearest[form] = token, score
    return nearest


def _evidence(note: Note, word: Word, token: NameToken) -> Evidence:
    if is_eponym(note, word):
        return Evidence.REFUSED
    if word.normal != token.normal:
        return _evidence_if_misspelt(word, token)
    if len(word.text) == 2:
        return Evidence.CAPITAL if is_title_case(word.text) else Evidence.NEIGHBOUR
    if not token.is_ordinary:
        return Evidence.NOTHING
    # Small or frequent, it may be the word; "Cooper" at any place is the name.
    is_word = word.text.islower() or is_frequent(word.normal)
    return Evidence.CAPITAL if is_word else Evidence.NOTHING


def _evidence_if_misspelt(word: Word, token: NameToken) -> Evidence:
    if word.normal in load_list("eponyms") and not is_common_name(word.normal):
        return Evidence.NEIGHBOUR
    if is_vocabulary(word.normal):
        return Evidence.CAPITAL
    # "hesath" may be a misspelt word just as well; "Hesath" is the name Heath.
    is_word = token.is_ordinary and word.text.islower()
    return Evidence.CAPITAL if is_word else Evidence.NOTHING


def _accept(note: Note, candidates: list[Candidate]) -> list[Candidate]:
    accepted = [_stands_alone(note, each) for each in candidates]
    # Forwards, then backwards: in "Will Jay Miller" the surname vouches for both.
    order = [*range(1, len(candidates)), *range(len(candidates) - 1)[::-1]]
    for step, index in enumerate(order):
        other = index - 1 if step < len(candidates) - 1 else index + 1
        if not accepted[index] and _vouches(
            note, candidates[other], candidates[index], accepted=accepted[other]
        ):
            accepted[index] = True
            accepted[other] = True
    return [each for each, is_name in zip(candidates, accepted, strict=True) if is_name]


def _stands_alone(note: Note, candidate: Candidate) -> bool:
    word = candidate.word
    if candidate.needs is Evidence.NOTHING:
        return True
    if candidate.needs is not Evidence.REFUSED and (
        has_honorific(note, word) or has_cue(note, word)
    ):
        return True
    return candidate.needs is Evidence.CAPITAL and (
        is_capitalised_in_context(note, word) or is_described(note, word)
    )


def _vouches(
    note: Note, other: Candidate, candidate: Candidate, *, accepted: bool
) -> bool:
    """Return whether a neighbour of the same person says that this is a name, too.

    Two common words vouch for each other when both are exact, different and not small:
    "Will Young".  Small and capitalised words never vouch for each other ("John may").
    """
    if candidate.needs is Evidence.REFUSED or other.needs is Evidence.REFUSED:
        return False
    if (
        not other.persons & candidate.persons
        or other.word.normal == candidate.word.normal
    ):
        return False
    if other.word.text.islower() != candidate.word.text.islower():
        return False
    if not accepted and (
        other.word.text.islower() or not (other.is_exact and candidate.is_exact)
    ):
        return False
    return is_beside(note, other.word, candidate.word)


def is_beside(note: Note, one: Word, other: Word) -> bool:
    """Return whether only name punctuation, or one initial, stands between."""
    left, right = sorted((one, other))
    between = note.text[left.end : right.start]
    if len(between) > 6:
        return False
    if is_joint(between):
        return True
    letters = [each for each in between if each.isalpha()]
    return len(letters) == 1 and letters[0].isupper() and "\n" not in between


def is_joint(gap: str) -> bool:
    """Return whether what stands between two words can stand inside a name."""
    return len(gap) <= _MAX_GAP and not gap.strip(_JOINERS)


def _initials(note: Note, names: Names, name: Candidate) -> Iterator[Candidate]:
    start, end = name.word.start, name.word.end
    beside = note.text[max(0, start - 3) : start] + note.text[end : end + 3]
    if beside == beside.lower() and not _APOSTROPHES.intersection(beside):
        return
    letters = names.initials(name.persons, besides=name.token[0])
    words = (*_before(note, start, letters), *_after(note, end, letters))
    for word in words:
        yield Candidate(word, "", name.persons, name.score, Evidence.NEIGHBOUR)


def _before(note: Note, place: int, letters: frozenset[str]) -> Iterator[Word]:
    for _ in range(_MAX_INITIALS):
        gap, word = note.before(place)
        if word is None or not _are_initials(word, letters, gap, _BEFORE):
            return
        # Only "o'brien" has a small one.
        if word.text.islower() and gap not in _APOSTROPHES:
            return
        yield word
        place = word.start


def _after(note: Note, place: int, letters: frozenset[str]) -> Iterator[Word]:
    for _ in range(_MAX_INITIALS):
        gap, word = note.after(place)
        if word is None or not _are_initials(word, letters, gap, _AFTER):
            return
        # "Smith A&O", "Smith I think": behind a name these letters need their period.
        is_word = word.text in {"A", "I"}
        if is_word and note.after(word.end)[0][:1] not in {".", ","}:
            return
        if word.text.islower():
            return
        yield word
        place = word.end


def _are_initials(word: Word, letters: frozenset[str], gap: str, allowed: str) -> bool:
    return (
        len(word.text) <= _MAX_INITIALS
        and len(gap) <= 2
        and not gap.strip(allowed)
        and (word.text.isupper() or len(word.text) == 1)
        and letters.issuperset(word.normal)
    )
