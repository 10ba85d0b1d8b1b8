"""Replace single values of a message, by rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain

from deid_core import Label
from deid_core.surrogates.tag import tag_of
from streams.engine.character_sets import codec_of
from streams.formats.values import (
    Known,
    Rule,
    Verb,
    identifier,
    replaced,
    telecom_label,
)
from streams.model.parts import Values
from streams.model.patients.demographics import Demographics, Name, is_day
from streams.model.patients.known_identifiers import LABELS_OF_ID_TYPES
from streams.model.patients.numbers import SHORTEST

from .field_rules import CODES, TEXTS, Codes, Word
from .message import Delimiters, unescape

_CODE = re.compile(r"[A-Za-z0-9][\w.+/&-]{0,19}|[<>*+-]{1,3}", re.ASCII)
_LOCAL_CODE = re.compile(r"[\w.%<>*(\[{/][\w.+/%*()\[\]{}<>&:#'-]{0,19}", re.ASCII)
_LOCAL_SYSTEM = "L"
_HL7_TABLE = re.compile(r"HL7\d{3,4}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d{1,7}(?:\.\d{0,6})?|\.\d{1,6})", re.ASCII)
_SIGN = re.compile(r"[<>=]{1,2}|[-+/.:]")
_OID = re.compile(r"[0-2](?:\.\d{1,10}){4,15}", re.ASCII)
_RANGE = re.compile(
    r"(?:[<>]=?|=)? ?[+-]?\d{1,6}(?:\.\d{1,4})?"
    r"(?: ?(?:-|to) ?[+-]?\d{1,6}(?:\.\d{1,4})?)?",
    re.ASCII,
)
_DATE = re.compile(
    r"(?P<year>\d{4})(?:-?(?P<month>\d\d)(?:-?(?P<day>\d\d)"
    r"(?:[ T]?\d\d(?::?\d\d(?::?\d\d(?:\.\d{1,6})?)?)?)?)?)?(?:Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_YEAR = re.compile(r"\d{4}", re.ASCII)
LETTERS = re.compile(r"[A-Za-z]{4}")
"""A word of so many letters may be a name."""
_WORD = re.compile(r"[^\W_]+")
_MOST_DIGITS = 5
"""Of a code: a longer number may identify somebody."""
_SHORTEST_WORD = 3
_PHONE_PARTS = (4, 7)
_ID_TYPE = 4
_TO_STATE = 1
"""Where the state lies beside a town (AD, XAD)."""
_TO_SYSTEM: Mapping[StrEnum, int] = {Verb.CODE: 2, Verb.MEANING: 1}
"""Where the coding system of a code, and of its name, lies beside it (CWE)."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value, its rule, and the values beside it.

    Args:
        text: Without escape sequences and surrounding space.
        rule: Its rule.
        siblings: All components, or subcomponents, that it is one of, as written.
        at: Its index among them.
    """

    text: str = field(repr=False)
    rule: Rule
    siblings: Sequence[str] = field(repr=False)
    at: int


class Checks:
    """Checks of what the values of a message look like.

    Args:
        codes: What codes look like.
        delimiters: Of the message.
        demographics: Those in the message: what repeats one of them is no code.
    """

    def __init__(
        self, codes: Codes, delimiters: Delimiters, demographics: Demographics
    ) -> None:
        self.codes = codes
        self._delimiters = delimiters
        self._withheld = frozenset(_words_of(demographics))
        self.known = Known.of(demographics)

    def is_text(self, given: Value, raw: str) -> bool:
        """Return whether a value is scrubbed as a text, which a code of letters is."""
        verb = given.rule.verb
        if verb in TEXTS:
            if verb is Word.RANGE and is_range(raw.strip(" ")):
                return self.known.has_code(raw)
            return not self._is_name_of_code(raw)
        if verb not in CODES or not LETTERS.search(given.text):
            return False
        is_public = verb is Verb.CODE and self.is_public_code(given)
        return not is_public and not self._is_name_of_code(given.text)

    def is_withheld(self, text: str) -> bool:
        """Return whether a value, or a word of it, is one of the patient's record."""
        folded = text.casefold()
        return not self._withheld.isdisjoint((folded, *_WORD.findall(folded)))

    def is_public_code(self, given: Value) -> bool:
        """Return whether a code has the form of the public coding system beside it."""
        form = self.codes.systems.get(self._system(given))
        return form is not None and form.fullmatch(given.text) is not None

    def is_vocabulary(self, given: Value) -> bool:
        """Return whether a public coding system is beside a code or its name."""
        return self._system(given) in self.codes.systems

    def is_identifying(self, given: Value) -> bool:
        """Return whether a code, or its name, is of a system of places or persons."""
        return self._system(given) in self.codes.identifying

    def _system(self, given: Value) -> str:
        distance = _TO_SYSTEM.get(given.rule.verb)
        if distance is None:
            return ""
        return self.value(given.siblings, given.at + distance).upper()

    def value(self, raws: Sequence[str], at: int) -> str:
        """Return the text of a component, or an empty string."""
        return unescape(raws[at], self._delimiters).strip() if at < len(raws) else ""

    def _is_name_of_code(self, text: str) -> bool:
        return text.casefold() in self.codes.names and not self.is_withheld(text)


