"""Names, places and institutions that the lexicons hold and the context confirms.

A note's runs of capitalised words are read once; what a run may be is remembered, and
only the few that may be something are looked at in their context.  Rules with a title,
a label or a suffix are elsewhere (`rules`); this finds "Camila reports", "treated at
Cedar Crest", "moved here from Tacoma".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import NamedTuple

from deid_core.document import Annotation, Document, Span
from deid_core.labels import Label
from deid_core.language import context
from deid_core.language.context import Evidence
from deid_core.language.institutions import (
    Institution,
    institutions_in,
    is_generic,
    may_hold_institution,
)
from deid_core.language.lexicons import load_list
from deid_core.language.lexicons.places import city_phrases, longest, states
from deid_core.language.lexicons.word_classes import (
    WordClass,
    is_state,
    may_begin_state,
)
from deid_core.language.runs import (
    FIRST_WORD,
    INITIAL,
    LETTER,
    LINK,
    SUFFIX,
    Run,
    Token,
    Word,
    any_word_of,
    read,
    runs_in,
    word_of,
)
from deid_core.runtime.options import Options
from deid_core.runtime.text_cache import TextCache

from .name_edges import before_terms, is_sign_or_device
from .overhang import trimmed


class LexiconOptions(Options):
    """Options of the table ``[lexicon]`` in a preset."""

    bare_names: bool = True
    """Whether its capital inside a sentence makes a given name one, "a call to Anna";
    a trained tagger reads these better."""


# Names: given name and surname together, or one of them in context.  The patterns are
# over word classes, "a given name, then a surname": the lists say which words these
# are.


class NameInRun(NamedTuple):
    """A name in a run.

    Args:
        start: In the run.
        end: In the run.
        rule: For audit events.
        score: Confidence in ``[0, 1]``.
        evidence: What the context must show.
    """

    start: int
    end: int
    rule: str
    score: float
    evidence: Evidence


_GIVEN = any_word_of(WordClass.GIVEN)
_WEAK_GIVEN = any_word_of(WordClass.WEAK_GIVEN, none_of=WordClass.DRUG)
_FAMILY = any_word_of(WordClass.FAMILY | WordClass.UNKNOWN, none_of=WordClass.DRUG)
_WEAK_FAMILY = any_word_of(
    WordClass.WEAK_FAMILY | WordClass.FAMILY, none_of=WordClass.DRUG
)
_SURNAME = any_word_of(
    WordClass.FAMILY
    | WordClass.WEAK_FAMILY
    | WordClass.UNKNOWN
    | WordClass.GIVEN
    | WordClass.RARE,
    none_of=WordClass.DRUG,
)
_NO_WORD = any_word_of(
    WordClass.FAMILY | WordClass.UNKNOWN | WordClass.GIVEN,
    none_of=WordClass.DRUG | WordClass.WORD,
)
_ONLY_GIVEN = any_word_of(
    WordClass.GIVEN, none_of=WordClass.DRUG | WordClass.EPONYM | WordClass.CITY
)
_ONLY_FAMILY = any_word_of(
    WordClass.FAMILY,
    none_of=WordClass.DRUG | WordClass.EPONYM | WordClass.CITY | WordClass.WORD,
)
_ANY_NAME_KIND = (
    WordClass.GIVEN
    | WordClass.WEAK_GIVEN
    | WordClass.FAMILY
    | WordClass.WEAK_FAMILY
    | WordClass.UNKNOWN
)
_ANY_NAME = any_word_of(_ANY_NAME_KIND)
_TAKEN = " "
_MOST_CODES = 4_096
_MIDDLE = rf"(?:{INITIAL}|{LETTER}|{_GIVEN}|{_WEAK_GIVEN})"
_PARTICLES = rf"{LINK}{{0,2}}"
_TAIL = rf"(?:{_NO_WORD})?{SUFFIX}?"

_PATTERNS = (
    ("given_surname", 0.9, Evidence.NOTHING,
     rf"{_GIVEN}{_MIDDLE}{{0,2}}{_PARTICLES}{_FAMILY}{_TAIL}"),
    ("given_word_surname", 0.85, Evidence.NOTHING,
     rf"{_GIVEN}{_MIDDLE}{{0,2}}{_SURNAME}{_TAIL}"),
    ("word_given_surname", 0.8, Evidence.SENTENCE,
     rf"{_WEAK_GIVEN}{_MIDDLE}?(?:{_FAMILY}|{_WEAK_FAMILY}){SUFFIX}?"),
    ("given_initial", 0.85, Evidence.NOTHING, rf"{_GIVEN}{INITIAL}"),
    ("given_letter", 0.7, Evidence.SENTENCE, rf"{_ONLY_GIVEN}{LETTER}"),
    ("word_given_initial", 0.7, Evidence.SENTENCE, rf"{_WEAK_GIVEN}{INITIAL}"),
    ("initial_surname", 0.8, Evidence.NOTHING,
     rf"{INITIAL}{{1,2}}{_ONLY_FAMILY}{SUFFIX}?"),
    ("surname_given", 0.7, Evidence.SENTENCE, rf"{_ONLY_FAMILY}{_GIVEN}"),
    ("given", 0.7, Evidence.SENTENCE, _ONLY_GIVEN),
    ("surname_subject", 0.6, Evidence.SUBJECT, _ONLY_FAMILY),
    ("name", 0.6, Evidence.CUE, _ANY_NAME),
)  # fmt: skip
_Pattern = tuple[str, float, Evidence, re.Pattern[str]]
_COMPILED: tuple[_Pattern, ...] = tuple(
    (name, score, evidence, re.compile(pattern))
    for name, score, evidence, pattern in _PATTERNS
)


def _names_in(text: str, run: Run) -> Iterator[NameInRun]:
    """Yield the names in a run; earlier patterns take their words first."""
    codes = "".join(map(_code, run.tokens)) if LINK in run.codes else run.codes
    for name, score, evidence, pattern in _patterns_for(codes):
        for found in list(pattern.finditer(codes)):
            first, last = found.span()
            tokens = run.tokens[first:last]
            if _is_possible(text, tokens, evidence):
                yield NameInRun(tokens[0].start, tokens[-1].end, name, score, evidence)
                codes = codes[:first] + _TAKEN * (last - first) + codes[last:]


# By what kinds of words a run has, not by the words.
@lru_cache(maxsize=_MOST_CODES)
def _patterns_for(codes: str) -> tuple[_Pattern, ...]:
    """Return the patterns that may match: what is taken makes no new matches."""
    return tuple(each for each in _COMPILED if each[3].search(codes))


def _code(token: Token) -> str:
    """Return a token's code; "Ana and Luis Ruiz" are two, "Ana de la Cruz" is one."""
    is_between = token.code == LINK and token.form not in load_list("name_particles")
    return _TAKEN if is_between else token.code


