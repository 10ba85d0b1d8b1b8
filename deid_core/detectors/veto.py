"""Correct a tagger's proposals of English names and places by the lexicons.

A trained model knows words by their neighbours and letters; that "Hemostasis was
obtained" and "closed with Dermabond" name nobody, the lexicons know.  `Veto` takes
words off a name that are no part of it, and rejects what is clearly no identifier:
headings, devices, drugs.  A title, or a verb that only persons are the subject of,
overrules it; that no list holds a name counts only against a model that is not sure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from typing import NamedTuple

from ..labels import Label
from ..language import context
from ..language.fragments import words
from ..language.institutions import is_own_name
from ..language.lexicons import is_common_name, load_list, normal
from ..language.lexicons.word_classes import WordClass, word_classes
from ..language.text_cache import TextCache
from .rules.places.addresses import LABELLED_STATE

# Words around a name.

_WORD = re.compile(r"[A-Za-z](?:[A-Za-z]|'(?=[A-Za-z]))*")
"""A word of a name, in folded text."""
_MAY_NAME = (
    WordClass.GIVEN
    | WordClass.WEAK_GIVEN
    | WordClass.FAMILY
    | WordClass.WEAK_FAMILY
    | WordClass.CITY
    | WordClass.TOWN
    | WordClass.UNKNOWN
)
"""Classes of words that may name a person or a town."""
_OPENERS, _CLOSERS = load_list("name_openers"), load_list("name_closers")
_NEVER_ALONE = _OPENERS | _CLOSERS
_BIRTH = re.compile(r"D\.?[ ]?O\.?[ ]?B(?![A-Za-z])", re.IGNORECASE)
_JOINTS = frozenset("&/")
# "Taken by Jane Roe": the name begins after it; "Anh To Nguyen" is one name.
_LEADS = frozenset(words("by to from with"))


class _Word(NamedTuple):
    """What the lexicons say of a word of a name.

    Args:
        form: Its compared form, without a possessive.
        kinds: See `word_classes`.
        is_adverb: Whether it ends like one and is no name.
    """

    form: str
    kinds: int
    is_adverb: bool

    def __repr__(self) -> str:
        return "_Word()"

    @classmethod
    def of(cls, word: str) -> _Word:
        form = _form_of(word)
        kinds = word_classes(form)
        is_mere_word = kinds & (WordClass.WORD | _MAY_NAME) == WordClass.WORD
        return cls(form, kinds, form.endswith("ly") and is_mere_word)

    @property
    def is_never_alone(self) -> bool:
        """Whether the word alone is never a name."""
        return self.form in _NEVER_ALONE or len(self.form) == 1 or self.is_adverb


class Veto:
    """Correct proposals.  Thread-safe.

    It keeps what the lexicons say of the words seen last; they go with it.
    """

    def __init__(self) -> None:
        self._words = TextCache(_Word.of, _CACHE_SIZE)

    def without_words(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Return a name without the words around it that are none.

        "Formerly Kowalska" is Kowalska, "Jane Roe  DOB" Jane Roe.  A name of such words
        alone is returned as it is.
        """
        found = [(self._words[w[0]], w) for w in _WORD.finditer(text, start, end)]
        first = max(
            (n for n, each in enumerate(found, 1) if each[1][0] in _LEADS), default=0
        )
        last = len(found)
        if first == last:
            first = 0
        while first < last and _is_opener(text, *found[first]):
            first += 1
        while last > first and _is_closer(text, *found[last - 1]):
            last -= 1
        if first == last:
            return start, end
        is_closed = last < len(found)
        return found[first][1].start(), found[last - 1][1].end() if is_closed else end

    def rejects(
        self,
        text: str,
        start: int,
        end: int,
        label: Label,
        score: float = 0.0,
        *,
        is_repeated: bool = False,
    ) -> bool:
        """Return whether what a tagger proposes cannot be what it says.

        Args:
            text: The note, folded (`fragments.to_ascii`).
            start: Of the proposal.
            end: Of the proposal.
            label: What the tagger calls it.
            score: How sure it is.
            is_repeated: Whether it proposes the same words elsewhere in the note.
        """
        found = [self._words[each] for each in _WORD.findall(text[start:end])]
        forms = [each.form for each in found]
        if not load_list("made_up_names").isdisjoint(forms):
            return True
        if not any(len(form) > 1 for form in forms):
            return True
        if label in _PEOPLE and context.has_title(text, start):
            return False
        if all(each.is_never_alone for each in found):
            return True
        kinds = [each.kinds for each in found]
        if label in _PEOPLE:
            doubt = _Doubt(score, is_repeated)
            return _is_no_person(text, start, end, kinds, doubt)
        if _is_of_another_kind(text[start:end], forms, label):
            return True
        if _are_words(kinds) and score < _least_of_words(text, start, end, label):
            return True
        return score < SURE_OF_PLACE and not any(each & _MAY_NAME for each in kinds)


