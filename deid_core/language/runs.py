"""Runs of capitalised words: they hold the names of people, places and institutions.

A run is read once and remembered: most runs of clinical text ("HISTORY OF PRESENT
ILLNESS", "Chest") recur, and hold none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .lexicons import normal
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

_SAINTS = frozenset({"st", "saint", "mt", "mount", "ft", "fort"})
_SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv"})


class Token(NamedTuple):
    """One word of a run.

    Args:
        start: In the run.
        end: Likewise, without a possessive ``'s``.
        form: The compared form, its parts run together: ``obrien``, ``annemarie``.
        kinds: What the lexicons say.
        code: One character for all of it.
    """

    start: int
    end: int
    form: str
    kinds: int
    code: str

    def __repr__(self) -> str:
        return f"Token([{self.start}, {self.end}))"


@dataclass(frozen=True, slots=True)
class Run:
    """The words of a run, and the string of their codes."""

    tokens: tuple[Token, ...]
    codes: str

    @property
    def forms(self) -> list[str]:
        """The compared forms of its words."""
        return [token.form for token in self.tokens]


def runs_in(folded: str) -> Iterator[re.Match[str]]:
    """Return the runs of a folded text (`fragments.to_ascii`), left to right."""
    return _RUN.finditer(folded)


def read(text: str) -> Run:
    """Return the words of a run's text."""
    tokens = tuple(_token(each) for each in _TOKEN.finditer(text))
    return Run(tokens, "".join(token.code for token in tokens))


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


def _token(found: re.Match[str]) -> Token:
    text = found[0]
    start, end = found.span()
    if text.endswith("'s"):
        text, end = text[:-2], end - 2
    form = normal(text).replace("'", "").replace(".", "")
    kinds = _kinds(form)
    form = form.replace("-", "")
    code = _special(text, form) or chr(_BASE + kinds)
    return Token(start, end, form, kinds if ord(code) >= _BASE else NO_KIND, code)


def _special(text: str, form: str) -> str:
    """Return the code of a token that is no word, else an empty string."""
    if text[0].islower() or text == "&":
        return LINK
    if form in _SAINTS:
        return SAINT
    if form in _SUFFIXES:
        return SUFFIX
    if text.endswith(".") and len(form) < 3:
        return INITIAL
    return LETTER if len(form) == 1 else ""


def _kinds(form: str) -> int:
    """Return the kinds of a word; of parts with hyphens, what all of them are."""
    whole = word_classes(form.replace("-", ""))
    if "-" not in form:
        return whole
    parts = [word_classes(part) for part in form.split("-") if len(part) > 1]
    if not parts:
        return whole
    first = parts[0]
    for each in parts[1:]:
        first &= each | WordClass.UNKNOWN
    # "Smith-Kowalski", "Anne-Marie"; what is a word in any part is one ("Post-Op").
    words = WordClass.WORD if any(each & WordClass.WORD for each in parts) else NO_KIND
    return first | words