def _is_possible(text: str, tokens: tuple[Token, ...], evidence: Evidence) -> bool:
    """Return whether words can be a name, judged by the run alone."""
    forms = [token.form for token in tokens]
    words = {*forms}
    if evidence is Evidence.NOTHING and all(
        each.kinds & WordClass.EPONYM for each in tokens
    ):
        return False
    if tokens[0].kinds & WordClass.EPONYM and forms[-1] in load_list("clinical_terms"):
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


# Towns and states: with a cue, and large towns without one.

_FOREMOST_NAME = WordClass.GIVEN | WordClass.FAMILY
_TOWN = WordClass.CITY | WordClass.TOWN


class PlaceInRun(NamedTuple):
    """A town or state in a run.

    Args:
        start: In the run.
        end: In the run.
        label: CITY or STATE.
        rule: For audit events.
        score: Confidence in ``[0, 1]``.
        needs_cue: Only after "in", "from" and the like, or next to another place.
        is_rare: It is no other word and hardly a name: "in" before it is enough.
        follows_given: A given name or an initial precedes: what looks like a state
            after it may be a degree, "Lucy A. Ashton, MD".
    """

    start: int
    end: int
    label: Label
    rule: str
    score: float
    needs_cue: bool
    is_rare: bool = False
    follows_given: bool = False


def _may_hold_place(run: Run) -> bool:
    """Return False for most runs without a town or state."""
    return bool(run.kinds & _TOWN) or not _first_words_of_places().isdisjoint(run.forms)


def _places_in(run: Run) -> Iterator[PlaceInRun]:
    """Yield the towns and states in a run."""
    forms = run.forms
    at = 0
    while at < len(run.tokens):
        count = 0 if run.tokens[at].code == LINK else longest(city_phrases(), forms, at)
        if count:
            yield _place_in(run, at, count, "city", 0.8, needs_cue=False)
        elif run.tokens[at].kinds & _TOWN:
            count = 1
            yield _town(run, at)
        at += max(count, 1)
    yield from _states(run, forms)