def _is_opener(text: str, word: _Word, found: re.Match[str]) -> bool:
    """Return whether a word precedes a name and is no part of it."""
    if word.form in _every_opener():
        return True
    if len(word.form) == 1:
        # "H&P. Jane Roe", "12 mg/L. Jane Roe".
        start, end = found.span()
        return not _JOINTS.isdisjoint(
            text[max(0, start - 1) : start] + text[end : end + 1]
        )
    return word.is_adverb


@cache
def _every_opener() -> frozenset[str]:
    # Nobody is called Mother; Son is a name, too.
    return _OPENERS | (load_list("kin") - {"son"})


def _is_closer(text: str, word: _Word, found: re.Match[str]) -> bool:
    """Return whether a word is the next field's label, a degree, or no name at all."""
    if word.is_adverb:
        return True
    form, written = word.form, found[0]
    if written.islower() and len(form) > 3:
        return not word.kinds & _MAY_NAME
    start, end = found.span()
    has_colon = text.startswith(":", end)
    if (has_colon and form in load_list("header_fields")) or _BIRTH.match(text, start):
        return True
    is_degree = len(form) == 1 and text[start - 1 : start] == "-"
    return is_degree or (form in _CLOSERS and (written.isupper() or has_colon))


def _form_of(word: str) -> str:
    """Return a word in compared form, without a possessive."""
    return normal(word).removesuffix("'s").replace("'", "")


# The veto.

_FOREMOST_NAME = WordClass.GIVEN | WordClass.FAMILY
_NO_MERE_WORD = _FOREMOST_NAME | WordClass.CITY | WordClass.TOWN | WordClass.RARE
_PLACES = frozenset({Label.HOSPITAL, Label.ORGANIZATION, Label.LOCATION_OTHER})
_PEOPLE = frozenset({Label.PATIENT, Label.DOCTOR})
NAMED = _PLACES | _PEOPLE | {Label.CITY}
"""What the veto knows: names.  Of dates and numbers the lexicons say nothing."""
# "May resume a diet", "Will call": names only as the subject of a verb.
_MODALS = frozenset({"may", "will", "can"})
_LANDSCAPE = frozenset(words("river valley ocean sea gulf coast mountains desert"))
SURE = 0.9
"""From this probability on, a model may name what no list of names holds."""
FAIRLY_SURE = 0.7
"""Likewise inside a sentence, or where it says so at two places of a note."""
SURE_OF_PLACE = 0.6
"""Likewise for towns and institutions, of which lists hold few."""
_AROUND = 120
_MAX_LABEL = 32
_CACHE_SIZE = 65_536
_MAX_MARK = len(":   ")
_FIELD_MARKS = frozenset(":=-")
_NEVER = 1.1


class _Doubt(NamedTuple):
    """How sure a model is of a name, and whether it says so twice."""

    score: float
    is_repeated: bool

    @property
    def is_sure(self) -> bool:
        """Whether it may name somebody whose name is also an eponym."""
        return self.score >= (FAIRLY_SURE if self.is_repeated else SURE)

    def is_fairly_sure(self, text: str, start: int) -> bool:
        """Return whether it may name what no list of names holds.

        Every word has a capital at the start of a sentence: there it must be surer.
        """
        if self.is_sure:
            return True
        return (
            self.score >= FAIRLY_SURE
            and text[start].isupper()
            and context.is_inside_sentence(text, start)
        )


def _is_of_another_kind(value: str, forms: list[str], label: Label) -> bool:
    """Return whether it names a kind of care, a landscape or two towns."""
    if label is Label.CITY:
        return "and" in forms or forms[-1] in _LANDSCAPE
    if label is Label.USERNAME:
        return " " in value
    return label in _PLACES and not is_own_name({*forms})


def _are_words(kinds: list[int]) -> bool:
    """Return whether all are words, and no town's or person's name foremost."""
    return all(each & WordClass.WORD and not each & _NO_MERE_WORD for each in kinds)


def _is_small(text: str, start: int, end: int) -> bool:
    """Return whether words are in lower case where others are not: "salty foods"."""
    around = text[max(0, start - _AROUND) : end + _AROUND]
    return text[start:end].islower() and not around.islower()


def _least_of_words(text: str, start: int, end: int, label: Label) -> float:
    """Return how sure a model must be that words alone are a place: "power fields"."""
    if label is Label.CITY:
        return FAIRLY_SURE
    if label in _PLACES and _is_small(text, start, end):
        return _NEVER
    if label is Label.ORGANIZATION:
        return FAIRLY_SURE if " " in text[start:end] else 0.0
    before = text[max(0, start - 3) : start].rstrip(" ,")
    has_number = any(map(str.isdigit, text[start:end] + before[-1:]))
    return SURE if label is Label.STREET and not has_number else 0.0


