"""The values of de-identification.  Frozen; offsets are half-open, in code points.

No class in this module shows note text or an identifier in its ``repr``: a value that
reaches a log line or a traceback must not carry PHI with it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple, TypeVar

from .field_types import check_texts, check_values, wrong_field, wrong_type
from .labels import Label
from .language.fragments import to_ascii
from .language.truecasing import is_in_one_case, truecased


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of code points ``[start, end)``."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"not a span: [{self.start}, {self.end})")

    def overlaps(self, other: Span) -> bool:
        """Return whether the two spans share at least one character."""
        return self.start < other.end and other.start < self.end


PATIENT_RECORD = "known"
"""The name of the detector that finds the values of the patient's record."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A detector's proposal, or after merge the decision, that a span is PHI.

    Args:
        span: Where, in code points of the document's text.
        label: What it is.
        score: Confidence in ``[0, 1]``.
        detector: The name of the detector, e.g. ``rules``.
        rule: Which of its rules, e.g. ``ssn``; "" if it has only one.
        tag: What the detector's own corpus calls it, where that is not our label.
    """

    span: Span
    label: Label
    score: float
    detector: str
    rule: str = ""
    tag: str = ""

    def __post_init__(self) -> None:
        if not 0.0 <= self.score <= 1.0:
            raise ValueError(f"not a score in [0, 1]: {self.score}")

    @property
    def source(self) -> str:
        """Detector and rule as audit events name them: ``rules/ssn``."""
        return f"{self.detector}/{self.rule}" if self.rule else self.detector


@dataclass(frozen=True, slots=True)
class PersonName:
    """A name in its parts, as HL7 XPN and XCN give them; any part may be empty."""

    family: str = field(default="", repr=False)
    given: str = field(default="", repr=False)
    middle: str = field(default="", repr=False)
    prefix: str = field(default="", repr=False)
    suffix: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        check_texts(
            self, self.family, self.given, self.middle, self.prefix, self.suffix
        )


@dataclass(frozen=True, slots=True)
class Address:
    """An address in its parts, as HL7 XAD gives them; any part may be empty."""

    street: str = field(default="", repr=False)
    other: str = field(default="", repr=False)
    city: str = field(default="", repr=False)
    state: str = field(default="", repr=False)
    zip: str = field(default="", repr=False)
    country: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        check_texts(
            self,
            self.street,
            self.other,
            self.city,
            self.state,
            self.zip,
            self.country,
        )


@dataclass(frozen=True, slots=True)
class KnownId:
    """An identifier from the record, and what kind it is."""

    value: str = field(repr=False)
    label: Label

    def __post_init__(self) -> None:
        if not (isinstance(self.value, str) and isinstance(self.label, Label)):
            raise wrong_field(self, {"label": Label})


_KINDS: Mapping[str, type] = {
    "patient_names": PersonName,
    "kin_names": PersonName,
    "provider_names": PersonName,
    "birth_dates": date,
    "addresses": Address,
    "phones": str,
    "emails": str,
    "ids": KnownId,
    "facilities": str,
    "employers": str,
}


@dataclass(frozen=True, slots=True)
class KnownIdentifiers:
    """The record of the patient of one note.

    Former values are included: a note written before a change of name holds the
    former one.
    """

    patient_names: tuple[PersonName, ...] = field(default=(), repr=False)
    kin_names: tuple[PersonName, ...] = field(default=(), repr=False)
    provider_names: tuple[PersonName, ...] = field(default=(), repr=False)
    birth_dates: tuple[date, ...] = field(default=(), repr=False)
    addresses: tuple[Address, ...] = field(default=(), repr=False)
    phones: tuple[str, ...] = field(default=(), repr=False)
    emails: tuple[str, ...] = field(default=(), repr=False)
    ids: tuple[KnownId, ...] = field(default=(), repr=False)
    facilities: tuple[str, ...] = field(default=(), repr=False)
    employers: tuple[str, ...] = field(default=(), repr=False)
    sex: str = field(default="", repr=False)
    """The patient's, `F` or `M`; empty for any other, and if it is not known."""

    def __post_init__(self) -> None:
        check_values(self, _KINDS)
        if not isinstance(self.sex, str):
            raise wrong_type("KnownIdentifiers: sex", self.sex, str)

    def __bool__(self) -> bool:
        """Return whether a value that identifies the patient is known."""
        return any(_values_of(self))


Parts = TypeVar("Parts", PersonName, Address)


def with_changed_parts(value: Parts, change: Callable[[str], str]) -> Parts:
    """Return a name or an address in which every part is changed."""
    return type(value)(*(change(getattr(value, each)) for each in value.__slots__))


_values_of = attrgetter(*_KINDS)
NOTHING_KNOWN = KnownIdentifiers()


