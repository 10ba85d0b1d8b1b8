"""Which words of a text in small letters are a hospital's or practice's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .detectors.fragments import words as listed
from .detectors.lexicon import cues
from .detectors.lexicon.houses import HEADS, WEAK_HEADS, is_own_name
from .lexicons.groups import single_house_names
from .lexicons.kinds import Kind

if TYPE_CHECKING:
    from .capitals import Capitals

SAINTS = frozenset({"st", "saint", "mt", "mount"})
NAME_GAPS = frozenset({" ", "  ", ". ", "."})
"""What may stand between the words of a name."""

_STOPS = frozenset(
    listed(
        """
        at from in into to the our by of near via and with for is was were on seen pt
        patient a an his her my their your who that this after before since during due
        where when until has had as or but about than then because while between under
        over within without through per if no not all any each
        """
    )
)
_NO_HOUSE = frozenset({"outside", "local", "same", "day", "home"})
_HOUSE_CUES = frozenset({"at", "to", "from"})
_MOST_WORDS = 4
_WORD_GAPS = frozenset({" ", "  ", "-"})
_ENDS = frozenset({"", ".", ",", "\n"})
_WEAK = Kind.WEAK_GIVEN | Kind.WEAK_FAMILY | Kind.TOWN
_STRONG = Kind.GIVEN | Kind.FAMILY | Kind.CITY | Kind.UNKNOWN
_NAMES_HOUSE = _STRONG | Kind.TOWN | Kind.RARE


def choose_houses(note: Capitals) -> None:
    """Choose "at the mercy general hospital", from the preposition on."""
    for at, form in enumerate(note.forms):
        if form in HEADS:
            _choose_before_head(note, at)
        elif form in WEAK_HEADS and at - 1 in note.chosen and note.gap(at) == " ":
            note.chosen.add(at)
        elif form in _HOUSE_CUES:
            _choose_after_at(note, at)


def _choose_before_head(note: Capitals, at: int) -> None:
    start = at
    while (
        at - start < _MOST_WORDS
        and start
        and note.forms[start - 1] not in _STOPS
        and (note.gap(start) in _WORD_GAPS or note.forms[start - 1] in SAINTS)
    ):
        start -= 1
    forms = note.forms[start:at]
    if {*forms} & _NO_HOUSE or forms == ["university"]:
        return
    known_by_place = forms in (["general"], ["county"], ["city"], ["children"])
    if start and note.forms[start - 1] in _STOPS:
        is_house = known_by_place or is_own_name({*forms})
    else:
        is_house = _is_house_apart(note, start, at)
    if is_house:
        note.chosen.update(range(start, at + 1))


def _is_house_apart(note: Capitals, start: int, at: int) -> bool:
    """Return whether a line or a phrase begins with a house: no "at" stands before.

    Only by a name, or where nothing else stands there: "Wound clinic follow-up".
    """
    if start and note.gap(start) in _WORD_GAPS:
        return False
    own = [n for n in range(start, at) if is_own_name({note.forms[n]})]
    if any(note.kinds[n] & _NAMES_HOUSE for n in own):
        return True
    end = note.words[at].end()
    follows = note.text[end : end + 1]
    return follows in _ENDS and len(own) > (note.forms[at] != "hospital")


def _choose_after_at(note: Capitals, at: int) -> None:
    """Choose "treated at cedar crest", if the words are names elsewhere."""
    if at + 1 >= len(note.words):
        return
    first = at + 1
    if note.forms[first] in single_house_names():
        note.chosen.add(first)
    if not cues.is_after_care(note.text, note.words[first].start()):
        return
    end = first
    while (
        end < len(note.words)
        and end - first < _MOST_WORDS
        and note.forms[end] not in _STOPS
        and (end == first or note.gap(end) in NAME_GAPS)
    ):
        end += 1
    kinds = note.kinds[first:end]
    strong = sum(bool(each & _STRONG) for each in kinds)
    weak = sum(bool(each & _WEAK) for each in kinds)
    if (strong or weak > 1) and is_own_name({*note.forms[first:end]}):
        note.chosen.update(range(first, end))
