"""The documents of a note, or part of a message, once its patient is known.

Scrub, files and the gateway share them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from deid_core import Document, KnownIdentifiers
from streams.formats.readers import reader_of, require_plain
from streams.model.notes import ClinicalNote
from streams.model.parts import OpenedPart, Reader


@dataclass(frozen=True, slots=True)
class NoteDocuments:
    """A note, or part of a message, as documents.

    Args:
        document: Names the patient and the record; for a part its text is empty.
        texts: What is to be scrubbed: the note, or the free texts of the part.
    """

    document: Document = field(repr=False)
    texts: tuple[Document, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class PartDocuments(NoteDocuments):
    """A part of a message as documents.

    Args:
        part: The part, which is rebuilt from them.
        format: Of the part.
    """

    part: OpenedPart = field(repr=False)
    format: str


def documents_of(note: ClinicalNote, known: KnownIdentifiers) -> NoteDocuments:
    """Return a note, or part of a message, as documents.

    Args:
        note: The note or part.
        known: Everything that is known of its patient.

    Raises:
        InvalidRecord: The part can't be read, or a text of it holds a document.
    """
    if note.format:
        return part_documents_of(note, known, reader_of(note.format))
    document = _document_of(note, known, note.text)
    return NoteDocuments(document, (document,))


def part_documents_of(
    note: ClinicalNote, known: KnownIdentifiers, reader: Reader
) -> PartDocuments:
    """Return a part of a message as documents; see `documents_of`.

    Args:
        note: The part.
        known: Everything that is known of its patient.
        reader: Of its format.
    """
    document = _document_of(note, known, "")
    part = reader.read(note.text)
    texts = part.texts
    for text in texts:
        require_plain(text.text)
    documents = (
        replace(
            document,
            text=text.text,
            note_type=text.note_type,
            is_vocabulary=text.is_vocabulary,
        )
        for text in texts
    )
    return PartDocuments(document, tuple(documents), part, note.format)


def _document_of(note: ClinicalNote, known: KnownIdentifiers, text: str) -> Document:
    patient = note.patient.key.decode()
    return Document(note.note_id, text, known, patient, note.note_type)
