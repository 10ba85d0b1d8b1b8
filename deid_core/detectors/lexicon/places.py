"""Towns and states in a run: with a cue, and large towns without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from deid_core.labels import Label
from deid_core.language.lexicons.places import city_phrases, longest
from deid_core.language.lexicons.word_classes import (
    WordClass,
    is_state,
    may_begin_state,
)
from deid_core.language.runs import LINK, Run

_NAME = WordClass.GIVEN | WordClass.FAMILY


class Place(NamedTuple):
    """A town or state in a run.

    Args:
        start: In the run.
        end: Likewise.
        label: CITY or STATE.
        rule: For audit events.
        score: Confidence in ``[0, 1]``.
        needs_cue: Only after "in", "from" and the like, or beside another place.
        is_rare: It is no other word and hardly a name: "in" before it is enough.
        follows_given: A given name or an initial stands before it: what looks like a
            state behind it may be a degree, "Lucy A. Ashton, MD".
    """

    start: int
    end: int
    label: Label
    rule: str
    score: float
    needs_cue: bool
    is_rare: bool = False
    follows_given: bool = False


def places_in(run: Run) -> Iterator[Place]:
    """Yield the towns and states in a run."""
    forms = run.forms
    at = 0
    while at < len(run.tokens):
        count = 0 if run.tokens[at].code == LINK else longest(city_phrases(), forms, at)
        if count:
            yield _place(run, at, count, "city", 0.8, needs_cue=False)
        elif run.tokens[at].kinds & (WordClass.CITY | WordClass.TOWN):
            count = 1
            yield _town(run, at)
        at += max(count, 1)
    yield from _states(run, forms)


def _follows_given(run: Run, at: int) -> bool:
    """Return whether a given name or an initial stands before a word."""
    if at == 0:
        return False
    previous = run.tokens[at - 1]
    return bool(previous.kinds & WordClass.GIVEN) or len(previous.form) == 1


def _town(run: Run, at: int) -> Place:
    kinds = run.tokens[at].kinds
    # "Boston" stands alone; "Jackson" may be a man.
    is_sure = kinds & WordClass.CITY and not kinds & (_NAME | WordClass.EPONYM)
    if is_sure:
        return _place(run, at, 1, "city", 0.7, needs_cue=False)
    is_rare = not kinds & (
        WordClass.GIVEN | WordClass.WORD | WordClass.EPONYM | WordClass.DRUG
    )
    town = _place(run, at, 1, "town", 0.55, needs_cue=True)
    return town._replace(is_rare=is_rare, follows_given=_follows_given(run, at))


def _place(
    run: Run, at: int, count: int, rule: str, score: float, *, needs_cue: bool
) -> Place:
    first, last = run.tokens[at], run.tokens[at + count - 1]
    return Place(first.start, last.end, Label.CITY, rule, score, needs_cue)


def _states(run: Run, forms: list[str]) -> Iterator[Place]:
    for at, form in enumerate(forms):
        if not may_begin_state(form):
            continue
        for count in (2, 1):
            words = tuple(forms[at : at + count])
            if len(words) == count and is_state(words):
                first, last = run.tokens[at], run.tokens[at + count - 1]
                yield Place(first.start, last.end, Label.STATE, "state", 0.7, True)
                break
