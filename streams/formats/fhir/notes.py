"""The notes of a message: documents, reports, compositions and textual observations."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.documents import Unreadable, from_base64, shown_in
from streams.model.notes import ClinicalNote
from streams.model.patients.demographics import Demographics, PatientId

from .datatypes import text, time_of
from .narrative import open_div
from .patients import Entry
from .references import target_of
from .writer import dicts, note_type_of

Json = Mapping[str, Any]
MAX_CHARACTERS = 64 << 20
"""Of the notes of a patient: any number of attachments may refer to one Binary."""


def notes_of(
    entries: Sequence[Entry],
    patient: PatientId,
    demographics: Demographics,
    text_of: Callable[[bytes, str], str],
) -> tuple[list[ClinicalNote], Counter[str]]:
    """Return the notes of a patient, and the numbers of documents not read, by kind.

    Args:
        entries: Of the patient.
        patient: The preferred key.
        demographics: What they say of the patient.
        text_of: Opens a document and returns its text.

    Raises:
        InvalidRecord: too_large: they are too long.
    """
    reader = _Notes(entries, text_of)
    notes = []
    size = 0
    for entry in entries:
        resource = entry.resource
        read = _READERS.get(entry.type)
        found = (
            [each for each in read(reader, resource) if each.strip()] if read else []
        )
        size += sum(map(len, found))
        if size > MAX_CHARACTERS:
            raise _too_large()
        for number, each in enumerate(found):
            notes.append(
                ClinicalNote(
                    note_id=_note_id(entry, each) + (f".{number}" if number else ""),
                    patient=patient,
                    note_type=note_type_of(resource) or entry.type,
                    written_at=_written_at(resource),
                    text=_lines(each),
                    demographics=demographics,
                )
            )
    return notes, reader.skipped


class _Notes:
    """Reads the texts of resources, one for each note."""

    def __init__(
        self, entries: Sequence[Entry], text_of: Callable[[bytes, str], str]
    ) -> None:
        self._text_of = text_of
        self.skipped: Counter[str] = Counter()
        self._opened_binaries: dict[int, str] = {}
        self._binaries = {
            name: each.resource
            for each in entries
            if each.type == "Binary"
            for name in each.names
        }

    def document_reference(self, resource: Json) -> list[str]:
        """Return the text of each attachment, or the description."""
        contents = dicts(resource.get("content"))
        attachments = (each.get("attachment") for each in contents)
        return list(self._attached(attachments))

    def diagnostic_report(self, resource: Json) -> list[str]:
        """Return the text of each form presented, or the narrative and conclusion."""
        found = list(self._attached(dicts(resource.get("presentedForm"))))
        if found:
            return found
        parts = (_narrative(resource), _shown(resource.get("conclusion")))
        return ["\n\n".join(each for each in parts if each)]

    def composition(self, resource: Json) -> list[str]:
        """Return the sections under their titles, or the narrative."""
        lines = list(_sections(resource))
        return ["\n".join(lines)] if lines else [_narrative(resource)]

    def observation(self, resource: Json) -> list[str]:
        """Return the textual values and the notes."""
        lines = [
            _shown(resource.get("valueString")),
            *(
                _shown(each.get("valueString"))
                for each in dicts(resource.get("component"))
            ),
            *(_shown(each.get("text")) for each in dicts(resource.get("note"))),
        ]
        return ["\n".join(each for each in lines if each)]

    def _attached(self, attachments: Any) -> Iterator[str]:  # noqa: ANN401 (JSON)
        size = 0
        for each in dicts(list(attachments)):
            target = target_of(each.get("url"))
            binary = None
            if "data" not in each and target is not None:
                binary = self._binaries.get(f"{target.type or 'urn'}/{target.id}")
            read = self._opened(each) if binary is None else self._read(binary)
            size += len(read)
            if size > MAX_CHARACTERS:
                raise _too_large()
            if read:
                yield read

    def _read(self, binary: Json) -> str:
        """Return the text of a Binary, opened once."""
        if id(binary) not in self._opened_binaries:
            self._opened_binaries[id(binary)] = self._opened(binary)
        return self._opened_binaries[id(binary)]

    def _opened(self, source: Json) -> str:
        if not isinstance(source.get("data"), str):
            return ""
        try:
            data = from_base64(source["data"])
            return self._text_of(data, text(source.get("contentType")))
        except Unreadable as error:
            self.skipped[error.kind.value] += 1
            return ""


_READERS: Mapping[str, Callable[[_Notes, Json], list[str]]] = {
    "DocumentReference": _Notes.document_reference,
    "DiagnosticReport": _Notes.diagnostic_report,
    "Composition": _Notes.composition,
    "Observation": _Notes.observation,
}


def _too_large() -> InvalidRecord:
    return InvalidRecord(
        ReasonCode.TOO_LARGE,
        "FHIR: the documents of a patient are too large; send fewer at a time",
    )


def _sections(holder: Json) -> Iterator[str]:
    for section in dicts(holder.get("section")):
        title, narrative = _shown(section.get("title")), _narrative(section)
        if title:
            yield f"{title}:"
        if narrative:
            yield narrative
        yield from _sections(section)


def _narrative(holder: Json) -> str:
    narrative = holder.get("text")
    div = narrative.get("div") if isinstance(narrative, dict) else None
    try:
        return open_div(div).text.strip() if isinstance(div, str) else ""
    except Unreadable:
        return ""


def _shown(value: object) -> str:
    return shown_in(_lines(text(value)))


def _lines(value: str) -> str:
    return value.replace("\r\n", "\n").replace("\r", "\n")


def _note_id(entry: Entry, note: str) -> str:
    """Return the resource's id, else that of its entry, else one of its text."""
    if entry.names:
        return entry.names[-1]
    identifiers = (
        text(each.get("value"))
        for name in ("masterIdentifier", "identifier")
        for each in dicts(entry.resource.get(name))
    )
    found = next((each for each in identifiers if each), "")
    # `notes` is as confidential as the note; subscribers get a keyed pseudonym.
    return f"{entry.type}/{found or hashlib.sha256(note.encode()).hexdigest()}"


def _written_at(resource: Json) -> str:
    names = ("date", "issued", "effectiveDateTime", "effectiveInstant")
    times = (time_of(resource.get(name)) for name in names)
    return next((each for each in times if each), "")
