"""Marked notes with another cast: the same sentences about other people and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from string import ascii_uppercase, digits

from deid_core.labels import Label
from deid_core.language.lexicons import load_list
from deid_core.research.corpora.corpus import GoldDocument, GoldSpan

from . import values
from .people import draw_person
from .segments import Segment, document_of
from .splits import Half

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_AS_WRITTEN = 0.35
"""How often an institution keeps its name, which often holds what makes it one."""

_NUMBERS = frozenset(
    {Label.PHONE, Label.FAX, Label.ZIP}
    | {label for label in Label if label.main == "ID"}
)
_NEW_LETTER = 0.5
"""How often a capital of a number changes; others are of a series or a country."""
_SUFFIXES = frozenset({"jr", "sr"})
_INITIALS = "ABCDEFGHJKLMNPRSTW"


@dataclass(slots=True)
class Resynthesis:
    """The replacements of one note: the same word always becomes the same word.

    Args:
        is_upper: Whether the note is in capitals, where a short word is no initials.
    """

    half: Half
    chance: Random
    is_upper: bool
    words: dict[str, str] = field(default_factory=dict, repr=False)
    values: dict[str, str] = field(default_factory=dict, repr=False)

    def value(self, span: GoldSpan, text: str) -> str:
        """Return the replacement of an identifier of the note."""
        label = span.label
        if label in (Label.PATIENT, Label.DOCTOR):
            return self._name(text, label)
        if label in _NUMBERS:
            if text not in self.values:
                self.values[text] = _renumbered(text, self.chance)
            return self.values[text]
        if label is None or label not in _MAKERS:
            return text
        key = text.casefold()
        if key not in self.values:
            self.values[key] = self._place(label, text)
        return _in_case_of(text, self.values[key])

    def _place(self, label: Label, text: str) -> str:
        if label is not Label.CITY and self.chance.random() < _AS_WRITTEN:
            return text
        return _MAKERS[label](self.half, self.chance)

    def _name(self, text: str, label: Label) -> str:
        """Return the name word by word, so that its form stays: ``Hart, J. (Joe)``."""
        found = list(_WORD.finditer(text))
        last = _family_at([each[0] for each in found], text)
        parts: list[str] = []
        at = 0
        for number, word in enumerate(found):
            is_family = number == last
            parts += text[at : word.start()], self._word(word[0], is_family, label)
            at = word.end()
        return "".join(parts) + text[at:]

    def _word(self, word: str, is_family: bool, label: Label) -> str:
        key = word.casefold()
        if key in _SUFFIXES or key in load_list("name_particles"):
            return word
        if key not in self.words:
            self.words[key] = self._new(word, is_family, label)
        return _in_case_of(word, self.words[key])

    def _new(self, word: str, is_family: bool, label: Label) -> str:
        are_initials = len(word) <= len("JRQ") and word.isupper() and not self.is_upper
        if are_initials or len(word) == 1:
            return "".join(self.chance.choices(_INITIALS, k=len(word)))
        person = draw_person(self.half, self.chance, label)
        return (person.family if is_family else person.given).text


_MAKERS: Mapping[Label, Callable[[Half, Random], str]] = {
    Label.CITY: values.town,
    Label.HOSPITAL: lambda half, chance: values.institution(
        chance.choice(("cued", "bare", "bare")), half, chance
    ),
    Label.ORGANIZATION: values.organization,
}


def recast(document: GoldDocument, half: Half, chance: Random) -> GoldDocument:
    """Return the document with other names, towns and numbers; the rest stays.

    Args:
        document: Marked completely: unmarked text is learned as no identifier.
        half: Of the new names.
        chance: Decides everything.
    """
    names = Resynthesis(half, chance, document.text.isupper())
    segments: list[Segment] = []
    at = 0
    for span in document.spans:
        if span.span.start < at:
            continue
        old = document.text[span.span.start : span.span.end]
        new = names.value(span, old)
        segments += [
            Segment(document.text[at : span.span.start]),
            Segment(new, span.label, span.kinds),
        ]
        at = span.span.end
    segments.append(Segment(document.text[at:]))
    return document_of(document.id, segments)


def _renumbered(text: str, chance: Random) -> str:
    """Return a number of the same shape."""
    return "".join(_in_kind_of(each, chance) for each in text)


def _in_kind_of(character: str, chance: Random) -> str:
    if character.isdigit():
        return chance.choice(digits)
    is_capital = character.isascii() and character.isupper()
    if is_capital and chance.random() < _NEW_LETTER:
        return chance.choice(ascii_uppercase)
    return character


def _family_at(words: list[str], text: str) -> int:
    """Return which word of a name is the surname: the last, or that before a comma."""
    if len(words) > 1 and re.match(r"[^\s,]+,", text):
        return 0
    return len(words) - 1


def _in_case_of(old: str, new: str) -> str:
    """Return the new word in capitals or lower case if the old one was."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new.lower() if old.islower() else new
