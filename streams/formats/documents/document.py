"""A document: one text, and a way to write it back without identifiers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from deid_core import ScrubbedDocument


class UnreadableKind(StrEnum):
    """Why a document can't be opened: a closed set, also used to count."""

    IMAGE = "image"
    SCAN = "scan"  # pages without a text layer
    DICOM = "dicom"
    OFFICE = "office"
    ARCHIVE = "archive"
    ENCRYPTED = "encrypted"
    TOO_LARGE = "too_large"  # in bytes, text, pages, nesting or decompression
    BROKEN = "broken"  # it breaks its format, or is not what it is declared to be
    OTHER_PATIENT = "other_patient"  # a message that is another patient's
    UNKNOWN = "unknown"  # no format that is known


class Unreadable(Exception):
    """The document can't be opened; it must be removed.

    Args:
        kind: Why; the message holds nothing else.
    """

    def __init__(self, kind: UnreadableKind) -> None:
        super().__init__(kind.value)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class RebuiltDocument:
    """A document without identifiers.

    Args:
        data: The document.
        media_type: Of the data; a PDF is put back as plain text.
    """

    data: bytes = field(repr=False)
    media_type: str


class TextDocument(Protocol):
    """An opened document."""

    @property
    def text(self) -> str:
        """All that is scrubbed, as it reads; lines end with line feeds."""
        ...

    def rebuilt(self, scrubbed: ScrubbedDocument) -> RebuiltDocument:
        """Return the document without identifiers.

        Args:
            scrubbed: The text, scrubbed; its offset map leads back to the text.
        """
        ...
