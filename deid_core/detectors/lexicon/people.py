"""Names of people: given name and surname side by side, or one of them in context.

Patterns are written over the kinds of words (`lexicons.kinds`), so that a rule says
"a given name, then a surname", and the lists say which words these are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from deid_core.language import context
from deid_core.language.lexicons import load_list
from deid_core.language.lexicons.word_classes import WordClass
from deid_core.language.runs import (
    FIRST_WORD,
    INITIAL,
    LETTER,
    LINK,
    SUFFIX,
    Run,
    Token,
    any_of,
)


class Need(Enum):
    """What must stand around a name."""

    NOTHING = "nothing"
    """Not even a sentence around it; only no device behind it."""
    SENTENCE = "sentence"
    """A place inside a sentence, where a capital means a name; or a cue."""
    SUBJECT = "subject"
    """As the subject of a sentence; or a cue."""
    CUE = "cue"
    """A verb, a title or a description of a person."""


class Person(NamedTuple):
    """A name in a run.

    Args:
        start: In the run.
        end: Likewise.
        rule: For audit events.
        score: Confidence in ``[0, 1]``.
        need: What must stand around it.
    """

    start: int
    end: int
    rule: str
    score: float
    need: Need


_GIVEN = any_of(WordClass.GIVEN)
_WEAK_GIVEN = any_of(WordClass.WEAK_GIVEN, none_of=WordClass.DRUG)
_FAMILY = any_of(WordClass.FAMILY | WordClass.UNKNOWN, none_of=WordClass.DRUG)
_WEAK_FAMILY = any_of(WordClass.WEAK_FAMILY | WordClass.FAMILY, none_of=WordClass.DRUG)
_SURNAME = any_of(
    WordClass.FAMILY
    | WordClass.WEAK_FAMILY
    | WordClass.UNKNOWN
    | WordClass.GIVEN
    | WordClass.RARE,
    none_of=WordClass.DRUG,
)
_NO_WORD = any_of(
    WordClass.FAMILY | WordClass.UNKNOWN | WordClass.GIVEN,
    none_of=WordClass.DRUG | WordClass.WORD,
)
_ONLY_GIVEN = any_of(
    WordClass.GIVEN, none_of=WordClass.DRUG | WordClass.EPONYM | WordClass.CITY
)
_ONLY_FAMILY = any_of(
    WordClass.FAMILY,
    none_of=WordClass.DRUG | WordClass.EPONYM | WordClass.CITY | WordClass.WORD,
)
_ANY_NAME = any_of(
    WordClass.GIVEN
    | WordClass.WEAK_GIVEN
    | WordClass.FAMILY
    | WordClass.WEAK_FAMILY
    | WordClass.UNKNOWN
)
_TAKEN = " "
_MIDDLE = rf"(?:{INITIAL}|{LETTER}|{_GIVEN}|{_WEAK_GIVEN})"
_PARTICLES = rf"{LINK}{{0,2}}"
_TAIL = rf"(?:{_NO_WORD})?{SUFFIX}?"

_PATTERNS = (
    ("given_surname", 0.9, Need.NOTHING,
     rf"{_GIVEN}{_MIDDLE}{{0,2}}{_PARTICLES}{_FAMILY}{_TAIL}"),
    ("given_word_surname", 0.85, Need.NOTHING,
     rf"{_GIVEN}{_MIDDLE}{{0,2}}{_SURNAME}{_TAIL}"),
    ("word_given_surname", 0.8, Need.SENTENCE,
     rf"{_WEAK_GIVEN}{_MIDDLE}?(?:{_FAMILY}|{_WEAK_FAMILY}){SUFFIX}?"),
    ("given_initial", 0.85, Need.NOTHING, rf"{_GIVEN}{INITIAL}"),
    ("given_letter", 0.7, Need.SENTENCE, rf"{_ONLY_GIVEN}{LETTER}"),
    ("word_given_initial", 0.7, Need.SENTENCE, rf"{_WEAK_GIVEN}{INITIAL}"),
    ("initial_surname", 0.8, Need.NOTHING, rf"{INITIAL}{{1,2}}{_ONLY_FAMILY}{SUFFIX}?"),
    ("surname_given", 0.7, Need.SENTENCE, rf"{_ONLY_FAMILY}{_GIVEN}"),
    ("given", 0.7, Need.SENTENCE, _ONLY_GIVEN),
    ("surname_subject", 0.6, Need.SUBJECT, _ONLY_FAMILY),
    ("name", 0.6, Need.CUE, _ANY_NAME),
)  # fmt: skip
_HOLDS_NAME = re.compile(_ANY_NAME)
_COMPILED = tuple(
    (name, score, need, re.compile(pattern)) for name, score, need, pattern in _PATTERNS
)


def people_in(text: str, run: Run) -> Iterator[Person]:
    """Yield the names in a run; the earlier patterns take their words first."""
    codes = "".join(map(_code, run.tokens))
    if not _HOLDS_NAME.search(codes):
        return
    for name, score, need, pattern in _COMPILED:
        for found in list(pattern.finditer(codes)):
            first, last = found.span()
            tokens = run.tokens[first:last]
            if _is_possible(text, tokens, need):
                yield Person(tokens[0].start, tokens[-1].end, name, score, need)
                codes = codes[:first] + _TAKEN * (last - first) + codes[last:]


def _code(token: Token) -> str:
    """Return a token's code; "Ana and Luis Ruiz" are two, "Ana de la Cruz" is one."""
    is_between = token.code == LINK and token.form not in load_list("name_particles")
    return _TAKEN if is_between else token.code


def _is_possible(text: str, tokens: tuple[Token, ...], need: Need) -> bool:
    """Return whether words can be a name for all that the run itself says."""
    forms = [token.form for token in tokens]
    words = {*forms}
    if need is Need.NOTHING and all(each.kinds & WordClass.EPONYM for each in tokens):
        return False
    if tokens[0].kinds & WordClass.EPONYM and forms[-1] in context.clinical_terms():
        return False
    # "Moya Moya" is a disease; ABC stands for a name.
    if len(words) < len(forms) or load_list("placeholders").issuperset(words):
        return False
    if not text[tokens[0].start : tokens[-1].end].isupper():
        return True
    # In capitals a heading looks like a name: only what is nothing else counts.
    return len(tokens) > 1 and not any(
        each.code >= FIRST_WORD and each.kinds & WordClass.WORD for each in tokens
    )