@cache
def _first_words_of_places() -> frozenset[str]:
    """Return the words that towns of several words, and states, begin with."""
    return frozenset(city_phrases()).union(words[0] for words in states())


def _follows_given(run: Run, at: int) -> bool:
    """Return whether a given name or an initial precedes a word."""
    if at == 0:
        return False
    previous = run.tokens[at - 1]
    return bool(previous.kinds & WordClass.GIVEN) or len(previous.form) == 1


def _town(run: Run, at: int) -> PlaceInRun:
    kinds = run.tokens[at].kinds
    # "Boston" stands alone; "Jackson" may be a man.
    is_sure = kinds & WordClass.CITY and not kinds & (_FOREMOST_NAME | WordClass.EPONYM)
    if is_sure:
        return _place_in(run, at, 1, "city", 0.7, needs_cue=False)
    is_rare = not kinds & (
        WordClass.GIVEN | WordClass.WORD | WordClass.EPONYM | WordClass.DRUG
    )
    word = run.tokens[at]
    return PlaceInRun(
        word.start, word.end, Label.CITY, "town", 0.55,
        needs_cue=True, is_rare=is_rare, follows_given=_follows_given(run, at),
    )  # fmt: skip


def _place_in(
    run: Run, at: int, count: int, rule: str, score: float, *, needs_cue: bool
) -> PlaceInRun:
    first, last = run.tokens[at], run.tokens[at + count - 1]
    return PlaceInRun(first.start, last.end, Label.CITY, rule, score, needs_cue)


def _states(run: Run, forms: list[str]) -> Iterator[PlaceInRun]:
    for at, form in enumerate(forms):
        if not may_begin_state(form):
            continue
        for count in (2, 1):
            words = tuple(forms[at : at + count])
            if len(words) == count and is_state(words):
                first, last = run.tokens[at], run.tokens[at + count - 1]
                yield PlaceInRun(first.start, last.end, Label.STATE, "state", 0.7, True)
                break


# What one run may hold.

_MAX_RUNS = _MAX_WORDS = 50_000
_NO_NAME = WordClass.WORD | WordClass.DRUG | WordClass.EPONYM | WordClass.RARE


class RunReading(NamedTuple):
    """Names, places and institutions that a run may hold, judged by its own words."""

    names: tuple[NameInRun, ...]
    places: tuple[PlaceInRun, ...]
    institutions: tuple[Institution, ...]
    may_be_institution: bool


def _read_run(text: str, words: Mapping[str, Word]) -> RunReading | None:
    """Return what a run's text may hold; None for nothing or a placeholder."""
    run = read(text, words)
    if not load_list("made_up_names").isdisjoint(run.forms):
        return None
    names = tuple(_names_in(text, run)) if run.kinds & _ANY_NAME_KIND else ()
    places = tuple(_places_in(run)) if _may_hold_place(run) else ()
    institutions = tuple(institutions_in(run)) if may_hold_institution(run) else ()
    may_be_institution = bool(run.kinds & ~_NO_NAME) and not is_generic(run)
    if not (names or places or institutions or may_be_institution):
        return None
    return RunReading(names, places, institutions, may_be_institution)


# What the context confirms.

_ACRONYM = 4
_CITY_OF_INSTITUTION = 0.7
_DECIMAL = len("2.4 ")
_LITRES = re.compile(r"[0-9][.][0-9][ ]L[.][ ]")