@dataclass(frozen=True, slots=True)
class Document:
    """One note as the detectors see it.

    Args:
        id: The caller's.
        text: The note.
        known: The patient's record.
        patient: Within whose notes surrogates are the same; without it, this note's.
        note_type: A code; a policy may say something else for it.
        is_vocabulary: It is what a code system calls its codes, and no narrative: only
            values of the record and of the user's lists are looked for.
    """

    id: str = field(repr=False)
    text: str = field(repr=False)
    known: KnownIdentifiers = field(default=NOTHING_KNOWN, repr=False)
    patient: str = field(default="", repr=False)
    note_type: str = field(default="", repr=False)
    is_vocabulary: bool = False
    _ascii: str | None = field(default=None, init=False, repr=False, compare=False)
    _is_in_one_case: bool | None = field(
        default=None, init=False, repr=False, compare=False
    )
    _in_mixed_case: Document | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not (
            isinstance(self.id, str)
            and isinstance(self.text, str)
            and isinstance(self.known, KnownIdentifiers)
            and isinstance(self.patient, str)
            and isinstance(self.note_type, str)
        ):
            raise wrong_field(self, {"known": KnownIdentifiers})

    @property
    def ascii(self) -> str:
        """The text in ASCII, with the same offsets; made once, when first read."""
        if self._ascii is None:
            made = to_ascii(self.text)
            object.__setattr__(self, "_ascii", made)
            return made
        return self._ascii

    @property
    def is_in_one_case(self) -> bool:
        """True if it is all in capitals or all in small letters; found out once."""
        if self._is_in_one_case is None:
            found = is_in_one_case(self.text)
            object.__setattr__(self, "_is_in_one_case", found)
            return found
        return self._is_in_one_case

    @property
    def in_mixed_case(self) -> Document:
        """The document with capitals where they belong, or itself where it has them.

        Same offsets; made once, when first read.
        """
        if not self.is_in_one_case:
            return self
        if self._in_mixed_case is None:
            made = replace(self, text=truecased(self.text))
            object.__setattr__(self, "_in_mixed_case", made)
            return made
        return self._in_mixed_case


class Row(NamedTuple):
    """One replacement: a range of the note, and the range written in its place."""

    start: int
    end: int
    scrubbed_start: int
    scrubbed_end: int


_ORIGIN = Row(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class OffsetMap:
    """A mapping between the offsets of a note and of its scrubbed text.

    Args:
        rows: One for each replacement, ordered and disjoint in both texts.

    What was kept maps exactly, both ways.  An offset inside what was replaced maps to
    the start of its replacement or original in the other text.
    """

    rows: tuple[Row, ...] = ()

    def __post_init__(self) -> None:
        for left, right in pairwise((_ORIGIN, *self.rows)):
            kept = right.start - left.end
            lined_up = kept == right.scrubbed_start - left.scrubbed_end
            grows = (
                right.start < right.end and right.scrubbed_start <= right.scrubbed_end
            )
            if kept < 0 or not (lined_up and grows):
                raise ValueError("not an offset map: rows overlap or do not line up")

    def to_scrubbed(self, offset: int) -> int:
        """Return where an offset of the note lies in the scrubbed text."""
        at = bisect_right(self.rows, offset, key=_start) - 1
        if at < 0:
            return _checked(offset)
        row = self.rows[at]
        if offset < row.end:
            return row.scrubbed_start
        return row.scrubbed_end + offset - row.end

    def to_original(self, offset: int) -> int:
        """Return where an offset of the scrubbed text lies in the note."""
        at = bisect_right(self.rows, offset, key=_scrubbed_start) - 1
        if at < 0:
            return _checked(offset)
        row = self.rows[at]
        if offset < row.scrubbed_end:
            return row.start
        return row.end + offset - row.scrubbed_end

    def kept(self, scrubbed_text: str) -> list[str]:
        """Return the pieces of the scrubbed text that come from the note unchanged."""
        pieces, cursor = [], 0
        for row in self.rows:
            pieces.append(scrubbed_text[cursor : row.scrubbed_start])
            cursor = row.scrubbed_end
        pieces.append(scrubbed_text[cursor:])
        return pieces


@dataclass(frozen=True, slots=True)
class ScrubbedDocument:
    """A note that is safe to publish, and the account of how it became so.

    Args:
        id: The document's.
        text: The scrubbed text.
        annotations: What was replaced, with offsets in the document's text.
        offset_map: Between the offsets of the two texts.
        key_id: Which key the surrogates depend on; "" if on none.
        other_language: The language (BCP 47) of a note in one that the preset does not
            read, where such notes are marked; "" otherwise.
    """

    id: str = field(repr=False)
    text: str = field(repr=False)
    annotations: tuple[Annotation, ...]
    offset_map: OffsetMap
    key_id: str = ""
    other_language: str = ""


def _start(row: Row) -> int:
    return row.start


def _scrubbed_start(row: Row) -> int:
    return row.scrubbed_start


def _checked(offset: int) -> int:
    if offset < 0:
        raise ValueError(f"not an offset: {offset}")
    return offset