class ValueWriter:
    """Writes single values.  None: a value is removed.

    Args:
        checks: Of the message.
        values: Of the patient.
    """

    def __init__(self, checks: Checks, values: Values) -> None:
        self._checks = checks
        self._codes = checks.codes
        self._values = values
        self.is_age = False
        self._written: dict[tuple[Rule, str], str | None] = {}

    def write(self, given: Value) -> str | None:
        """Return what is written in place of a value."""
        rule = given.rule
        if rule.verb not in _ALONE or rule.label is Label.CITY:
            return _VERBS[rule.verb](self, given)
        # Results repeat their dates, laboratory and physicians.
        key = rule, given.text
        if key not in self._written:
            self._written[key] = _VERBS[rule.verb](self, given)
        return self._written[key]

    def remove(self, _: Value) -> None:
        """Remove a value."""

    def plain_code(self, given: Value) -> str | None:
        """Keep a code that identifies nobody."""
        return given.text if self._is_code(given.text, _CODE) else None

    def code(self, given: Value) -> str:
        """Keep a code of a public system, and a local one that identifies nobody."""
        is_public = self._checks.is_public_code(given)
        is_kept = is_public or self._is_code(given.text, _LOCAL_CODE)
        return given.text if is_kept else self.local(given)

    def local(self, given: Value) -> str:
        """Replace a local code by its pseudonym: equal ones stay equal."""
        return self._values.pseudonym("code", given.text)

    def system(self, given: Value) -> str:
        """Keep the name of a public coding system; others become local."""
        name = given.text.upper()
        is_public = name in self._codes.public or _HL7_TABLE.fullmatch(name)
        return given.text if is_public or self.oid(given) else _LOCAL_SYSTEM

    def oid(self, given: Value) -> str | None:
        """Keep an object identifier of a public code system."""
        is_public = given.text.startswith(self._codes.oids)
        return given.text if is_public and _OID.fullmatch(given.text) else None

    def number(self, given: Value) -> str | None:
        """Keep a number; an age is written as the policy says."""
        if not _NUMBER.fullmatch(given.text):
            return None
        if self.is_age:
            age = self._values.replaced(Label.AGE, given.text)
            return age if _NUMBER.fullmatch(age) else ""
        if len(given.text) < SHORTEST:
            return given.text
        is_withheld = self._checks.is_withheld(given.text) or (
            self._checks.known.has_number(given.text)
        )
        return None if is_withheld else given.text

    def sign(self, given: Value) -> str | None:
        """Keep a comparison sign or a separator (SN)."""
        return given.text if _SIGN.fullmatch(given.text) else None

    def date(self, given: Value) -> str | None:
        """Move a date as those of the notes."""
        return moved(given.text, self._values)

    def title(self, given: Value) -> str | None:
        """Keep a title or degree that many have."""
        words = re.sub(r"[.\s]", "", given.text).upper()
        return given.text if words in self._codes.titles else None

    def name(self, given: Value) -> str:
        """Replace a person's name; a number in its place is an identifier."""
        if any(map(str.isdigit, given.text)):
            kind = "person" if given.rule.label is Label.PATIENT else "provider"
            return self._values.pseudonym(kind, given.text)
        return self.replaced(given)

    def identifier(self, given: Value) -> str:
        """Replace an identifier by its type (CX.5), or as the field says."""
        type_ = self._checks.value(given.siblings, _ID_TYPE).upper()
        label = LABELS_OF_ID_TYPES.get(type_) or given.rule.label or Label.IDNUM
        return identifier(self._values, label, given.text)

    def replaced(self, given: Value) -> str:
        """Replace a value as in the notes."""
        label, state = given.rule.label or Label.IDNUM, ""
        if label is Label.CITY:
            state = self._checks.value(given.siblings, given.at + _TO_STATE)
        return replaced(self._values, label, given.text, state)

    def facility(self, given: Value) -> str:
        """Replace an institution's name."""
        return identifier(self._values, Label.HOSPITAL, given.text, "authority")

    def country(self, given: Value) -> str:
        """Replace a country code; a tag would be no code."""
        written = self._values.replaced(Label.COUNTRY, given.text)
        return "" if written == tag_of(Label.COUNTRY) else written

    def telecom(self, given: Value) -> str:
        """Replace a telephone number or an e-mail address."""
        return self._values.replaced(telecom_label(given.text), given.text)

    def phone_part(self, given: Value) -> str | None:
        """Replace country, area and local number as the number that they make."""
        parts = [self._checks.value(given.siblings, n) for n in range(*_PHONE_PARTS)]
        number = " ".join(filter(None, parts))
        written = self._values.replaced(Label.PHONE, number).split(" ")
        if len(written) != len([*filter(None, parts)]):
            return None
        return written[len([*filter(None, parts[: given.at - _PHONE_PARTS[0]])])]

    def pseudonym(self, given: Value) -> str:
        """Replace an identifier by its pseudonym."""
        return self._values.pseudonym(given.rule.argument, given.text)

    def charset(self, given: Value) -> str | None:
        """Keep the name of a character set."""
        return given.text if codec_of(given.text) else None

    def _is_code(self, text: str, form: re.Pattern[str]) -> bool:
        if not form.fullmatch(text) or sum(map(str.isdigit, text)) > _MOST_DIGITS:
            return False
        return not self._checks.is_withheld(text)


