"""Truecasing: restore mixed case to notes written in one letter case.

Detection reads case: a name is a word that is capitalised where others are not.  A note
all in upper or all in lower case gets that difference back before detection, by the
lexicons and the words around: titles, names, numbers, prepositions.  It changes
letter by letter, so every offset stays; the note itself is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from deid_core.runtime.text_cache import cached_by_text

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
from .lexicons.word_classes import WordClass, is_listed, word_classes

_CAPITALS, _SMALL = ascii_uppercase.encode(), ascii_lowercase.encode()
_LETTERS_LEAST = 24
_BEGINNING = 512
_MOST_SMALL_IN_CAPITALS = 0.1
_MOST_CAPITALS_IN_SMALL = 0.01

_WORD = re.compile(r"([^\W\d_]+(?:['\u2019][^\W\d_]+)*)")
_SENTENCE_START = re.compile(r"(?:\A|[.!?:]\s|\n)[\s\"'(-]{0,8}(?=[^\W\d_])")
# Each begins with what is rare, and looks back from there.
_CODE = re.compile(r"(?<![^\W_])[a-z]{1,5}[-#]?\d[a-z\d-]{3,}(?![^\W_])")
_NUMBER_OF_CODE = re.compile(r"\d{3}")
_START_OF_NUMBER = re.compile(r"(?<![\w/-])[a-z\d/-]{0,24}\Z")
_CODE_OF_GROUPS = re.compile(
    r"(?:[a-z]{1,6}[/-]){1,3}\d[a-z\d/-]{2,24}(?![^\W_])"
    r"|\d{1,4}-?[a-z]{1,4}-?\d{3,12}(?![^\W_])|\d{3,}-[a-z]{3}(?![^\W_])"
)
_DIGIT_OF_CODE = re.compile(r"\d(?<=[a-z#-]\d)(?=[a-z\d-]{3})")
_START_OF_CODE = re.compile(r"(?<![^\W_])[a-z]{1,5}[-#]?\Z")
_LONGEST_START = len("mrnid-")
_DOT_AFTER_LETTER = re.compile(r"\.(?<=[a-z]\.)(?<![a-z][a-z]\.)")
_STREET = re.compile(
    r"\d(?<![\w.]\d)\d{0,4} (?:[a-z]+\.? ){1,3}"
    r"(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr"
    r"|boulevard|blvd|court|ct|way|place|pl|terrace|circle|parkway|highway)\b"
)
# A number, any words, a town, a state's code, ZIP: "12 bruce tunnel apt 3, ely, nv 89".
_ADDRESS = re.compile(
    rf"""
    \d(?<![\w.]\d)\d{{0,5}}[a-z]?
    (?:[ ][a-z][a-z'-]*\.?){{1,5}}(?:[ ]?\#?[a-z]?\d[\w-]*)?
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
_SHORT_DATE_WORDS = _SHORT_DAYS | _SHORT_MONTHS
_NUMBER_AFTER = re.compile(r"[ .,/-]{0,2}\d")
_NUMBER_BEFORE = re.compile(r"\d(?:st|nd|rd|th)?(?: of)?[ .,/-]{0,2}\Z")
# ANA, polycythemia vera: in lower case more often than the names.
_NAMES_OF_TESTS = frozenset({"ana", "vera"})
# Above, a word that is also a surname is the word: will, may, long.
_TOO_FREQUENT = 5.45
_STRONG = WordClass.GIVEN | WordClass.FAMILY
_WEAK = WordClass.WEAK_GIVEN | WordClass.WEAK_FAMILY
_ANY_GIVEN = WordClass.GIVEN | WordClass.WEAK_GIVEN
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
_MOST_WORDS_KEPT = 65_536


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


class _Role:
    """Roles that a word may have, judged by itself: bits of a number.

    Most words have none: only those that have are looked at in their context.
    """

    NAME_ALONE = 1
    """It may be a name, whatever is next to it."""
    BEFORE_NAME = 2
    """It makes a name of the next word: a title, or a given name."""
    BEGINS_PHRASE = 4
    """A town, institution, state or country of several words begins with it."""
    CONTINUES_PHRASE = 8
    """It is the second word of one."""
    LAND = 16
    """A state or country."""
    SAINT = 32
    INSTITUTION = 64
    """The head of an institution's name, or a preposition before one."""
    CAPITALS = 128
    """It may be in capitals throughout."""


class _Word(NamedTuple):
    """A word, without its context.

    Args:
        form: In compared form, without possessive.
        kinds: What the lexicons say.
        roles: See `_Role`.
    """

    form: str
    kinds: int
    roles: int


@cached_by_text(_MOST_WORDS_KEPT, keeps=is_listed)
def _word(word: str) -> _Word:
    form = normal(word).replace("\u2019", "'").removesuffix("'s").replace("'", "")
    kinds = word_classes(form)
    roles = _listed_roles().get(form, 0)
    if _may_be_name_alone(form, kinds):
        roles |= _Role.NAME_ALONE
    if kinds & _ANY_GIVEN:
        roles |= _Role.BEFORE_NAME
    return _Word(form, kinds, roles)


@cache
def _listed_roles() -> dict[str, int]:
    """Return the roles that words have by the lists."""
    phrases = [
        words
        for table in _every_phrase()
        for group in table.values()
        for words in group
    ]
    roles: dict[str, int] = {}
    for role, words in (
        (_Role.BEFORE_NAME, load_list("honorifics")),
        (_Role.BEGINS_PHRASE, {words[0] for words in phrases}),
        (_Role.CONTINUES_PHRASE, {words[1] for words in phrases}),
        (_Role.LAND, _lands()),
        (_Role.SAINT, _SAINTS),
        (_Role.INSTITUTION, HEADS | WEAK_HEADS | _INSTITUTION_CUES),
        (_Role.CAPITALS, _acronyms() | {words[0] for words in states()}),
    ):
        for word in words:
            roles[word] = roles.get(word, 0) | role
    return roles


def _may_be_name_alone(form: str, kinds: int) -> bool:
    """Return False for most words that `Truecaser._is_name_alone` refuses."""
    if form in _DATE_WORDS or form in _SHORT_DATE_WORDS or form in _MAYBE_MONTHS:
        return True
    if form in _NAMES_OF_TESTS:
        return False
    if kinds & WordClass.CITY or form in _lands():
        return True
    return not kinds & WordClass.WORD and bool(
        kinds & (_STRONG | WordClass.TOWN | WordClass.UNKNOWN)
    )


@dataclass(frozen=True, slots=True, repr=False)
class Truecaser:
    """The words of a text in lower case, and which of them get a capital.

    Args:
        text: In lower case.
        gaps: What is before each word, and past the last.
        starts: Where each word begins.
        ends: Where each word ends.
        forms: Their compared forms, without possessive.
        kinds: What the lexicons say of each.
        roles: What each may do (`_Role`).
        marked: The words that have any role, by position.
        chosen: The words that get a capital, by position.
    """

    text: str
    gaps: list[str]
    starts: list[int]
    ends: list[int]
    forms: list[str]
    kinds: list[int]
    roles: list[int]
    marked: list[int]
    chosen: set[int]

    @classmethod
    def of(cls, text: str) -> Truecaser:
        """Read a text in lower case."""
        # What is between words, and words, in turn.
        pieces = _WORD.split(text)
        bounds = list(accumulate(map(len, pieces)))
        words = list(map(_word, pieces[1::2]))
        roles = [each.roles for each in words]
        return cls(
            text,
            pieces[::2],
            bounds[:-1:2],
            bounds[1::2],
            [each.form for each in words],
            [each.kinds for each in words],
            roles,
            [at for at, each in enumerate(roles) if each],
            set(),
        )

    def result(self) -> str:
        """Return the text with its capitals, as long as it was."""
        self.chosen.update(filter(self._is_name_alone, self.having(_Role.NAME_ALONE)))
        self._choose_next_to_names()
        self._choose_sentence_starts()
        self._choose_phrases()
        _choose_institutions(self)
        characters = list(self.text)
        for at in self.chosen:
            start = self.starts[at]
            characters[start] = _upper(characters[start])
        for start, end in self._whole():
            characters[start:end] = map(_upper, characters[start:end])
        for found in (*_STREET.finditer(self.text), *_ADDRESS.finditer(self.text)):
            characters[found.start() : found.end()] = found[0].title()
            if found.re is _ADDRESS and len(found["state"]) == 2:
                start, end = found.span("state")
                characters[start:end] = found["state"].upper()
        return "".join(characters)

    def having(self, role: int) -> list[int]:
        """Return the words that have a role, by position."""
        roles = self.roles
        return [at for at in self.marked if roles[at] & role]

    def _is_name_alone(self, at: int) -> bool:
        form, kinds, start = self.forms[at], self.kinds[at], self.starts[at]
        if form in _DATE_WORDS:
            return True
        if form in _SHORT_DATE_WORDS:
            return _is_of_date(self.text, start, self.ends[at], form)
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
            self.text, start, self.ends[at]
        )

    def _is_lived_in(self, at: int) -> bool:
        """Return whether a town, state, country or unknown word is lived in."""
        form, kinds, start = self.forms[at], self.kinds[at], self.starts[at]
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
        # What is chosen here may make a name of the next word.
        for at, roles in enumerate(self.roles[:-1], 1):
            if (roles & _Role.BEFORE_NAME or at - 1 in self.chosen) and self.gaps[
                at
            ] in _NAME_GAPS:
                self._choose_next_to(at)

    def _choose_next_to(self, at: int) -> None:
        before, form, gap = self.forms[at - 1], self.forms[at], self.gaps[at]
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
            is_name = may_be_name and is_rare
            if is_name or (len(form) == 1 and form not in "ai"):
                self.chosen.add(at)
            self.chosen.update(self._double_name(at))
        elif left & _ANY_GIVEN and zipf(before) < _TOO_FREQUENT:
            is_initial = len(form) == 1 and self._is_dotted(at)
            is_surname = kinds & WordClass.FAMILY and not kinds & WordClass.WORD
            if is_surname or is_initial:
                self.chosen.update((at - 1, at))

    def _double_name(self, at: int) -> tuple[int, ...]:
        """Return both words where a surname follows a hyphen: "bucket-lane"."""
        if self.gaps[at + 1] != "-" or at + 1 == len(self.kinds):
            return ()
        is_surname = self.kinds[at + 1] & (WordClass.FAMILY | WordClass.WEAK_FAMILY)
        return (at, at + 1) if is_surname else ()

    def _is_titled(self, at: int) -> bool:
        return at > 0 and self.forms[at - 1] in load_list("honorifics")

    def _is_dotted(self, at: int) -> bool:
        return self.gaps[at + 1].startswith(".")

    def _choose_sentence_starts(self) -> None:
        word_at = {start: at for at, start in enumerate(self.starts)}
        for found in _SENTENCE_START.finditer(self.text):
            self.chosen.add(word_at[found.end()])

    def _choose_phrases(self) -> None:
        """Choose towns, hospitals and firms of several words, and saints."""
        for at in self.having(_Role.CONTINUES_PHRASE):
            if at and self.roles[at - 1] & _Role.BEGINS_PHRASE:
                for table in _every_phrase():
                    count = longest(table, self.forms, at - 1)
                    self.chosen.update(range(at - 1, at - 1 + count))
        for at in self.having(_Role.SAINT):
            if (
                at + 1 < len(self.forms)
                and self.gaps[at + 1] in _NAME_GAPS
                and self.kinds[at + 1] & (_STRONG | _WEAK | _PLACE)
            ):
                self.chosen.update((at, at + 1))
        for at in self.having(_Role.LAND):
            if at - 1 in self.chosen and self.gaps[at] == ", ":
                self.chosen.add(at)

    def _whole(self) -> Iterator[tuple[int, int]]:
        """Yield what is in capitals throughout: UCSF, "Reno, NV", J., MRN-12345."""
        for at in self.having(_Role.CAPITALS):
            if self.forms[at] in _acronyms() or self._is_state_code(at):
                yield self.starts[at], self.ends[at]
        for found in _DOT_AFTER_LETTER.finditer(self.text):
            yield found.start() - 1, found.start()
        yield from _codes(self.text)

    def _is_state_code(self, at: int) -> bool:
        form = self.forms[at]
        before = self.gaps[at].endswith(", ")
        return len(form) == 2 and before and (form,) in states()


def _codes(text: str) -> Iterator[tuple[int, int]]:
    """Yield the matches of `_CODE` and `_CODE_OF_GROUPS`, from their digits."""
    past = 0
    for digit in _DIGIT_OF_CODE.finditer(text):
        at = digit.start()
        start = _START_OF_CODE.search(text, max(past, at - _LONGEST_START), at)
        if start is not None and (found := _CODE.match(text, start.start())):
            past = found.end()
            yield found.span()
    for number in _NUMBER_OF_CODE.finditer(text):
        start = _START_OF_NUMBER.search(text, max(0, number.start() - 24), number.end())
        if start is not None and (found := _CODE_OF_GROUPS.match(text, start.start())):
            yield found.span()


def _choose_institutions(note: Truecaser) -> None:
    """Choose "at the mercy general hospital", from the preposition on."""
    for at in note.having(_Role.INSTITUTION):
        form = note.forms[at]
        if form in HEADS:
            _choose_before_head(note, at)
        elif form in WEAK_HEADS and at - 1 in note.chosen and note.gaps[at] == " ":
            note.chosen.add(at)
        elif form in _INSTITUTION_CUES:
            _choose_after_at(note, at)


def _choose_before_head(note: Truecaser, at: int) -> None:
    start = at
    while (
        at - start < _MOST_WORDS
        and start
        and note.forms[start - 1] not in _STOPS
        and (note.gaps[start] in _WORD_GAPS or note.forms[start - 1] in _SAINTS)
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
    if start and note.gaps[start] in _WORD_GAPS:
        return False
    own = [n for n in range(start, at) if is_own_name({note.forms[n]})]
    if any(note.kinds[n] & _NAMES_INSTITUTION for n in own):
        return True
    return note.gaps[at + 1][:1] in _ENDS and len(own) > (note.forms[at] != "hospital")


def _choose_after_at(note: Truecaser, at: int) -> None:
    """Choose "treated at cedar crest", if the words are names elsewhere."""
    if at + 1 >= len(note.forms):
        return
    first = at + 1
    if note.forms[first] in _institutions_of_one_word():
        note.chosen.add(first)
    if not context.is_after_care(note.text, note.starts[first]):
        return
    end = first
    while (
        end < len(note.forms)
        and end - first < _MOST_WORDS
        and note.forms[end] not in _STOPS
        and (end == first or note.gaps[end] in _NAME_GAPS)
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


def _upper(character: str) -> str:
    upper = character.upper()
    return upper if len(upper) == 1 else character


@cache
def _every_phrase() -> tuple[Phrases, ...]:
    return city_phrases(), _institutions_of_words(), _lands_of_words()


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
