"""What a tagger may not call a name, whatever it learned: headings, devices, drugs.

A trained model knows words by their neighbours and letters; that "Hemostasis was
obtained" and "closed with Dermabond" name nobody, the lexicons know.  A title, or a
verb that only persons are the subject of, overrules the veto; that no list holds a name
counts only against a model that is not sure.  For English.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..labels import Label
from ..language import context
from ..language.fragments import words
from ..language.institutions import is_own_name
from ..language.lexicons import load_list
from ..language.lexicons.word_classes import WordClass, word_classes
from .rules.places.institutions import LABELLED_STATE
from .short_drugs import is_short_drug
from .trimming import MAY_NAME, WORD, form_of, is_no_name

_FOREMOST_NAME = WordClass.GIVEN | WordClass.FAMILY
_NO_MERE_WORD = _FOREMOST_NAME | WordClass.CITY | WordClass.TOWN | WordClass.RARE
_PLACES = frozenset({Label.HOSPITAL, Label.ORGANIZATION, Label.LOCATION_OTHER})
_PEOPLE = frozenset({Label.PATIENT, Label.DOCTOR})
# "May resume a diet", "Will call": names only as the subject of a verb.
_MODALS = frozenset({"may", "will", "can"})
_LANDSCAPE = frozenset(words("river valley ocean sea gulf coast mountains desert"))
_HANDLED = re.compile(
    r"""
    (?:'s)?,?[ ](?:was|were|is|are|has[ ]been|had[ ]been)[ ]
    (?:then[ ]|also[ ]|again[ ])?
    (?:applied|placed|used|utilized|inserted|obtained|removed|administered|performed
      |injected|instilled|irrigated|closed|exposed|noted|achieved|assured|mixed|taken
      |advanced|passed|secured|sutured|draped|prepped|divided|incised|grasped|given
      |identified|coagulated|suctioned|shaved|done|controlled|carried|everted|positioned
      |deployed|inflated|deflated|attached|connected|made|opened|completed|tied)
    """,
    re.VERBOSE,
)
_ENDS_LINE = re.compile(r"[\W_]*?(?:\n|\Z)")
_HANDS = frozenset(words("with using and"))
# "Controlled by Bovie"; but "signed by", "seen by", "found by" are people's doing.
_BY = frozenset(
    words(
        """
        controlled obtained achieved closed secured held supported covered sealed
        followed reinforced approximated provided maintained assisted replaced
        """
    )
)
SURE = 0.9
"""From this probability on, a model may name what no list of names holds."""
FAIRLY_SURE = 0.7
"""Likewise inside a sentence, or where it says so at two places of a note."""
SURE_OF_PLACE = 0.6
"""Likewise for towns and houses, of which lists hold few."""
_AROUND = 120
_LABEL_REACH = 32
_NEVER = 1.1
_PEOPLE_TOO = frozenset(
    words(
        "discussed lived talked visited agreed married stayed moved arrived consulted"
    )
)


_FINDING = re.compile(
    r"""
    [ ](?:is|are|was|were|remains?|appears?)[ ]
    (?:also[ ]|otherwise[ ]|well[ ]|grossly[ ]|again[ ]|not[ ])?
    (?:preserved|maintained|intact|normal|unremarkable|unchanged|patent|palpable
      |visualized|visualised|demonstrated|enlarged|dilated|thickened|calcified
      |symmetric(?:al)?|anatomic|satisfactory|elevated|within[ ]normal[ ]limits)
    (?![a-z])
    """,
    re.VERBOSE,
)


class _Doubt(NamedTuple):
    """How sure a model is of a name, and whether it says so twice."""

    score: float
    is_repeated: bool

    @property
    def is_sure(self) -> bool:
        """Whether it may name somebody after whom a thing is named."""
        return self.score >= (FAIRLY_SURE if self.is_repeated else SURE)

    def is_fairly_sure(self, text: str, start: int) -> bool:
        """Return whether it may name what no list of names holds.

        At a sentence's start any word has a capital: there it must be surer.
        """
        if self.is_sure:
            return True
        return (
            self.score >= FAIRLY_SURE
            and text[start].isupper()
            and context.is_inside_sentence(text, start)
        )


def is_vetoed(
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
    forms = [form_of(each) for each in WORD.findall(text[start:end])]
    if not load_list("made_up_names").isdisjoint(forms):
        return True
    if not any(len(form) > 1 for form in forms):
        return True
    if label in _PEOPLE and _is_titled(text, start):
        return False
    if all(is_no_name(form) for form in forms):
        return True
    kinds = [word_classes(form) for form in forms]
    if label in _PEOPLE:
        doubt = _Doubt(score, is_repeated)
        return _is_no_person(text, start, end, kinds, doubt)
    if _is_of_another_kind(text[start:end], forms, label):
        return True
    if _are_words(kinds) and score < _least_of_words(text, start, end, label):
        return True
    return score < SURE_OF_PLACE and not any(each & MAY_NAME for each in kinds)


def _is_of_another_kind(value: str, forms: list[str], label: Label) -> bool:
    """Return whether it names a kind of care, a landscape, two things, a result."""
    if label is Label.CITY:
        return "and" in forms or forms[-1] in _LANDSCAPE
    if label is Label.USERNAME:
        return " " in value
    return label in _PLACES and not is_own_name({*forms})


def _are_words(kinds: list[int]) -> bool:
    """Return whether all are words, and no town's or person's name foremost."""
    return all(each & WordClass.WORD and not each & _NO_MERE_WORD for each in kinds)


def _is_small(text: str, start: int, end: int) -> bool:
    """Return whether words are in small letters where others are not: "salty foods"."""
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
    if form_of(text[start:end]) in _MODALS:
        return not context.is_subject(text, start, end)
    is_line = _is_line(text, start, end)
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
    return context.is_clinical_term(text, start, end) or _is_handled(text, start, end)


def _is_no_word(text: str, start: int, end: int, score: float) -> bool:
    """Return whether it holds a digit, or is half a word."""
    if any(map(str.isdigit, text[start:end])):
        return True
    return text[end - 1] == "-" and score < FAIRLY_SURE


def _is_something_else(
    text: str, start: int, end: int, kinds: list[int], doubt: _Doubt
) -> bool:
    """Return whether it is a state in its field, a drug for short, what was found."""
    if _is_state_in_its_field(text, start, end):
        return True
    if not _are_listed(kinds) and _FINDING.match(text, end):
        return True
    return not doubt.is_sure and is_short_drug(text, start, end)


def _is_state_in_its_field(text: str, start: int, end: int) -> bool:
    """Return whether a state, and nothing else, stands behind "State:"."""
    fields = LABELLED_STATE.pattern.finditer(
        text, max(0, start - _LABEL_REACH), end + _LABEL_REACH
    )
    return any(each.span("phi") == (start, end) for each in fields)


def _are_listed(kinds: list[int]) -> bool:
    """Return whether a list of names holds one of the words.

    A surname that is a word, behind what is no name, does not count: "inked black".
    """
    if len(kinds) > 1 and not kinds[0] & MAY_NAME and _are_words(kinds):
        return False
    return any(each & MAY_NAME for each in kinds)


def _is_line(text: str, start: int, end: int) -> bool:
    """Return whether nothing else stands on the line, as in a heading."""
    return _ENDS_LINE.match(text, end) is not None and _begins_line(text, start)


def _begins_line(text: str, start: int) -> bool:
    """Return whether no letter or digit stands before on the line."""
    # Most often the word before says so: only blanks and marks are walked back over.
    while start and text[start - 1] != "\n":
        if text[start - 1].isalnum():
            return False
        start -= 1
    return True


def _is_handled(text: str, start: int, end: int) -> bool:
    """Return whether it is applied, or something is closed with it."""
    if _HANDLED.match(text, end):
        return True
    left = context.before(text, start)
    if left.nearest == "by":
        return left.word(1) in _BY
    if left.nearest == "using":
        return True
    verb = left.word(1) if left.nearest in _HANDS else ""
    return verb.endswith("ed") and verb not in _PEOPLE_TOO


def _is_titled(text: str, start: int) -> bool:
    left = context.before(text, start)
    return left.nearest.rstrip(".") in load_list("honorifics") and len(left.gap) <= 2
