"""Runs of capitalised words: they hold the names of people, places and institutions.

A run is read once and remembered: most runs of clinical text ("HISTORY OF PRESENT
ILLNESS", "Chest") recur, and hold none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from .lexicons.word_classes import KINDS, NO_KIND, WordClass, word_classes

# Only these carry a period inside a run: "St. Mary", "J. Smith", "Baylor Med. Center".
# The capital first, then what it may begin: most characters fail at once.
_REST_OF_DOTTED = (
    r"(?:t(?<=[SMF]t)|ed(?<=Med)|niv(?<=Univ)|osp(?<=Hosp)|tr(?<=Ctr)|r(?<=[JS]r)"
    r"|(?:\.[A-Z])*(?!\.[A-Z]))\."
)
_REST = rf"(?:{_REST_OF_DOTTED}|[A-Za-z]*+(?:['-][A-Za-z]++)*(?!['-][A-Za-z]))"
_LINK = r"(?:of|and|the|at|for|de|del|de[ ]la|la|van|von|der|den|bin|al|da|dos|du|&)"
_RUN = re.compile(
    rf"""
    [A-Z](?<![A-Za-z0-9'][A-Z])(?<![&/][A-Z](?=[.])){_REST}
    (?:(?:[ ]{{1,2}}(?:{_LINK}[ ]){{0,2}}|(?<=\.))[A-Z]{_REST}){{0,11}}
    """,
    re.VERBOSE,
)
_TOKEN = re.compile(rf"[A-Z]{_REST}|[a-z&]+")

# One code point for each mixture of kinds, so that patterns can be written over words.
_BASE = 0x4E00
FIRST_WORD = chr(_BASE)
"""Codes from here on are of words, those below of other tokens."""

_ALL = sum(KINDS.values())

INITIAL, LETTER, LINK, SAINT, SUFFIX = "I", "i", "l", "S", "J"
"""The codes of tokens that are no words: J. / J / of / St. / Jr."""

_ABBREVIATIONS = {
    **dict.fromkeys(("st", "saint", "mt", "mount", "ft", "fort"), SAINT),
    **dict.fromkeys(("jr", "sr", "ii", "iii", "iv"), SUFFIX),
}


class Word(NamedTuple):
    """A word of any run.

    Args:
        form: The compared form, its parts run together: ``obrien``, ``annemarie``.
        kinds: What the lexicons say.
        code: One character for all of it.
    """

    form: str
    kinds: int
    code: str

    def __repr__(self) -> str:
        return "Word()"


class Token(NamedTuple):
    """A `Word` at its place in a run.

    Args:
        start: In the run.
        end: In the run, without a possessive ``'s``.
        form: See `Word`.
        kinds: See `Word`.
        code: See `Word`.
    """

    start: int
    end: int
    form: str
    kinds: int
    code: str

    def __repr__(self) -> str:
        return f"Token([{self.start}, {self.end}))"


class Run(NamedTuple):
    """The words of a run.

    Args:
        tokens: From left to right.
        forms: Of each.
        codes: Of all, as one string.
        kinds: What any of them is.
    """

    tokens: tuple[Token, ...]
    forms: list[str]
    codes: str
    kinds: int

    def __repr__(self) -> str:
        return f"Run({len(self.tokens)} words)"


def runs_in(folded: str) -> Iterator[re.Match[str]]:
    """Return the runs of a folded text (`fragments.to_ascii`), left to right."""
    return _RUN.finditer(folded)


def read(text: str, words: Mapping[str, Word]) -> Run:
    """Return the words of a run's text.

    Args:
        text: Of the run.
        words: Each word, by its text without a possessive; see `word_of`.
    """
    if text.isalpha():  # most runs are one word
        form, kinds, code = words[text]
        return Run((Token(0, len(text), form, kinds, code),), [form], code, kinds)
    tokens = tuple([_token(each, words) for each in _TOKEN.finditer(text)])
    kinds = NO_KIND
    for each in tokens:
        kinds |= each.kinds
    return Run(
        tokens,
        [each.form for each in tokens],
        "".join([each.code for each in tokens]),
        kinds,
    )


def _token(found: re.Match[str], words: Mapping[str, Word]) -> Token:
    text = found[0]
    start, end = found.span()
    if text.endswith("'s"):
        text, end = text[:-2], end - 2
    return Token(start, end, *words[text])


def word_of(text: str) -> Word:
    """Return what is known of a word of a run."""
    form = bare = text.lower()
    if not text.isalpha():
        form = form.replace("'", "").replace(".", "")
        bare = form.replace("-", "")
    code = _special(text, bare)
    if code:
        return Word(bare, NO_KIND, code)
    kinds = _kinds_of_parts(form) if "-" in form else word_classes(bare)
    return Word(bare, kinds, chr(_BASE + kinds))


def any_word_of(kinds: int, *, none_of: int = NO_KIND) -> str:
    """Return a pattern for one word of any of the kinds, and of none of the others."""
    codes = (
        chr(_BASE + each)
        for each in range(_ALL + 1)
        if each & kinds and not each & none_of
    )
    return f"[{_ranges(codes)}]"


def _ranges(codes: Iterable[str]) -> str:
    """Return the codes as ranges: a set of hundreds of characters compiles slowly."""
    ranges: list[list[int]] = []
    for code in sorted(map(ord, codes)):
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def _special(text: str, form: str) -> str:
    """Return the code of a token that is no word, else an empty string."""
    if text[0].islower() or text == "&":
        return LINK
    if len(form) < 3 and text.endswith(".") and form not in _ABBREVIATIONS:
        return INITIAL
    return LETTER if len(form) == 1 else _ABBREVIATIONS.get(form, "")


def _kinds_of_parts(form: str) -> int:
    """Return the kinds of a word with hyphens: what all of its parts are."""
    parts = [word_classes(part) for part in form.split("-") if len(part) > 1]
    if not parts:
        return word_classes(form.replace("-", ""))
    first = parts[0]
    for each in parts[1:]:
        first &= each | WordClass.UNKNOWN
    # "Smith-Kowalski", "Anne-Marie"; what is a word in any part is one ("Post-Op").
    words = WordClass.WORD if any(each & WordClass.WORD for each in parts) else NO_KIND
    return first | words
