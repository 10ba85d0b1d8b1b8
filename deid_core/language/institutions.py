"""Hospitals, practices and other bodies: by their last word, or by a known name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from deid_core.labels import Label

from .lexicons import forms_of, load_list
from .lexicons.places import Phrases, by_first_word, city_phrases, longest
from .lexicons.word_classes import WordClass
from .runs import LINK, SAINT, Run, Token

HEADS = load_list("institution_heads")
# "Sunrise Manor", "Orlando Health": only after what is a name and nothing else.
WEAK_HEADS = load_list("weak_institution_heads")
_BODY_HEADS = load_list("organization_heads")
_ALL_HEADS = HEADS | WEAK_HEADS | _BODY_HEADS
_GOES_ON = (
    HEADS
    | WEAK_HEADS
    | frozenset({"care", "system", "systems", "network", "services", "group", "campus"})
)
_KNOWN_BY_PLACE = frozenset({"general", "county", "city", "university", "memorial"})
_BY_PLACE_HEADS = HEADS | {"general", "memorial"}
_OPENERS = load_list("institution_openers")
_NO_CLINIC = load_list("generic_institution_words")
_NAME = (
    WordClass.GIVEN
    | WordClass.WEAK_GIVEN
    | WordClass.FAMILY
    | WordClass.WEAK_FAMILY
    | WordClass.UNKNOWN
)
_PLACE = WordClass.CITY | WordClass.TOWN


class Institution(NamedTuple):
    """A hospital, practice, firm, school in a run.

    Args:
        start: In the run.
        end: In the run.
        label: HOSPITAL or ORGANIZATION.
        rule: For audit events.
        score: Confidence in ``[0, 1]``.
        needs_cue: Only after "at", "from" and the like.
    """

    start: int
    end: int
    label: Label
    rule: str
    score: float
    needs_cue: bool


def institutions_in(run: Run) -> Iterator[Institution]:
    """Yield the institutions in a run; they may overlap."""
    forms, telling = run.forms, _telling_words()
    for at, token in enumerate(run.tokens):
        if token.code == LINK or token.form not in telling:
            continue
        yield from _by_known_name(run, forms, at)
        if token.form in _ALL_HEADS:
            yield from _by_head(run, at)
    yield from _by_saint(run)


def may_hold_institution(run: Run) -> bool:
    """Return False for most runs without an institution."""
    return SAINT in run.codes or not _telling_words().isdisjoint(run.forms)


@cache
def _telling_words() -> frozenset[str]:
    """Return the heads, and the words that a known name begins with."""
    return _ALL_HEADS.union(*(phrases for phrases, _, _ in _known_names()))


def is_own_name(forms: set[str]) -> bool:
    """Return whether words in compared form name one institution, not a kind."""
    return not _kind_words().issuperset(forms)


@cache
def _kind_words() -> frozenset[str]:
    return load_list("institution_words") | HEADS | _NO_CLINIC | _OPENERS


def is_generic(run: Run) -> bool:
    """Return whether a run's words all name kinds of care: "Physical Therapy"."""
    generic = _generic_words()
    return all(token.code == LINK or token.form in generic for token in run.tokens)


@cache
def _generic_words() -> frozenset[str]:
    return load_list("institution_words") | _OPENERS | _NO_CLINIC | _BODY_HEADS


def _by_known_name(run: Run, forms: list[str], at: int) -> Iterator[Institution]:
    for phrases, label, rule in _known_names():
        count = longest(phrases, forms, at)
        if count:
            first, last = run.tokens[at], run.tokens[at + count - 1]
            is_one = count == 1 and first.kinds & (_NAME | _PLACE | WordClass.WORD)
            is_sure = not is_one and rule != "hospital_listed"
            score = 0.85 if is_sure else 0.6
            yield Institution(first.start, last.end, label, rule, score, not is_sure)