_VERBS: Mapping[StrEnum, Callable[[ValueWriter, Value], str | None]] = {
    Verb.REMOVE: ValueWriter.remove,
    Word.PLAIN_CODE: ValueWriter.plain_code,
    Verb.CODE: ValueWriter.code,
    Verb.SYSTEM: ValueWriter.system,
    Word.OID: ValueWriter.oid,
    Verb.NUMBER: ValueWriter.number,
    Word.SIGN: ValueWriter.sign,
    Verb.DATE: ValueWriter.date,
    Word.TITLE: ValueWriter.title,
    Word.NAME: ValueWriter.name,
    Verb.IDENTIFIER: ValueWriter.identifier,
    Verb.REPLACE: ValueWriter.replaced,
    Word.FACILITY: ValueWriter.facility,
    Word.COUNTRY: ValueWriter.country,
    Verb.TELECOM: ValueWriter.telecom,
    Word.PHONE_PART: ValueWriter.phone_part,
    Verb.PSEUDONYM: ValueWriter.pseudonym,
    Word.CHARSET: ValueWriter.charset,
}


_ALONE = (
    *(Verb.DATE, Word.NAME, Verb.REPLACE, Word.FACILITY, Word.COUNTRY),
    *(Verb.TELECOM, Verb.PSEUDONYM),
)
"""What is written depends on the value alone."""


def moved(text: str, values: Values) -> str | None:
    """Return an HL7 date as the policy writes it, without a time of day.

    A date that shows only year or month is moved as the middle of it.  None: it is no
    date.
    """
    found = _DATE.fullmatch(text)
    if found is None or not is_day(day := _day_of(found)):
        return None
    written = values.day(day)
    if _YEAR.fullmatch(written):
        return written
    shown = _DAY.fullmatch(written)
    if shown is None:
        return ""
    precision = sum(found[each] is not None for each in ("year", "month", "day"))
    return "".join(shown.groups()[:precision])


def is_range(text: str) -> bool:
    """Return whether a text is a range of numbers, as of OBX-7."""
    return _RANGE.fullmatch(text) is not None


def _day_of(found: re.Match[str]) -> str:
    month, day = found["month"], found["day"]
    if month is None:
        return f"{found['year']}-07-01"
    return f"{found['year']}-{month}-{day or '15'}"


def _words_of(demographics: Demographics) -> Iterator[str]:
    """Yield what no code of the message may be: names, numbers, places."""
    kin = (each.name for each in demographics.kin)
    names = (*demographics.names, *kin, *demographics.providers)
    places = ((each.street, each.city, each.zip[:5]) for each in demographics.addresses)
    numbers = (each.value for each in demographics.ids)
    for value in chain(chain.from_iterable(map(_parts_of, names)), *places, numbers):
        if len(value) >= _SHORTEST_WORD:
            yield value.casefold()


def _parts_of(name: Name) -> Iterator[str]:
    for part in (name.family, name.given, name.middle):
        yield part
        yield from _WORD.findall(part)
