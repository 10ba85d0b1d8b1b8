"""What a tagger may not call a name, whatever it learned: headings, devices, drugs.

A trained model knows words by their neighbours and letters; that "Hemostasis was
obtained" and "closed with Dermabond" name nobody, the lexicons know.  A title, or a
verb that only persons are the subject of, overrules the veto.  For English.
"""

from __future__ import annotations

import re

from ..labels import Label
from ..lexicons import load_list, normal
from ..lexicons.kinds import Kind, kinds_of
from .fragments import words
from .lexicon import context
from .lexicon.houses import is_own_name

_WORD = re.compile(r"[A-Za-z](?:[A-Za-z]|'(?=[A-Za-z]))*")
_MAY_NAME = (
    Kind.GIVEN
    | Kind.WEAK_GIVEN
    | Kind.FAMILY
    | Kind.WEAK_FAMILY
    | Kind.CITY
    | Kind.TOWN
    | Kind.UNKNOWN
)
_FOREMOST_NAME = Kind.GIVEN | Kind.FAMILY
_PLACES = frozenset({Label.HOSPITAL, Label.ORGANIZATION, Label.LOCATION_OTHER})
_PEOPLE = frozenset({Label.PATIENT, Label.DOCTOR})
_OPENERS = frozenset(
    words(
        """
        the a an and but then now today yesterday also patient pt per when if since
        after before however his her their my our this that with by for from to on in
        at as so while both please thank thanks dear re cc name client formerly
        """
    )
)
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
_HANDS = frozenset(words("with using by and"))
_PEOPLE_TOO = frozenset(
    words(
        "discussed lived talked visited agreed married stayed moved arrived consulted"
    )
)


def without_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a name without the words before it that open a sentence.

    "Formerly Kowalska" is Kowalska.  Where nothing would be left, all stays.
    """
    for each in _WORD.finditer(text, start, end):
        form = _form(each[0])
        is_adverb = form.endswith("ly") and not kinds_of(form) & _MAY_NAME
        if form not in _OPENERS and not is_adverb:
            return each.start(), end
    return start, end


def is_vetoed(text: str, start: int, end: int, label: Label) -> bool:
    """Return whether what a tagger proposes cannot be what it says.

    Args:
        text: The note, folded (`fragments.fold`).
        start: Of the proposal.
        end: Of the proposal.
        label: What the tagger calls it.
    """
    forms = [_form(each) for each in _WORD.findall(text[start:end])]
    if not load_list("made_up_names").isdisjoint(forms):
        return True
    if not any(len(form) > 1 for form in forms):
        return True
    if label in _PEOPLE and _is_titled(text, start):
        return False
    kinds = [kinds_of(form) for form in forms]
    if label in _PEOPLE:
        return _is_no_person(text, start, end, kinds)
    if label in _PLACES:
        return not is_own_name({*forms}) or not any(each & _MAY_NAME for each in kinds)
    return not any(each & _MAY_NAME for each in kinds)


def _is_no_person(text: str, start: int, end: int, kinds: list[Kind]) -> bool:
    if any(map(str.isdigit, text[start:end])):
        return True
    if context.is_person_described(text, start, end):
        return False
    if not any(each & _MAY_NAME for each in kinds):
        return True
    if all(each & (Kind.EPONYM | Kind.DRUG) for each in kinds):
        return True
    if all(each & _FOREMOST_NAME and Kind.DRUG not in each for each in kinds):
        return context.is_before_thing(text, end)
    return context.is_thing(text, start, end) or _is_handled(text, start, end)


def _is_handled(text: str, start: int, end: int) -> bool:
    """Return whether it is applied, or something is closed with it."""
    if _HANDLED.match(text, end):
        return True
    left = context.before(text, start)
    verb = left.word(1)
    return (
        left.word(0) in _HANDS and verb.endswith("ed") and verb not in _PEOPLE_TOO
    ) or left.word(0) == "using"


def _form(word: str) -> str:
    return normal(word).removesuffix("'s").replace("'", "")


def _is_titled(text: str, start: int) -> bool:
    left = context.before(text, start)
    return left.word(0).rstrip(".") in load_list("honorifics") and len(left.gap) <= 2
