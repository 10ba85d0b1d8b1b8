"""The vocabulary of rules, and how the values that all formats have are written.

A rule is a word, and what it applies to.  The files of HL7, FHIR and C-CDA share these;
a format that needs more of them declares them in its module of rules.

    remove              nothing is written
    type                as the rules of its data type say; so is any word in capitals
    list NAME           kept if it is in a list: a named one, or the rule itself
    boolean, time, unit kept if it is one
    number              kept if it is one, and none of the patient
    quantity, age       a number; an age, as the policy writes it
    date                a day or a year, as the policy writes dates
    code                kept if it is one of the coding system beside it
    system              the coding system of a code
    meaning             what a code means; vocabulary, if its system is public
    term                a short text, scrubbed as one line of all terms of the part
    scrub               a text that is scrubbed on its own
    narrative           part of a note
    document            a text or a file, opened and scrubbed
    replace LABEL       what notes show in its place
    identifier LABEL    likewise; a pseudonym where notes show a tag
    pseudonym KIND      a pseudonym of the value
    telecom             a telephone number, an e-mail address, a link
    namespace           a system of identifiers, kept if it names no institution
    id, reference       a pseudonym of an element, and of the one that it refers to

Without a label, the element around it says what it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from deid_core import Label, ScrubbedDocument
from deid_core.surrogates.tag import tag_of
from streams.engine.errors import ConfigError
from streams.model.parts import Rebuilt, Values
from streams.model.patients.demographics import Demographics, is_day
from streams.model.patients.known_identifiers import LABELS_OF_ID_TYPES
from streams.model.patients.numbers import digits_of, digits_of_number, numbers_of
from streams.model.towns import town

from .documents import Unreadable, shown_in
from .enclosed_notes import RebuiltEnclosed
from .free_texts import Texts, rebuilt_document

LONGEST_TERM = 200
"""Characters of a text that is scrubbed among others."""
OTHER = "other"
"""Stands in counts for names that the standard does not know."""
IN_A_YEAR = {"a": 1, "mo": 12, "wk": 52, "d": 365, "h": 8760, "min": 525_600}
"""How many of a unit of UCUM are at most a year."""

_OLDEST_SHOWN = 89
_SHOWN_AGE = re.compile(r"\d{1,3}\+?", re.ASCII)
_SHOWN_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?", re.ASCII)
_KIND = re.compile(r"[a-z]+")


class Verb(StrEnum):
    """The treatment of a value."""

    REMOVE = "remove"
    TYPE = "type"
    LIST = "list"
    BOOLEAN = "boolean"
    TIME = "time"
    UNIT = "unit"
    NUMBER = "number"
    QUANTITY = "quantity"
    AGE = "age"
    DATE = "date"
    CODE = "code"
    SYSTEM = "system"
    MEANING = "meaning"
    TERM = "term"
    SCRUB = "scrub"
    NARRATIVE = "narrative"
    DOCUMENT = "document"
    REPLACE = "replace"
    IDENTIFIER = "identifier"
    PSEUDONYM = "pseudonym"
    TELECOM = "telecom"
    NAMESPACE = "namespace"
    ID = "id"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule of a value.

    Args:
        verb: A `Verb`, or a word of the format's own.
        type: The data type whose rules it has.
        argument: A kind of pseudonym, or the name of a list.
        label: What it, or a name in it, is; None if the element around it says so.
        words: What is kept.
    """

    verb: StrEnum
    type: str = ""
    argument: str = ""
    label: Label | None = None
    words: frozenset[str] = frozenset()


