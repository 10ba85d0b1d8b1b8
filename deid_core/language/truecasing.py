"""Truecasing: restore mixed case to notes written in one letter case.

Detection reads case: a name is a word that is capitalised where others are not.  A note
all in upper or all in lower case gets that difference back before detection, by the
lexicons and the words around: titles, names, numbers, prepositions.  It changes
letter by letter, so every offset stays; the note itself is never changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase, ascii_uppercase

from . import context
from .fragments import (
    MONTH_WORDS,
    MONTHS,
    STATE,
    WEEKDAY_WORDS,
    WEEKDAYS,
    same_length_lower,
)
from .fragments import words as listed
from .institutions import HEADS, WEAK_HEADS, is_own_name
from .lexicons import forms_of, is_common_name, load_list, normal
from .lexicons.places import (
    Phrases,
    by_first_word,
    city_phrases,
    countries,
    longest,
    states,
)
from .lexicons.vocabulary import zipf
from .lexicons.word_classes import WordClass, word_classes

_CAPITALS, _SMALL = ascii_uppercase.encode(), ascii_lowercase.encode()
_LETTERS_LEAST = 24
_BEGINNING = 512
_MOST_SMALL_IN_CAPITALS = 0.1
_MOST_CAPITALS_IN_SMALL = 0.01

_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['\u2019](?=[^\W\d_]))*")
_SENTENCE_START = re.compile(r"(?:\A|[.!?:]\s|\n)[\s\"'(-]{0,8}\Z")
_CODE = re.compile(r"(?<![^\W_])[a-z]{1,5}[-#]?\d[a-z\d-]{3,}(?![^\W_])")
_DOTTED = re.compile(r"(?<![a-z])[a-z](?=\.)")
_STREET = re.compile(
    r"(?<![\w.])\d{1,5} (?:[a-z]+\.? ){1,3}"
    r"(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr"
    r"|boulevard|blvd|court|ct|way|place|pl|terrace|circle|parkway|highway)\b"
)
# A number, any words, a town, a state's code, ZIP: "12 bruce tunnel apt 3, ely, nv 89".
_ADDRESS = re.compile(
    rf"""
    (?<![\w.])\d{{1,6}}[a-z]?(?:[ ][a-z][a-z'-]*\.?){{1,5}}(?:[ ]?\#?[a-z]?\d[\w-]*)?
    ,(?:[ ][a-z][a-z'-]*\.?){{1,3}},[ ](?P<state>(?i:{STATE}))[ ]\d{{5}}(?!\d)
    """,
    re.VERBOSE,
)
_MONTH_CUE = re.compile(r"\b(?:in|of|since|until|last|next|early|late|mid)[ -]\Z")
_MAYBE_MONTHS = frozenset({"march", "may"})
_DATE_WORDS = frozenset(
    (
        *WEEKDAYS,
        *(month for month in MONTHS if month not in _MAYBE_MONTHS),
        *listed(
            """
            thanksgiving christmas xmas easter halloween hanukkah passover ramadan
            diwali kwanzaa juneteenth eid
            """
        ),
    )
)
_SHORT_DAYS = frozenset(WEEKDAY_WORDS) - frozenset(WEEKDAYS)
_SHORT_MONTHS = frozenset(MONTH_WORDS) - frozenset(MONTHS)
_NUMBER_AFTER = re.compile(r"[ .,/-]{0,2}\d")
_NUMBER_BEFORE = re.compile(r"\d(?:st|nd|rd|th)?(?: of)?[ .,/-]{0,2}\Z")
# ANA, polycythemia vera: in lower case more often than the names.
_NAMES_OF_TESTS = frozenset({"ana", "vera"})
# Above, a word that is also a surname is the word: will, may, long.
_TOO_FREQUENT = 5.45
_STRONG = WordClass.GIVEN | WordClass.FAMILY
_WEAK = WordClass.WEAK_GIVEN | WordClass.WEAK_FAMILY
_PLACE = WordClass.CITY | WordClass.TOWN
_NO_TOWN = WordClass.WORD | WordClass.DRUG | WordClass.EPONYM | WordClass.GIVEN
_PLACE_CUES = frozenset(listed("in from to of near the outside around north south"))

_SAINTS = frozenset({"st", "saint", "mt", "mount"})
_NAME_GAPS = frozenset({" ", "  ", ". ", "."})

_STOPS = load_list("words_between_names")
_NO_INSTITUTION = frozenset({"outside", "local", "same", "day", "home"})
_INSTITUTION_CUES = frozenset({"at", "to", "from"})
_MOST_WORDS = 4
_WORD_GAPS = frozenset({" ", "  ", "-"})
_ENDS = frozenset({"", ".", ",", "\n"})
_WEAK_PART = WordClass.WEAK_GIVEN | WordClass.WEAK_FAMILY | WordClass.TOWN
_STRONG_PART = WordClass.GIVEN | WordClass.FAMILY | WordClass.CITY | WordClass.UNKNOWN
_NAMES_INSTITUTION = _STRONG_PART | WordClass.TOWN | WordClass.RARE


def truecased(text: str) -> str:
    """Return the text with capitals where they belong, if it is in one letter case.

    The result has the same length, code point for code point; a text in mixed case is
    returned as it is.  A heading in capitals does not make a note one in capitals.
    """
    if not is_in_one_case(text):
        return text
    return Truecaser.of(same_length_lower(text)).result()


def is_in_one_case(text: str) -> bool:
    """Return whether a text is in upper case, or in lower case, alone.

    Not so for a text of a few letters.
    """
    encoded = text.encode("utf-8", "surrogatepass")
    # Most notes begin with more of both than a share of all their letters could be.
    upper, lower = _capitals_and_small(encoded[:_BEGINNING])
    most = len(encoded)
    if (
        upper > _MOST_CAPITALS_IN_SMALL * most
        and lower > _MOST_SMALL_IN_CAPITALS * most
    ):
        return False
    upper, lower = _capitals_and_small(encoded)
    if not upper + lower:
        # In a text without letters of ASCII, all others count.
        upper, lower = sum(map(str.isupper, text)), sum(map(str.islower, text))
    is_capitals = lower <= _MOST_SMALL_IN_CAPITALS * upper
    is_small = upper <= _MOST_CAPITALS_IN_SMALL * lower
    return upper + lower >= _LETTERS_LEAST and (is_capitals or is_small)


def _capitals_and_small(encoded: bytes) -> tuple[int, int]:
    """Return how many letters are capitals and how many small, of ASCII's alone."""
    upper = len(encoded) - len(encoded.translate(None, _CAPITALS))
    lower = len(encoded) - len(encoded.translate(None, _SMALL))
    return upper, lower


@dataclass(frozen=True, slots=True, repr=False)
class Truecaser:
    """The words of a text in lower case, and which of them get a capital.

    Args:
        text: In lower case.
        words: Its words, left to right.
        forms: Their compared forms, without possessive.
        kinds: What the lexicons say of each.
        chosen: The words that get a capital, by position.
    """

    text: str
    words: list[re.Match[str]]
    forms: list[str]
    kinds: list[int]
    chosen: set[int]

    @classmethod
    def of(cls, text: str) -> Truecaser:
        """Read a text in lower case."""
        words = list(_WORD.finditer(text))
        forms = [_form(each[0]) for each in words]
        return cls(text, words, forms, list(map(word_classes, forms)), set())

    def result(self) -> str:
        """Return the text with its capitals, as long as it was."""
        self.chosen.update(filter(self._is_name_alone, range(len(self.words))))
        self._choose_next_to_names()
        self._choose_sentence_starts()
        self._choose_phrases()
        _choose_institutions(self)
        characters = list(self.text)
        for at in self.chosen:
            start = self.words[at].start()
            characters[start] = _upper(characters[start])
        for start, end in self._whole():
            characters[start:end] = map(_upper, characters[start:end])
        for found in (*_STREET.finditer(self.text), *_ADDRESS.finditer(self.text)):
            characters[found.start() : found.end()] = found[0].title()
            if found.re is _ADDRESS and len(found["state"]) == 2:
                start, end = found.span("state")
                characters[start:end] = found["state"].upper()
        return "".join(characters)

    def gap(self, at: int) -> str:
        """Return what separates a word from the one before it."""
        return self.text[self.words[at - 1].end() : self.words[at].start()]

    def _is_name_alone(self, at: int) -> bool:
        form, kinds, start = self.forms[at], self.kinds[at], self.words[at].start()
        if form in _DATE_WORDS:
            return True
        if form in _SHORT_DAYS | _SHORT_MONTHS:
            return _is_of_date(self.text, *self.words[at].span(), form)
        if form in _NAMES_OF_TESTS:
            return False
        if form in _MAYBE_MONTHS:
            return bool(_MONTH_CUE.search(self.text, max(0, start - 8), start))
        if kinds & WordClass.CITY and not kinds & (WordClass.DRUG | WordClass.EPONYM):
            return True
        if at and self._is_lived_in(at):
            return True
        if not kinds & _STRONG or kinds & WordClass.WORD or len(form) < 3:
            return False
        return is_common_name(form) or context.is_person_described(
            self.text, *self.words[at].span()
        )

    def _is_lived_in(self, at: int) -> bool:
        """Return whether a town, state, country or unknown word is lived in."""
        form, kinds, start = self.forms[at], self.kinds[at], self.words[at].start()
        before = self.forms[at - 1]
        if form in _lands() and before in _PLACE_CUES:
            return True
        is_town = bool(kinds & WordClass.TOWN) and not kinds & _NO_TOWN
        if not (is_town or kinds & (WordClass.UNKNOWN | WordClass.FAMILY)):
            return False
        if before not in _PLACE_CUES or kinds & WordClass.WORD:
            return False
        return context.is_after_home_cue(self.text, start) or (
            is_town and context.is_in_town(self.text, start)
        )

    def _choose_next_to_names(self) -> None:
        for at in range(1, len(self.words)):
            if self.gap(at) in _NAME_GAPS:
                self._choose_next_to(at)

    def _choose_next_to(self, at: int) -> None:
        before, form, gap = self.forms[at - 1], self.forms[at], self.gap(at)
        kinds, left = self.kinds[at], self.kinds[at - 1]
        may_be_name = bool(kinds & (_STRONG | _WEAK | WordClass.UNKNOWN))
        is_rare = zipf(form) < _TOO_FREQUENT
        if before in load_list("honorifics"):
            if may_be_name and is_rare and len(form) > 2:
                self.chosen.update((at - 1, at))
        elif gap.startswith("."):
            return
        elif at - 1 in self.chosen and (
            left & WordClass.GIVEN or self._is_titled(at - 1)
        ):
            if (may_be_name and is_rare) or (len(form) == 1 and form not in "ai"):
                self.chosen.add(at)
        elif (
            left & (WordClass.GIVEN | WordClass.WEAK_GIVEN)
            and zipf(before) < _TOO_FREQUENT
        ):
            is_initial = len(form) == 1 and self._is_dotted(at)
            is_surname = kinds & WordClass.FAMILY and not kinds & WordClass.WORD
            if is_surname or is_initial:
                self.chosen.update((at - 1, at))

    def _is_titled(self, at: int) -> bool:
        return at > 0 and self.forms[at - 1] in load_list("honorifics")

    def _is_dotted(self, at: int) -> bool:
        end = self.words[at].end()
        return self.text[end : end + 1] == "."

    def _choose_sentence_starts(self) -> None:
        for at, word in enumerate(self.words):
            start = word.start()
            if _SENTENCE_START.search(self.text, max(0, start - 10), start):
                self.chosen.add(at)

    def _choose_phrases(self) -> None:
        """Choose towns, hospitals and firms of several words, and saints."""
        for table in (city_phrases(), _institutions_of_words(), _lands_of_words()):
            for at in range(len(self.forms)):
                count = longest(table, self.forms, at)
                self.chosen.update(range(at, at + count))
        for at in range(1, len(self.forms)):
            if self.gap(at) == ", " and at - 1 in self.chosen:
                self.chosen.update({at} if self.forms[at] in _lands() else ())
            is_saint = self.forms[at - 1] in _SAINTS and self.gap(at) in _NAME_GAPS
            if is_saint and self.kinds[at] & (_STRONG | _WEAK | _PLACE):
                self.chosen.update((at - 1, at))

    def _whole(self) -> list[tuple[int, int]]:
        """Return what is in capitals throughout: UCSF, "Reno, NV", J., MRN-12345."""
        spans = [
            word.span()
            for word, form in zip(self.words, self.forms, strict=True)
            if form in _acronyms() or self._is_state_code(word, form)
        ]
        codes = (each.finditer(self.text) for each in (_CODE, _DOTTED))
        return spans + [found.span() for every in codes for found in every]

    def _is_state_code(self, word: re.Match[str], form: str) -> bool:
        before = self.text[max(0, word.start() - 2) : word.start()]
        return len(form) == 2 and before == ", " and (form,) in states()


def _choose_institutions(note: Truecaser) -> None:
    """Choose "at the mercy general hospital", from the preposition on."""
    for at, form in enumerate(note.forms):
        if form in HEADS:
            _choose_before_head(note, at)
        elif form in WEAK_HEADS and at - 1 in note.chosen and note.gap(at) == " ":
            note.chosen.add(at)
        elif form in _INSTITUTION_CUES:
            _choose_after_at(note, at)


def _choose_before_head(note: Truecaser, at: int) -> None:
    start = at
    while (
        at - start < _MOST_WORDS
        and start
        and note.forms[start - 1] not in _STOPS
        and (note.gap(start) in _WORD_GAPS or note.forms[start - 1] in _SAINTS)
    ):
        start -= 1
    forms = note.forms[start:at]
    if {*forms} & _NO_INSTITUTION or forms == ["university"]:
        return
    known_by_place = forms in (["general"], ["county"], ["city"], ["children"])
    if start and note.forms[start - 1] in _STOPS:
        is_institution = known_by_place or is_own_name({*forms})
    else:
        is_institution = _is_institution_apart(note, start, at)
    if is_institution:
        note.chosen.update(range(start, at + 1))


def _is_institution_apart(note: Truecaser, start: int, at: int) -> bool:
    """Return whether an institution begins a line or a phrase, without "at" before it.

    Only by a name, or alone on its line or phrase, unlike "Wound clinic follow-up".
    """
    if start and note.gap(start) in _WORD_GAPS:
        return False
    own = [n for n in range(start, at) if is_own_name({note.forms[n]})]
    if any(note.kinds[n] & _NAMES_INSTITUTION for n in own):
        return True
    end = note.words[at].end()
    follows = note.text[end : end + 1]
    return follows in _ENDS and len(own) > (note.forms[at] != "hospital")


def _choose_after_at(note: Truecaser, at: int) -> None:
    """Choose "treated at cedar crest", if the words are names elsewhere."""
    if at + 1 >= len(note.words):
        return
    first = at + 1
    if note.forms[first] in _institutions_of_one_word():
        note.chosen.add(first)
    if not context.is_after_care(note.text, note.words[first].start()):
        return
    end = first
    while (
        end < len(note.words)
        and end - first < _MOST_WORDS
        and note.forms[end] not in _STOPS
        and (end == first or note.gap(end) in _NAME_GAPS)
    ):
        end += 1
    kinds = note.kinds[first:end]
    strong = sum(bool(each & _STRONG_PART) for each in kinds)
    weak = sum(bool(each & _WEAK_PART) for each in kinds)
    if (strong or weak > 1) and is_own_name({*note.forms[first:end]}):
        note.chosen.update(range(first, end))


def _is_of_date(text: str, start: int, end: int, form: str) -> bool:
    """Return whether a number precedes or follows: "dec 16"; not "he sat"."""
    if _NUMBER_AFTER.match(text, end):
        return True
    before = _NUMBER_BEFORE.search(text, max(0, start - 10), start)
    return form in _SHORT_MONTHS and before is not None


def _form(word: str) -> str:
    bare = normal(word).replace("\u2019", "'")
    return bare.removesuffix("'s").replace("'", "")


def _upper(character: str) -> str:
    upper = character.upper()
    return upper if len(upper) == 1 else character


@cache
def _institutions_of_words() -> Phrases:
    """Return hospitals and firms of two words and more."""
    every = load_list("hospital_brands") | load_list("organizations")
    return by_first_word(tuple(name.split()) for name in every if " " in name)


@cache
def _lands_of_words() -> Phrases:
    """Return the states and countries of two words and more."""
    return by_first_word(words for words in _every_land() if len(words) > 1)


@cache
def _lands() -> frozenset[str]:
    """Return the states and countries of one word."""
    return frozenset(words[0] for words in _every_land() if len(words) == 1)


def _every_land() -> set[tuple[str, ...]]:
    lands = {forms_of(name) for name in countries()}
    return lands | {words for words in states() if len(" ".join(words)) > 2}


@cache
def _institutions_of_one_word() -> frozenset[str]:
    """Return hospitals and firms of one word."""
    every = load_list("hospital_brands") | load_list("organizations")
    return frozenset(name for name in every if " " not in name)


@cache
def _acronyms() -> frozenset[str]:
    """Return the words that are written in capitals throughout: UCSF, NYC."""
    every = load_list("hospital_brands") | load_list("organizations")
    short = {name for name in every if " " not in name and len(name) <= 4}
    known = {
        word
        for word in short
        if not word_classes(word)
        & (WordClass.WORD | WordClass.GIVEN | WordClass.FAMILY)
    }
    return frozenset(known | {"nyc", "md", "va", "uw", "nyu", "ucsf", "ucla", "cvs"})
