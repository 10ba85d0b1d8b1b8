"""Initials: next to a name of the record, or alone after a cue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_uppercase

from deid_core.language.lexicons import is_ordinary, load_list

from .candidates import EXACT_SCORE, Candidate, Evidence
from .note import Note, Word
from .people import Names

_BEFORE = " .'\u2019"
_AFTER = " ,."
_APOSTROPHES = frozenset("'\u2019")
_BEGINNINGS = frozenset(" \t\n\u00a0(\"'[,:;.")
_CAPITALS = frozenset(ascii_uppercase)
_MAX_INITIALS = 3
_REACH = 24
# "J.S." is initials after all of these; "JS" can be an abbreviation after the first.
_CUE = re.compile(
    r"\b(?:(?:mr|mrs|ms|miss|dr)\.?|"
    r"(?:initials|patient|name|pt|client|dear|signed|by|with)\s?:?)\s*$",
    re.IGNORECASE,
)
_STRONG_CUE = re.compile(
    r"\b(?:(?:mr|mrs|ms|miss|dr)\.?|initials\s?:?|(?:patient|name|pt|signed|by)\s?:)\s*$",
    re.IGNORECASE,
)


def may_have_initials(note: Note, at: int) -> bool:
    """Return whether initials may be next to a word; cheap."""
    return (at > 0 and _may_be_initials(note.surface(at - 1))) or (
        at + 1 < len(note) and _may_be_initials(note.surface(at + 1))
    )


def adjacent_initials(note: Note, names: Names, name: Candidate) -> Iterator[Candidate]:
    """Yield the initials before and after a name: "J.Q. Smith, K"."""
    letters = names.initials(name.persons, left_out=name.token[:1])
    words = (*_before(note, name.word, letters), *_after(note, name.word, letters))
    for word in words:
        yield Candidate(word, "", name.persons, name.score, Evidence.NEIGHBOUR)


def _may_be_initials(surface: str) -> bool:
    return len(surface) <= _MAX_INITIALS and (surface.isupper() or len(surface) == 1)


def _before(note: Note, name: Word, letters: frozenset[str]) -> Iterator[Word]:
    at = name.at
    for _ in range(_MAX_INITIALS):
        gap, word = note.before(at)
        if word is None or not _are_initials(word, letters, gap, _BEFORE):
            return
        # Only "o'brien" has a small one.
        if word.text.islower() and gap not in _APOSTROPHES:
            return
        if not _begins(note, word.at, gap) or _is_word(name, word):
            return
        yield word
        at = word.at


def _begins(note: Note, at: int, gap: str) -> bool:
    """Return whether nothing before a letter makes it part of something else.

    Not so "H&P. Smith", "12 mg/L. Smith", "on 2 L. Smith", "T1A. Smith".
    """
    before = note.gap(at)
    if not at:
        return True
    if before[-1:] not in _BEGINNINGS:
        return False
    return not ("." in gap and not before.strip(" ") and note.form(at - 1).isdigit())


def _is_word(name: Word, initials: Word) -> bool:
    """Return whether capitals next to a name in capitals are a word: "IS SMITH"."""
    if initials.normal in load_list("honorifics"):
        return True
    return (
        len(initials.text) > 1 and name.text.isupper() and is_ordinary(initials.normal)
    )


def _after(note: Note, name: Word, letters: frozenset[str]) -> Iterator[Word]:
    at = name.at
    for _ in range(_MAX_INITIALS):
        gap, word = note.after(at)
        if word is None or not _are_initials(word, letters, gap, _AFTER):
            return
        behind = note.gap(word.at + 1)
        # "Smith A&O", "Smith I think": behind a name these letters need their period.
        if word.text in {"A", "I"} and behind[:1] not in {".", ","}:
            return
        if word.text.islower() or _is_word(name, word):
            return
        # "Smith T1": a digit goes on with it.
        if not behind and word.at + 1 < len(note):
            return
        yield word
        at = word.at


def _are_initials(word: Word, letters: frozenset[str], gap: str, allowed: str) -> bool:
    return (
        _may_be_initials(word.text)
        and len(gap) <= 2
        and not gap.strip(allowed)
        and letters.issuperset(word.normal)
    )


def initials_alone(note: Note, names: Names) -> Iterator[Candidate]:
    """Yield initials in place of a name: "patient J.S.", "initials: JS"."""
    initials = note.initials()
    if names.monograms.isdisjoint(initials) and len(initials & _CAPITALS) < 2:
        return
    for at, person in enumerate(names.persons):
        for letters in person.monograms:
            written = [letters] if letters in initials else []
            if initials.issuperset(letters):
                written += [".".join(letters) + ".", ". ".join(letters) + "."]
            for each in written:
                for word in _alone(note, each):
                    yield Candidate(word, "", 1 << at, EXACT_SCORE, Evidence.NEIGHBOUR)


def _alone(note: Note, written: str) -> Iterator[Word]:
    text = note.text
    cue = _CUE if "." in written else _STRONG_CUE
    start = text.find(written)
    while start >= 0:
        end = start + len(written)
        is_whole = not text[end : end + 1].isalnum()
        if is_whole and cue.search(text, max(0, start - _REACH), start):
            at = note.at(start)
            yield Word(at, start, end, written, written)
        start = text.find(written, end)
