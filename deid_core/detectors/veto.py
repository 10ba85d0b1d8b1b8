"""What a tagger may not call a name, whatever it learned: headings, devices, drugs.

A trained model knows words by their neighbours and letters; that "Hemostasis was
obtained" and "closed with Dermabond" name nobody, the lexicons know.  A title, or a
verb that only persons are the subject of, overrules the veto; that no list holds a name
counts only against a model that is not sure.  For English.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import dropwhile, takewhile
from typing import NamedTuple

from ..labels import Label
from ..lexicons import load_list, normal
from ..lexicons.kinds import Kind, kinds_of
from .fragments import words
from .lexicon import context
from .lexicon.houses import is_own_name

_CACHE_SIZE = 16_384
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
        at as so while both please thank thanks dear re cc name client caller specimen
        formerly telephone
        """
    )
)
# "May resume a diet", "Will call": names only as the subject of a verb.
_MODALS = frozenset({"may", "will", "can"})
_CLOSERS = frozenset(
    words(
        """
        dob mrn ssn id acct account age sex race phone tel fax md rn np pa pac crna dds
        phd
        """
    )
)
# Labels of a header's next field, where a colon follows.
_FIELDS = frozenset(
    words(
        """
        ward facility location room chart bed floor specialty speciality accession
        status admitted occupation employer
        """
    )
)
_BIRTH = re.compile(r"D\.?[ ]?O\.?[ ]?B(?![A-Za-z])", re.IGNORECASE)
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
_PEOPLE_TOO = frozenset(
    words(
        "discussed lived talked visited agreed married stayed moved arrived consulted"
    )
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


def without_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a name without the words around it that are none.

    "Formerly Kowalska" is Kowalska, "Jane Roe  DOB" Jane Roe.  Where nothing would be
    left, all stays.
    """
    found = [(_form(each[0]), each) for each in _WORD.finditer(text, start, end)]
    kept = [*dropwhile(lambda each: _is_opener(each[0]), found)]
    closers = sum(1 for _ in takewhile(lambda each: _is_closer(text, each), kept[::-1]))
    if closers:
        kept = kept[:-closers]
    if not kept:
        return start, end
    return kept[0][1].start(), kept[-1][1].end() if closers else end


def _is_opener(form: str) -> bool:
    return form in _OPENERS or (form.endswith("ly") and not kinds_of(form) & _MAY_NAME)


def _is_closer(text: str, found: tuple[str, re.Match[str]]) -> bool:
    """Return whether a word is the next field's label, a degree, or no name at all."""
    form, word = found
    if word[0].islower() and len(form) > 3:
        return not kinds_of(form) & _MAY_NAME
    has_colon = text[word.end() : word.end() + 1] == ":"
    if (form in _FIELDS and has_colon) or _BIRTH.match(text, word.start()):
        return True
    is_degree = text[word.start() - 1 : word.start()] == "-" and len(form) == 1
    return is_degree or (form in _CLOSERS and (word[0].isupper() or has_colon))


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
        text: The note, folded (`fragments.fold`).
        start: Of the proposal.
        end: Of the proposal.
        label: What the tagger calls it.
        score: How sure it is.
        is_repeated: Whether it proposes the same words elsewhere in the note.
    """
    forms = [_form(each) for each in _WORD.findall(text[start:end])]
    if not load_list("made_up_names").isdisjoint(forms):
        return True
    if not any(len(form) > 1 for form in forms):
        return True
    if label in _PEOPLE and _is_titled(text, start):
        return False
    if all(form in _OPENERS | _CLOSERS or len(form) == 1 for form in forms):
        return True
    kinds = [kinds_of(form) for form in forms]
    if label in _PEOPLE:
        doubt = _Doubt(score, is_repeated)
        return _is_no_person(text, start, end, kinds, doubt)
    if label in _PLACES and not is_own_name({*forms}):
        return True
    if label is Label.CITY and _is_no_town(forms):
        return True
    return score < SURE_OF_PLACE and not any(each & _MAY_NAME for each in kinds)


def _is_no_town(forms: list[str]) -> bool:
    """Return whether it is a list of things, or a part of the country."""
    return "and" in forms or forms[-1] in _LANDSCAPE


def _is_no_person(
    text: str, start: int, end: int, kinds: list[int], doubt: _Doubt
) -> bool:
    if any(map(str.isdigit, text[start:end])):
        return True
    if context.is_person_described(text, start, end):
        return False
    if _form(text[start:end]) in _MODALS:
        return not context.is_subject(text, start, end)
    is_line = _is_line(text, start, end)
    is_listed = any(each & _MAY_NAME for each in kinds)
    if not is_listed and (is_line or not doubt.is_fairly_sure(text, start)):
        return True
    is_thing = all(each & (Kind.EPONYM | Kind.DRUG) for each in kinds)
    if is_thing and (is_line or not doubt.is_sure):
        return True
    if all(each & _FOREMOST_NAME and not each & Kind.DRUG for each in kinds):
        return context.is_before_thing(text, end)
    return context.is_thing(text, start, end) or _is_handled(text, start, end)


def _is_line(text: str, start: int, end: int) -> bool:
    """Return whether nothing else stands on the line, as in a heading."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    around = text[first:start] + text[end : last if last >= 0 else len(text)]
    return not any(map(str.isalnum, around))


def _is_handled(text: str, start: int, end: int) -> bool:
    """Return whether it is applied, or something is closed with it."""
    if _HANDLED.match(text, end):
        return True
    left = context.before(text, start)
    verb = left.word(1)
    nearest = left.word(0)
    if nearest == "by":
        return verb in _BY
    return nearest == "using" or (
        nearest in _HANDS and verb.endswith("ed") and verb not in _PEOPLE_TOO
    )


@lru_cache(maxsize=_CACHE_SIZE)
def _form(word: str) -> str:
    return normal(word).removesuffix("'s").replace("'", "")


def _is_titled(text: str, start: int) -> bool:
    left = context.before(text, start)
    return left.word(0).rstrip(".") in load_list("honorifics") and len(left.gap) <= 2
