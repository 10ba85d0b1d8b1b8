"""The note of a document: its sections under their titles, or what its body holds."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator

from lxml import etree

from streams.formats.documents import Unreadable, shown_in
from streams.model.notes import ClinicalNote
from streams.model.patients.demographics import Demographics, PatientId

from .datatypes import data_of, media_type_of, text_of, time_of
from .narrative import open_narrative
from .writer import note_type_of
from .xml_text import children


def notes_of(
    root: etree._Element,
    patient: PatientId,
    demographics: Demographics,
    text_of_document: Callable[[bytes, str], str],
) -> tuple[list[ClinicalNote], Counter[str]]:
    """Return the note of a document, and the numbers of bodies not read, by kind.

    A document is one note, as it is for those who read it: its type is that of the
    document, and a name of one section is found in all others.

    Args:
        root: Of the document.
        patient: The preferred key.
        demographics: What the header says of the patient.
        text_of_document: Opens a body and returns its text.
    """
    skipped: Counter[str] = Counter()
    lines = [
        *_sections(children(root, "component", "structuredBody", "component")),
        *_bodies(root, skipped, text_of_document),
    ]
    text = "\n".join(lines)
    if not text.strip():
        return [], skipped
    note = ClinicalNote(
        note_id=_note_id(root, text),
        patient=patient,
        note_type=note_type_of(root),
        written_at=sent_at_of(root),
        text=text,
        demographics=demographics,
    )
    return [note], skipped


def sent_at_of(root: etree._Element) -> str:
    """Return when a document was made, in ISO 8601; empty if it does not say."""
    times = (time_of(each.get("value", "")) for each in children(root, "effectiveTime"))
    return next((each for each in times if each), "")


def _sections(components: list[etree._Element]) -> Iterator[str]:
    for component in components:
        for section in children(component, "section"):
            for title in children(section, "title"):
                if shown := shown_in(text_of(title)):
                    yield f"{shown}:"
            for text in children(section, "text"):
                if shown := open_narrative(text).text.strip():
                    yield shown
            yield from _sections(children(section, "component"))


def _bodies(
    root: etree._Element,
    skipped: Counter[str],
    text_of_document: Callable[[bytes, str], str],
) -> Iterator[str]:
    for body in children(root, "component", "nonXMLBody", "text"):
        try:
            data = data_of(body, body.text or "")
            yield text_of_document(data, media_type_of(body))
        except Unreadable as error:
            skipped[error.kind.value] += 1


def _note_id(root: etree._Element, note: str) -> str:
    """Return the document's id, else one of its text."""
    for each in children(root, "id"):
        parts = (each.get("root", "").strip(), each.get("extension", "").strip())
        if any(parts):
            return "^".join(part for part in parts if part)
    # `notes` is as confidential as the note; subscribers get a keyed pseudonym.
    return f"C-CDA/{hashlib.sha256(note.encode()).hexdigest()}"