@cache
def _known_names() -> tuple[tuple[Phrases, Label, str], ...]:
    brands, listed = load_list("hospital_brands"), load_list("hospitals")
    return (
        (_phrases(brands), Label.HOSPITAL, "hospital_known"),
        (_phrases(listed - brands), Label.HOSPITAL, "hospital_listed"),
        (
            _phrases(load_list("organizations")),
            Label.ORGANIZATION,
            "organization_known",
        ),
    )


def _phrases(names: frozenset[str]) -> Phrases:
    every = {forms_of(name) for name in names}
    # "AT T12" is no "AT&T".
    every = {forms for forms in every if max(map(len, forms), default=0) > 2}
    # A hyphenated word is one token in a run: "Cedars-Sinai".
    every |= {("".join(words),) for words in every if len(words) == 2}
    return by_first_word(every)


def _by_head(run: Run, at: int) -> Iterator[Institution]:
    head = run.tokens[at]
    start = _first_of_name(run, at)
    own = [each for each in run.tokens[start:at] if _is_own(each)]
    forms = {token.form for token in run.tokens[start:at]}
    if forms & _KNOWN_BY_PLACE and len(forms) == 1 and head.form in _BY_PLACE_HEADS:
        yield _institution(run, start, at, head, 0.75)
        return
    # "Children's Hospital" may be any; "Children's Hospital Boston" is one.
    if (
        forms == {"children"}
        and head.form in HEADS
        and _with_place(run, at + 1) > at + 1
    ):
        yield _institution(run, start, at, head, 0.8)
        return
    if not own:
        return
    named = any(_is_named(each) for each in own)
    if head.form in WEAK_HEADS and not named:
        return
    sure = named or head.form in HEADS
    yield _institution(run, start, at, head, 0.85 if sure else 0.7)


def _institution(
    run: Run, start: int, at: int, head: Token, score: float
) -> Institution:
    label = Label.ORGANIZATION if head.form in _BODY_HEADS else Label.HOSPITAL
    rule = "organization_noun" if head.form in _BODY_HEADS else "hospital_noun"
    end = _with_place(run, at + 1)
    return Institution(
        run.tokens[start].start, run.tokens[end - 1].end, label, rule, score, False
    )


def _with_place(run: Run, at: int) -> int:
    """Return where an institution's words end: "Children's Hospital Los Angeles"."""
    while at < len(run.tokens) and run.tokens[at].form in _GOES_ON:
        at += 1
    if at >= len(run.tokens):
        return at
    count = longest(city_phrases(), run.forms, at)
    if count:
        return at + count
    token = run.tokens[at]
    if token.code == LINK and at + 1 < len(run.tokens) and token.form in {"at", "of"}:
        return len(run.tokens)
    return at + 1 if token.kinds & _PLACE and not token.kinds & WordClass.GIVEN else at


def _first_of_name(run: Run, at: int) -> int:
    # "Jane Roe at Mercy Hospital" is two names, "Bank of Ohio" one.
    start = max((n + 1 for n in range(at) if run.tokens[n].form == "at"), default=0)
    while start < at and (
        run.tokens[start].form in _OPENERS or run.tokens[start].code == LINK
    ):
        start += 1
    return start


def _is_own(token: Token) -> bool:
    """Return whether a word belongs to the name of one institution, not to its kind."""
    if token.code == SAINT:
        return True
    if token.code == LINK or len(token.form) < 2:
        return False
    if token.form in load_list("institution_words") or token.form in _NO_CLINIC:
        return False
    return not token.kinds & WordClass.DRUG and token.form not in HEADS


def _is_named(token: Token) -> bool:
    return token.code == SAINT or bool(token.kinds & (_NAME | _PLACE))


def _by_saint(run: Run) -> Iterator[Institution]:
    tokens = run.tokens
    for at, token in enumerate(tokens[:-1]):
        following = tokens[at + 1]
        if token.code == SAINT and following.kinds & _NAME:
            yield Institution(
                token.start, following.end, Label.HOSPITAL, "hospital_saint",
                0.65, needs_cue=True,
            )  # fmt: skip
