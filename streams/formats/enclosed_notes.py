"""Documents inside of messages: a text, or a message of the same patient.

A C-CDA document may be in OBX-5 of HL7 v2, or in an attachment of FHIR.  Readers take
an `Opener`, since the other formats are above or beside them.  What a message inside of
another one says of the patient becomes part of the patient's record; what can't be
opened, or is another patient's, is removed and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from deid_core import ScrubbedDocument
from streams.formats.documents import TextDocument, open_document
from streams.model.parts import FreeText, Part, Rebuilt, Values
from streams.model.patients.demographics import (
    ACCUMULATING,
    SNAPSHOT,
    Demographics,
    PatientId,
    distinct,
)


@dataclass(frozen=True, slots=True)
class Whose:
    """The patient of a message.

    Args:
        keys: Of the patient.
        demographics: What the message says.
    """

    keys: Sequence[PatientId]
    demographics: Demographics


OfMessage = Callable[[], Whose]
"""Returns the patient of the message around a document; called only if it is needed."""


@dataclass(frozen=True, slots=True)
class RebuiltEnclosed:
    """A document without identifiers.

    Args:
        data: The document.
        media_type: Of the data.
        message: The same, if the document is a message; its format names the reader.
        format: Of the message.
    """

    data: bytes = field(repr=False)
    media_type: str
    message: Rebuilt | None = None
    format: str = ""


class Enclosed(Protocol):
    """An opened document."""

    @property
    def text(self) -> str:
        """All that it says, as readers of notes get it."""
        ...

    def texts(self, note_type: str) -> Sequence[FreeText]:
        """Return the free texts, in the order that `rebuilt` takes them.

        Args:
            note_type: Of the message around it; a message inside has its own.
        """
        ...

    def rebuilt(
        self, scrubbed: Sequence[ScrubbedDocument], values: Values
    ) -> RebuiltEnclosed:
        """Return the document without identifiers.

        Args:
            scrubbed: The free texts, scrubbed.
            values: Of the patient.
        """
        ...


class Opener(Protocol):
    """Opens documents inside of messages."""

    def open(self, data: bytes, media_type: str, of: OfMessage) -> Enclosed:
        """Return a document.

        Args:
            data: The document, not encoded (base64) any more.
            media_type: As declared; see `documents.open_document`.
            of: The patient.

        Raises:
            Unreadable: It can't be opened, or is another patient's.
        """
        ...

    def part(self, data: bytes, media_type: str, of: OfMessage) -> Part | None:
        """Return a document that is a message; None for any other, opened or not."""
        ...


@dataclass(frozen=True, slots=True)
class EnclosedText:
    """A document that is one text."""

    document: TextDocument = field(repr=False)

    @property
    def text(self) -> str:
        """Return the text."""
        return self.document.text

    def texts(self, note_type: str) -> Sequence[FreeText]:
        """Return the text."""
        return [FreeText(self.document.text, note_type)]

    def rebuilt(
        self, scrubbed: Sequence[ScrubbedDocument], values: Values
    ) -> RebuiltEnclosed:
        """Return the document with the scrubbed text."""
        [text] = scrubbed
        rebuilt = self.document.rebuilt(text)
        return RebuiltEnclosed(rebuilt.data, rebuilt.media_type)


class TextOpener:
    """Opens texts (plain, RTF, HTML, PDF), and no messages."""

    def open(self, data: bytes, media_type: str, of: OfMessage) -> Enclosed:
        """Return a document."""
        return EnclosedText(open_document(data, media_type))

    def part(self, data: bytes, media_type: str, of: OfMessage) -> Part | None:
        """Return None."""
        return None


TEXTS = TextOpener()


def with_enclosed(
    current: Demographics, former: Demographics, enclosed: Iterable[Part]
) -> tuple[Demographics, Demographics]:
    """Return current and former demographics with those of messages inside.

    What a message inside says was so when that was written: it is looked for in notes,
    and replaces nothing.

    Raises:
        InvalidRecord: They are too many.
    """
    inner = [
        each
        for part in enclosed
        for update in part.updates[:1]
        for each in (update.current, update.former)
    ]
    if not inner:
        return current, former

    def joined(holder: Demographics, name: str) -> Any:  # noqa: ANN401 (of any list)
        own = getattr(holder, name)
        others = (value for each in inner for value in getattr(each, name))
        return distinct([*own, *(each for each in others if each not in own)])

    return (
        replace(current, **{name: joined(current, name) for name in ACCUMULATING}),
        replace(former, **{name: joined(former, name) for name in SNAPSHOT}),
    )


def skipped_with(skipped: Counter[str], enclosed: Iterable[Part]) -> dict[str, int]:
    """Return numbers of what is not read, with that in messages inside."""
    for each in enclosed:
        skipped.update(each.skipped)
    return dict(skipped)
