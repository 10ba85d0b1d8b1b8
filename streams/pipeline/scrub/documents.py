"""The documents of a note, or part of a message, once its patient is known.

Scrub, files and the gateway share them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from deid_core import Document, KnownIdentifiers
from streams.formats.readers import reader_of, require_plain
from streams.model.notes import ClinicalNote
from streams.model.parts import Reader


@dataclass(frozen=True, slots=True)
class NoteDocuments:
    """A note, or part of a message, as documents.

    Args:
        document: Names the patient and the record; for a part its text is empty.
        texts: What is to be scrubbed: the note, or the free texts of the part.
    """

    document: Document = field(repr=False)
    texts: tuple[Document, ...] = field(repr=False)


def documents_of(
    note: ClinicalNote, known: KnownIdentifiers, reader: Reader | None = None
) -> NoteDocuments:
    """Return a note, or part of a message, as documents.

    Args:
        note: The note or part.
        known: Everything that is known of its patient.
        reader: Of the part; without, the one of its format.

    Raises:
        InvalidRecord: The part can't be read, or a text of it holds a document.
    """
    patient = note.patient.key.decode()
    document = Document(note.note_id, note.text, known, patient, note.note_type)
    if not note.format:
        return NoteDocuments(document, (document,))
    document = replace(document, text="")
    texts = (reader or reader_of(note.format)).texts(note.text)
    for each in texts:
        require_plain(each.text)
    return NoteDocuments(
        document,
        tuple(
            replace(
                document,
                text=each.text,
                note_type=each.note_type,
                is_vocabulary=each.is_vocabulary,
            )
            for each in texts
        ),
    )