def _is_no_person(
    text: str, start: int, end: int, kinds: list[int], doubt: _Doubt
) -> bool:
    if _is_no_word(text, start, end, doubt.score):
        return True
    if context.is_person_described(text, start, end):
        return False
    if _is_something_else(text, start, end, kinds, doubt):
        return True
    if _form_of(text[start:end]) in _MODALS:
        return not context.is_subject(text, start, end)
    is_line = context.is_whole_line(text, start, end)
    if not _are_listed(kinds) and (is_line or not doubt.is_fairly_sure(text, start)):
        return True
    is_clinical_term = all(each & (WordClass.EPONYM | WordClass.DRUG) for each in kinds)
    if is_clinical_term and (is_line or not doubt.is_sure):
        return True
    if all(each & _FOREMOST_NAME and not each & WordClass.DRUG for each in kinds):
        is_owned = len(kinds) == 1 and context.is_owned(text, start)
        return (is_owned and not doubt.is_sure) or context.is_before_clinical_term(
            text, end
        )
    return context.is_clinical_term(text, start, end) or context.is_handled(
        text, start, end
    )


def _is_no_word(text: str, start: int, end: int, score: float) -> bool:
    """Return whether it holds a digit, or is half a word."""
    if any(map(str.isdigit, text[start:end])):
        return True
    return text[end - 1] == "-" and score < FAIRLY_SURE


def _is_something_else(
    text: str, start: int, end: int, kinds: list[int], doubt: _Doubt
) -> bool:
    """Return whether it is a state in its field, a drug's short form, a finding."""
    if _is_state_in_its_field(text, start, end):
        return True
    if not _are_listed(kinds) and context.is_finding(text, end):
        return True
    return not doubt.is_sure and _is_short_drug(text, start, end)


def _is_state_in_its_field(text: str, start: int, end: int) -> bool:
    """Return whether it is the state in a field "State:", and nothing else."""
    # Most words follow another word: they are in no field, or not at its start.
    if text[max(0, start - _MAX_MARK) : start].rstrip(" \t")[-1:] not in _FIELD_MARKS:
        return False
    fields = LABELLED_STATE.pattern.finditer(
        text, max(0, start - _MAX_LABEL), end + _MAX_LABEL
    )
    return any(each.span("phi") == (start, end) for each in fields)


def _are_listed(kinds: list[int]) -> bool:
    """Return whether a list of names holds one of the words.

    A surname that is also a word does not count after what is no name: "inked black".
    """
    if len(kinds) > 1 and not kinds[0] & _MAY_NAME and _are_words(kinds):
        return False
    return any(each & _MAY_NAME for each in kinds)


# Short forms of drugs: "on warf.", "stopped metop 25 mg".

_SWITCHED = frozenset(
    words("switch switched change changed transition transitioned bridge bridged")
)
_DOSE = re.compile(
    r"""
    \.?,?[ ](?:[0-9][0-9.,/]{0,6}[ ]?(?:mg|mcg|g|gm|meq|units?|u|tabs?|ml|%)(?![a-z])
      |(?:bid|tid|qid|qd|qhs|daily|prn|po|iv|q[0-9]{1,2}h?)(?![a-z]))
    """,
    re.VERBOSE | re.IGNORECASE,
)
_GOES_ON = re.compile(r"\.(?:[,;)]|[ ]{1,2}[a-z0-9(])")
_SHORTEST_DRUG = 4


def _is_short_drug(text: str, start: int, end: int) -> bool:
    """Return whether a word is the start of a drug's name, used as a drug.

    "On warf.", "stopped metop 25 mg".  It is in lower case, or its period ends no
    sentence; it is neither a given name nor a common surname.
    """
    form = _form_of(text[start:end])
    if not _begins_drug(form) or is_common_name(form):
        return False
    if word_classes(form) & (WordClass.GIVEN | WordClass.WEAK_GIVEN):
        return False
    is_dosed = _DOSE.match(text, end) is not None
    is_small = text[start:end].islower()
    if not (is_dosed or is_small or _GOES_ON.match(text, end)):
        return False
    left = context.before(text, start)
    if left.gap != " ":
        return is_dosed
    if left.nearest in {"to", "from"}:
        return is_dosed or left.word(1) in _SWITCHED
    if left.nearest == "on" and left.word(1) in load_list("called_on"):
        return is_dosed
    return is_dosed or left.nearest in load_list("drug_cues")


@cache
def _drug_names() -> tuple[str, ...]:
    return tuple(sorted(load_list("drugs")))


def _begins_drug(form: str) -> bool:
    """Return whether a drug's name begins with a word, and is longer."""
    if len(form) < _SHORTEST_DRUG:
        return False
    drugs = _drug_names()
    at = bisect_right(drugs, form)
    return at < len(drugs) and drugs[at].startswith(form)