class Vocabulary:
    """The words of a format's rules.

    Args:
        words: All of them.
        incomplete: Those that need a label or a kind.
        lists: By name.
    """

    def __init__(
        self,
        words: Iterable[StrEnum],
        incomplete: Collection[StrEnum] = (),
        lists: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        self._words = {each.value: each for each in words}
        self._incomplete = incomplete
        self._lists = lists or {}
        labelled = {Verb.TYPE, Verb.REPLACE, Verb.IDENTIFIER, *incomplete}
        self._labelled = labelled - {Verb.PSEUDONYM}
        self._rules: dict[str, Rule] = {}

    def rule(self, given: object, place: str) -> Rule:
        """Return the rule that words, or a list of what is kept, stand for.

        Args:
            given: As in a file.
            place: Of the value, for messages.

        Raises:
            ConfigError: It is unknown; the message lists the known ones.
        """
        if isinstance(given, list):
            return Rule(Verb.LIST, words=frozenset(given))
        words = str(given)
        if words not in self._rules:
            self._rules[words] = self._rule(words, place)
        return self._rules[words]

    def _rule(self, given: str, place: str) -> Rule:
        word, _, argument = given.partition(" ")
        is_type = word[:1].isupper() and Verb.TYPE not in self._words
        type_ = word if is_type else ""
        verb = Verb.TYPE if type_ else self._words.get(word)
        label = Label.__members__.get(argument) if verb in self._labelled else None
        is_argument = (
            label is not None
            or (verb in (Verb.LIST, Verb.TYPE) and argument in self._lists)
            or (verb is Verb.PSEUDONYM and _KIND.fullmatch(argument) is not None)
        )
        if verb is None or (not is_argument if argument else verb in self._incomplete):
            known = (
                f"{each} ..." if each in self._incomplete else each
                for each in sorted(self._words)
            )
            raise ConfigError(
                f"{place}: {given!r} is unknown; known: {', '.join(known)}; labels: "
                + ", ".join(Label.__members__)
            )
        words = self._lists.get(argument, frozenset())
        return Rule(verb, type_, "" if label else argument, label, words)


@dataclass(frozen=True, slots=True)
class Known:
    """Information in a part on what may be named in several places.

    Args:
        labels: What identifiers are, by their values.
        numbers: Those of the patient, which no other value of the part may be.
    """

    labels: Mapping[str, Label] = field(default_factory=dict, repr=False)
    numbers: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def of(cls, found: Demographics) -> Known:
        """Return what the demographics of a part say."""
        labels = {
            each.value: LABELS_OF_ID_TYPES.get(each.type, Label.IDNUM)
            for each in found.ids
        }
        return cls(labels, numbers_of(labels, found.phones, found.birth_dates))

    def has_number(self, written: str) -> bool:
        """Return whether a number is one of the patient, however it is written."""
        return digits_of_number(written) in self.numbers

    def has_code(self, written: str) -> bool:
        """Return whether the digits of a code are a number of the patient."""
        return digits_of(written) in self.numbers


def replaced(values: Values, label: Label, value: str, state: str = "") -> str:
    """Return what notes show in place of a value.

    Args:
        values: Of the patient.
        label: What it is.
        value: Without the blanks around it.
        state: In the same address, if it is a town.
    """
    if label is Label.CITY:
        return town(values, value, state)
    return values.replaced(label, value)


def identifier(values: Values, label: Label, value: str, kind: str = "") -> str:
    """Return what notes show in place of an identifier; a pseudonym if it is a tag."""
    shown = values.replaced(label, value)
    is_tag = shown == tag_of(label)
    return values.pseudonym(kind or label.name.lower(), value) if is_tag else shown


def telecom_label(value: str) -> Label:
    """Return what a number or an address is that does not say it itself."""
    return Label.EMAIL if "@" in value else Label.PHONE


def shown_date(values: Values, written: str) -> str:
    """Return a day, a month or a year (YYYY-MM-DD, YYYY-MM, YYYY) as it is shown.

    It is empty where the policy shows none, or there is no such day.
    """
    if len(written) < len("YYYY-MM-DD"):
        shown = values.replaced(Label.DATE, written)
    else:
        shown = values.day(written) if is_day(written) else ""
    return shown if _SHOWN_DATE.fullmatch(shown) else ""


def shown_age(values: Values, number: str, unit: str = "") -> str:
    """Return an age as it is shown: the number itself, another one, `90+`, or nothing.

    Args:
        values: Of the patient.
        number: Of years, or of the unit.
        unit: Of UCUM.
    """
    in_a_year = IN_A_YEAR.get(unit, 1)
    years = str(int(abs(float(number)) / in_a_year))
    if in_a_year > 1:
        return number if int(years) <= _OLDEST_SHOWN else ""
    shown = values.replaced(Label.AGE, years)
    if shown == years:
        return number
    return shown if _SHOWN_AGE.fullmatch(shown) else ""


def as_term(value: str) -> str:
    """Return a text as a line, without markup."""
    return " ".join(shown_in(value).split())


def text_of(scrubbed: ScrubbedDocument | None) -> str | None:
    """Return a scrubbed text, unless it is blank."""
    return scrubbed.text if scrubbed and scrubbed.text.strip() else None


class Removals:
    """Counts what is not written of a part; see `Rebuilt`."""

    def __init__(self) -> None:
        self.removed: Counter[str] = Counter()
        self.unreadable: Counter[str] = Counter()
        self.enclosed: list[tuple[str, Rebuilt]] = []

    def add(self, document: RebuiltEnclosed) -> None:
        """Count what was removed of a message inside, if the document is one."""
        if (message := document.message) is not None:
            self.enclosed.append((document.format, message))
            self.removed.update(message.removed)
            self.unreadable.update(message.unreadable)


class PartWriter(Removals):
    """Writes a part whose free texts are elements of it.

    Args:
        texts: Gathers free texts or gives scrubbed ones.
        values: Of the patient.
        known: What the part says elsewhere.
    """

    def __init__(self, texts: Texts, values: Values, known: Known) -> None:
        super().__init__()
        self._texts = texts
        self._values = values
        self._known = known

    def _rebuilt(
        self, read: Callable[[], bytes], media_type: str, note_type: str
    ) -> RebuiltEnclosed | None:
        """Return a document without identifiers, or None; one is counted, then."""
        try:
            document = self._texts.opened(read(), media_type)
        except Unreadable as error:
            self.unreadable[error.kind.value] += 1
            return None
        rebuilt = rebuilt_document(document, note_type, self._texts, self._values)
        if rebuilt is not None:
            self.add(rebuilt)
        return rebuilt
