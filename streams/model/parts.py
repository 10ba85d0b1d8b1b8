"""The interface of a format, which scrubs a message and writes it back in its form.

A message is split into parts, one for each patient that it names.  Intake reads the
patients' demographics and sends every part to the partition of its patient.  There
scrub takes the part's free texts, has them de-identified with the patient's record,
and has the part rebuilt: free texts as they were scrubbed, every other value by a rule.
A value without a rule is removed and counted, never passed.

Every function of a `Reader` is pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from deid_core import Label, ScrubbedDocument
from streams.model.patients.demographics import PatientRecord

from .notes import ClinicalNote


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a message that is about one patient: an update, a note, or both.

    Args:
        format: The name of the reader.
        content: The part alone, a whole message of its format.
        updates: Patient records, one for each key of the patient.
        notes: Its narratives, as subscribers of `notes.scrubbed` get them.
        skipped: Numbers of values that are no narrative and are not read, by kind: an
            OBX-2, a media type.  Never a value.
    """

    format: str
    content: str = field(repr=False)
    updates: tuple[PatientRecord, ...]
    notes: tuple[ClinicalNote, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)

    def as_note(self, note_id: str) -> ClinicalNote:
        """Return the part as it lies on `notes`.

        Args:
            note_id: Names it in audit events.
        """
        note = self.notes[0] if self.notes else None
        update = self.updates[0] if self.updates else None
        # A part without an update has a note, which names the patient.
        said = update or self.notes[0]
        return ClinicalNote(
            note_id=note_id,
            patient=said.patient,
            note_type=note.note_type if note else "",
            written_at=note.written_at if note else "",
            text=self.content,
            demographics=update.current if update else self.notes[0].demographics,
            format=self.format,
        )


@dataclass(frozen=True, slots=True)
class FreeText:
    """A text that is scrubbed as a note is.

    Args:
        text: As it reads; escapes are undone, lines end with line feeds.
        note_type: Selects styles of the policy; a code, or empty.
        is_vocabulary: It is what a public code system calls a code, see `Document`.
    """

    text: str = field(repr=False)
    note_type: str = field(repr=False, default="")
    is_vocabulary: bool = False


class Values(Protocol):
    """Replacements of single values, as the patient's notes show them."""

    def replaced(self, label: Label, value: str) -> str:
        """Return what the policy writes for a value: its tag, surrogate, or itself."""
        ...

    def day(self, day: str) -> str:
        """Return a day (YYYY-MM-DD) as the policy writes dates.

        It is a day (moved as the dates of the notes are), a year (YYYY), or empty
        where the policy shows neither.  A time of day is never shown.
        """
        ...

    def pseudonym(self, kind: str, value: str) -> str:
        """Return the keyed pseudonym of an identifier: 32 hexadecimal digits.

        Args:
            kind: What it identifies: `order`, `visit`, `message`.  The same value of
                two kinds has two pseudonyms.
            value: The identifier.
        """
        ...

    def is_leak(self, written: str) -> bool:
        """Return whether a value may not be written, though its rule keeps it.

        A code or a measured value may happen to be a value of the patient's record.

        Args:
            written: A single value; it is removed and counted.
        """
        ...


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A part without identifiers.

    Args:
        value: The message, in its format.
        removed: How many values were removed, by place (`PID-19`, `ZPD`,
            `Patient.photo`); only names that the standard knows, any other is `other`.
        unreadable: How many documents were removed because they can't be opened, by
            media type or kind.
        enclosed: The messages inside, with their formats; what was removed of them is
            counted here, too.
    """

    value: bytes = field(repr=False)
    removed: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)
    enclosed: Sequence[tuple[str, Rebuilt]] = ()


class OpenedPart(Protocol):
    """A part that is parsed, to be scrubbed and written back."""

    @property
    def texts(self) -> Sequence[FreeText]:
        """The free texts, in the order that `rebuilt` takes them."""
        ...

    def rebuilt(self, scrubbed: Sequence[ScrubbedDocument], values: Values) -> Rebuilt:
        """Return the part without identifiers; it can be rebuilt several times.

        Args:
            scrubbed: The free texts, scrubbed.
            values: Of the patient.

        Raises:
            ValueError: The scrubbed texts are not those of the part.
        """
        ...


class Reader(Protocol):
    """Reads and writes a format."""

    def parts(self, value: bytes) -> Sequence[Part]:
        """Return the parts of a message.

        Raises:
            InvalidRecord: The message can't be read; the reason names a field or an
                element and the next step, never a value.
        """
        ...

    def read(self, content: str) -> OpenedPart:
        """Return a part, opened.

        Raises:
            InvalidRecord: It is no part of a message.
        """
        ...

    def text(self, value: bytes) -> str:
        """Return a rebuilt message as text.

        Raises:
            InvalidRecord: It is not in the character set that it declares.
        """
        ...

    def shown(self, value: bytes) -> str:
        """Return a rebuilt message without the names that its format gives to places.

        A patient may be called like an element.

        Raises:
            InvalidRecord: It is not in the character set that it declares.
        """
        ...