class LexiconDetector:
    """Propose what the lexicons hold and the context confirms.  Thread-safe.

    Args:
        options: Of a preset.
    """

    name = "lexicon"
    reads_as_written = False

    def __init__(self, options: LexiconOptions) -> None:
        self._bare_names = options.bare_names
        words = TextCache(word_of, _MAX_WORDS)
        self._read = TextCache(partial(_read_run, words=words), _MAX_RUNS)
        # Load the lists now, so that the first note costs no more than the next.
        _read_run("Anna Smith, Boston General Hospital", words)

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return each document's proposals; they may overlap."""
        return [self._propose(document.ascii) for document in documents]

    def _propose(self, text: str) -> list[Annotation]:
        found: list[Annotation] = []
        for match in runs_in(text):
            reading = self._read[match[0]]
            if reading is not None:
                found += self._annotations(text, match.start(), match.end(), reading)
        return [*trimmed(text, found)]

    def _annotations(
        self, text: str, start: int, end: int, reading: RunReading
    ) -> list[Annotation]:
        found: list[Annotation] = []
        # Most runs have only one of these.
        if reading.institutions:
            found += _institutions(text, start, reading.institutions)
        if reading.may_be_institution and context.may_follow_institution_cue(
            text, start
        ):
            found += _by_cue_alone(text, start, end)
        if reading.places:
            found += _places(text, start, reading.places)
        taken = [each.span for each in found]
        for name in reading.names:
            first = start + name.start
            past = before_terms(text, first, start + name.end)
            if self._is_person(text, first, past, name.evidence):
                span = Span(first, past)
                if not any(map(span.overlaps, taken)):
                    found.append(
                        _annotation(span, Label.PATIENT, name.score, name.rule)
                    )
        return found

    def _is_person(self, text: str, start: int, end: int, evidence: Evidence) -> bool:
        word = text[start:end]
        # "IgE", "segment IVa", "2.4 L. Harris-Benedict agrees".
        is_mixed = not (word.istitle() or word.isupper() or word.islower())
        if is_mixed and len(word) <= len("IgE"):
            return False
        if _LITRES.match(text, max(0, start - _DECIMAL), start + 3):
            return False
        if is_sign_or_device(text, start, end):
            return False
        return context.is_person(
            text, start, end, evidence, by_capital=self._bare_names
        )


def _places(
    text: str, start: int, places: Iterable[PlaceInRun]
) -> Iterator[Annotation]:
    for place in places:
        first, past = start + place.start, start + place.end
        if not _is_place(text, first, past, place):
            continue
        end, state = context.end_of_place(text, past)
        yield _annotation(Span(first, end), place.label, place.score, place.rule)
        if state is not None:
            yield _annotation(Span(*state), Label.STATE, place.score, "state")


def _is_place(text: str, start: int, end: int, place: PlaceInRun) -> bool:
    if context.is_no_place(text, start, end):
        return False
    if place.needs_cue:
        # A state is found with the town before it; "CA, MA" may be a cancer.
        may_have_state = place.label is not Label.STATE and not place.follows_given
        if may_have_state and context.is_before_place(text, end):
            return True
        has_cue = context.is_after_home_cue(text, start) or (
            place.is_rare and context.is_in_town(text, start)
        )
        return has_cue and not context.is_before_clinical_term(text, end)
    if context.is_after_place_cue(text, start):
        return True
    # "No POA", "with FES", "Paris IIa": seldom towns.
    is_acronym = end - start <= _ACRONYM and text[start:end].isupper()
    is_score = text[start:end].lower() in load_list("score_places") or (
        context.is_graded(text, end)
    )
    return not (is_acronym or is_score) and context.is_inside_sentence(text, start)


def _institutions(
    text: str, start: int, institutions: Iterable[Institution]
) -> Iterator[Annotation]:
    for each in institutions:
        first, past = start + each.start, start + each.end
        if each.needs_cue and (
            not context.is_after_institution_cue(text, first)
            or context.is_before_clinical_term(text, past)
        ):
            continue
        yield from _institution(text, first, past, each.label, each.score, each.rule)


def _institution(
    text: str, start: int, end: int, label: Label, score: float, rule: str
) -> Iterator[Annotation]:
    """Yield an institution, and the town and state after it."""
    end, city, state = context.end_of_institution(text, end)
    yield _annotation(Span(start, end), label, score, rule)
    if city is not None:
        yield _annotation(
            Span(*city), Label.CITY, _CITY_OF_INSTITUTION, "city_of_hospital"
        )
    if state is not None:
        yield _annotation(Span(*state), Label.STATE, _CITY_OF_INSTITUTION, "state")


def _by_cue_alone(text: str, start: int, end: int) -> Iterator[Annotation]:
    """Yield an institution that is in no list: "treated at Cedar Crest"."""
    if context.is_after_care(text, start):
        if context.may_be_institution(text, start, end):
            rule = "hospital_after_care"
            yield from _institution(text, start, end, Label.HOSPITAL, 0.6, rule)
    elif context.is_employer(text, start):
        if context.is_before_clinical_term(text, end):
            return
        span = Span(start, end)
        yield _annotation(span, Label.ORGANIZATION, 0.6, "organization_employer")


def _annotation(span: Span, label: Label, score: float, rule: str) -> Annotation:
    return Annotation(span, label, score, LexiconDetector.name, rule)
