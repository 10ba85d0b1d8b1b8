"""Names of the record in a note: exact, fuzzy, split, and with their initials."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from operator import attrgetter

from rapidfuzz.distance import OSA

from deid_core.language.context import is_measured
from deid_core.language.lexicons import (
    is_common_name,
    is_frequent,
    is_ordinary,
    is_vocabulary,
    load_list,
    normal,
)

from .candidates import (
    EXACT_SCORE,
    NICKNAME_SCORE,
    Candidate,
    Evidence,
    accepted,
    is_joint,
)
from .context import is_eponym, is_title_case
from .initials import adjacent_initials, initials_alone, may_have_initials
from .note import Note, Word, edges_of
from .people import Names
from .prefilter import Positions, Prefilter

_SHORTEST_FUZZY = 4
_SHORTEST_NAME = 3
_SPLITS = frozenset({" ", "-", "'", "\u2019", "' ", "\u2019 "})


class NameSearch:
    """The names of one record in one note.

    Args:
        note: Where to look.
        names: Of the record.
        threshold: See `PatientRecordOptions`.
        prefilter: Of the record.
        positions: The candidates in the note.
        keys: All words of the record.

    Attributes:
        fuzzy: The compared forms of the note that resemble a name.
    """

    __slots__ = (
        "_keys",
        "_names",
        "_nearest",
        "_note",
        "_pairs",
        "_threshold",
        "fuzzy",
    )

    def __init__(
        self,
        note: Note,
        names: Names,
        threshold: float,
        prefilter: Prefilter,
        positions: Positions,
        keys: Set[str],
    ) -> None:
        self._note, self._names, self._threshold = note, names, threshold
        self._keys = keys
        self._pairs = positions.pairs
        self._nearest = fuzzy_matches(
            {
                form: prefilter.tokens_of(int(positions.tokens[at]))
                for form, at in note.candidates(positions.near).items()
                if form not in names.keys
            },
            threshold,
        )
        self.fuzzy: Set[str] = self._nearest.keys()

    def accept(self, words: Iterable[Word]) -> list[Candidate]:
        """Return those of the located words that are names, initials included.

        Args:
            words: Hold all occurrences of the record's name tokens and ``fuzzy``.
        """
        note, names = self._note, self._names
        found = list(self._split())
        accepted_names = accepted(note, self._candidates(words), names.doubled)
        for name in accepted_names:
            if may_have_initials(note, name.word.at):
                found += adjacent_initials(note, names, name)
        if accepted_names and note.is_caseless:
            for name in accepted_names:
                found += self._adjacent_fuzzy(name)
        found += accepted_names
        found += initials_alone(note, names)
        return found

    def rejected(
        self, words: Iterable[Word], accepted_names: Iterable[Candidate]
    ) -> list[Candidate]:
        """Return the candidates that `accept` left out; no mere particles.

        Args:
            words: As for `accept`.
            accepted_names: What it returned for them.
        """
        kept = {each.word.start for each in accepted_names}
        return [
            each
            for each in self._candidates(words)
            if each.word.start not in kept and each.needs is not Evidence.PARTICLE
        ]

    def _candidates(self, words: Iterable[Word]) -> list[Candidate]:
        """Return whole words and parts of words that may be names, in order."""
        candidates = [each for word in words if (each := self._candidate(word))]
        glued = self._note.glued(self._names.tokens)
        if parts := [part for each in glued for part in self._parts(each)]:
            # A whole word comes behind its parts, and counts.
            candidates = sorted((*candidates, *parts), key=_span)
        return candidates

    def _candidate(self, word: Word) -> Candidate | None:
        names, form, score = self._names, word.normal, EXACT_SCORE
        if form not in names.tokens:
            if form in names.nicknames:
                needs = _evidence_if_nickname(self._note, word)
                return Candidate(
                    word, form, names.nicknames[form], NICKNAME_SCORE, needs
                )
            if form not in self._nearest:
                return None
            form, score = self._nearest[form]
        needs = _evidence(self._note, names, word, form)
        return Candidate(word, form, names.tokens[form], score, needs)

    def _parts(self, parts: Sequence[Word]) -> Iterator[Candidate]:
        """Yield what are names of a word whose parts are glued.

        With a name go words of the record, and with a sure one all that is no word:
        another name, or a place.
        """
        tokens, end = self._names.tokens, parts[-1].end
        names = [
            self._part(each, is_last=each.end == end)
            for each in parts
            if each.normal in tokens
        ]
        yield from names
        name = min(names, key=attrgetter("needs"))
        is_sure = name.needs is Evidence.NOTHING
        for each in parts:
            if each.normal not in tokens and self._may_be_known(each, is_sure=is_sure):
                yield name._replace(word=each, token="")

    def _may_be_known(self, part: Word, *, is_sure: bool) -> bool:
        """Return whether a part is no mere words, like "seenBy", "IVs"."""
        edges = edges_of(part.text)
        pieces = [normal(part.text[start:end]) for start, end in pairwise(edges)]
        if not self._keys.isdisjoint((part.normal, *pieces)):
            return True
        are_words = all(len(e) < _SHORTEST_NAME or is_vocabulary(e) for e in pieces)
        return is_sure and not (are_words or is_vocabulary(part.normal))

    def _part(self, part: Word, *, is_last: bool) -> Candidate:
        """Return a part; it needs another one where it may be something else."""
        form = part.normal
        needs = _evidence(self._note, self._names, part, form)
        if needs is Evidence.REFUSED and not is_last:
            # No eponym: its noun does not follow.
            needs = Evidence.NEIGHBOUR if is_ordinary(form) else Evidence.NOTHING
        elif needs is not Evidence.NOTHING:
            needs = max(needs, Evidence.NEIGHBOUR)
        return Candidate(part, form, self._names.tokens[form], EXACT_SCORE, needs)

    def _split(self) -> Iterator[Candidate]:
        """Yield the parts of names that are written as two words: "Mc Donald"."""
        note, parts = self._note, self._names.parts
        for at in self._pairs:
            name = note.form(at) + note.form(at + 1)
            if name in parts and self._is_split(at):
                persons = self._names.tokens[name]
                for place, token in ((at, ""), (at + 1, name)):
                    word = note.word(place)
                    yield Candidate(word, token, persons, EXACT_SCORE, Evidence.NOTHING)

    def _is_split(self, at: int) -> bool:
        note = self._note
        if note.gap(at + 1) not in _SPLITS:
            return False
        if note.is_caseless:
            return not all(map(is_frequent, note.forms(at, at + 2)))
        return note.surface(at)[0].isupper()

    def _adjacent_fuzzy(self, name: Candidate) -> Iterator[Candidate]:
        """Yield the words next to a name that resemble another part of that name.

        Where case says nothing, a misspelt name can be any word: "edit ills" for Edit
        Mills.
        """
        note, here = self._note, name.word.at
        for at, gap in ((here - 1, here), (here + 1, here + 1)):
            if 0 <= at < len(note) and is_joint(note.gap(gap)):
                form = note.form(at)
                # Its other neighbour may be the very name that it resembles.
                others = {name.token, *note.forms(at - 2, at + 3)}
                near = self._near(form, name.persons, others)
                if near:
                    token, score = near
                    persons = self._names.tokens[token]
                    word = note.word(at)
                    yield Candidate(word, token, persons, score, Evidence.NEIGHBOUR)

    def _near(
        self, form: str, persons: int, left_out: Set[str]
    ) -> tuple[str, float] | None:
        names = self._names
        if len(form) < _SHORTEST_FUZZY or form in names.tokens or is_frequent(form):
            return None
        others = [
            token
            for token in names.fuzzy
            if names.tokens[token] & persons and token not in left_out
        ]
        return nearest_of(others, form, self._threshold)


def _span(candidate: Candidate) -> tuple[int, int]:
    return candidate.word.start, candidate.word.end


def _evidence(note: Note, names: Names, word: Word, token: str) -> Evidence:
    if is_eponym(note, word) or is_measured(note.text, word.start, word.end):
        return Evidence.REFUSED
    if token in names.particles:
        return Evidence.PARTICLE
    # "Máté" is no mate, and "Vũ" no abbreviation.
    if not word.text.isascii():
        return Evidence.NOTHING
    if word.normal != token:
        return _evidence_if_fuzzy(word, token)
    if len(word.text) == 2:
        return Evidence.CAPITAL if is_title_case(word.text) else Evidence.NEIGHBOUR
    if not is_ordinary(token):
        return Evidence.NOTHING
    # Small or frequent, it may be the word; "Cooper" at any place is the name.
    is_word = word.text.islower() or is_frequent(word.normal)
    return Evidence.CAPITAL if is_word else Evidence.NOTHING


def _evidence_if_nickname(note: Note, word: Word) -> Evidence:
    if is_eponym(note, word):
        return Evidence.REFUSED
    if len(word.text) == 2 or is_vocabulary(word.normal):
        return Evidence.CAPITAL
    return Evidence.NOTHING


def _evidence_if_fuzzy(word: Word, token: str) -> Evidence:
    if word.normal in load_list("eponyms") and not is_common_name(word.normal):
        return Evidence.NEIGHBOUR
    if is_vocabulary(word.normal):
        return Evidence.CAPITAL
    # "hesath" may as well be a misspelt word; "Hesath" is the name Heath.
    is_word = word.text.islower() and is_ordinary(token)
    return Evidence.CAPITAL if is_word else Evidence.NOTHING


def fuzzy_matches(
    words: Mapping[str, Collection[str]], threshold: float
) -> dict[str, tuple[str, float]]:
    """Return the words that are near one of their tokens: word to (token, score).

    R = d / min(len(token), len(word)) < threshold, the score 1 - R.  Source: Ng and
    others, the NUS system, section 3.1, with one change: d counts a swap of two
    neighbouring letters once (optimal string alignment), so that "Jonh" is near "John".
    """
    nearest = (
        (word, nearest_of(tokens, word, threshold)) for word, tokens in words.items()
    )
    return {word: found for word, found in nearest if found}


def nearest_of(
    tokens: Collection[str], word: str, threshold: float
) -> tuple[str, float] | None:
    """Return the token that one word is nearest to, and the score; None if too far."""
    best: tuple[str, float] | None = None
    most = threshold * len(word)
    for token in tokens:
        # As many edits as the lengths differ by, at the least.
        if abs(len(token) - len(word)) > most:
            continue
        shorter = min(len(token), len(word))
        distance = OSA.distance(token, word, score_cutoff=int(threshold * shorter))
        score = 1.0 - distance / shorter
        if score > max(1.0 - threshold, best[1] if best else 0.0):
            best = token, score
    return best
