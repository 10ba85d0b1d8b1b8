"""Notes of files as documents for deid_core: text, HL7 v2 and JSON; without Kafka.

Notes are joined with the patient records in the same file, by the code of intake and
scrub.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import orjson

from deid_core import Document, KnownIdentifiers
from streams.engine.character_sets import UTF_8
from streams.engine.errors import FatalError, InputError, InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats import Format, recognise
from streams.formats.documents import hidden_in, shown_in
from streams.formats.documents.content import holds_hl7
from streams.model.patients.demographics import (
    NOBODY,
    Demographics,
    PatientId,
    PatientRecord,
)
from streams.model.patients.known_identifiers import PatientRecords, known_identifiers

from .batches import messages_in
from .input_file import InputFile
from .json_notes import note_event_of, parsed
from .sources import json_values_in, unwrapped
from .tables import DELIMITERS, MappedTable, Table, codec_of_stream

if TYPE_CHECKING:
    from streams.formats.json_map import JsonMap
    from streams.model.notes import ClinicalNote
    from streams.pipeline.intake.route import Routed

SUFFIXES = {
    ".hl7": Format.HL7,
    ".json": Format.JSON,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
}
_ENCAPSULATED = "ED"
"""Type in OBX-2 of values that are documents."""
T = TypeVar("T")

Found = Iterator[Document | InvalidRecord]


def format_of(path: Path, sample: bytes, *, any_json: bool = False) -> Format:
    """Return the format of a file by its content.

    What is not recognised is read as its suffix says, or else as text, so that it is
    refused with its place and reason.

    Args:
        path: The file.
        sample: Its beginning and its end.
        any_json: Whether JSON of any form is events, and tables are.
    """
    if any_json and path.suffix.lower() in DELIMITERS:
        return Format.TABLE
    try:
        found = recognise(sample, any_json=any_json)
    except InvalidRecord:
        found = Format.TEXT
    if found is Format.TEXT:
        return SUFFIXES.get(path.suffix.lower(), found)
    return found


def documents_in(
    path: Path,
    stream: BinaryIO,
    kind: Format,
    *,
    is_explicit: bool = True,
    json_map: JsonMap | None = None,
    is_annotated: bool = False,
    charset: str = UTF_8,
) -> Found:
    """Yield the notes of an open file, or why a note is refused.

    Args:
        path: Names the file in ids and messages.
        stream: The file.
        kind: The format of the file.
        is_explicit: Whether the user has chosen the format.  If not, a text that is
            anything else is refused, since it would not be scrubbed completely as text.
        json_map: How JSON of other forms becomes note events.
        is_annotated: See `FileNotes`.
        charset: See `FileNotes`.
    """
    reader = _READERS.get(kind, _plain_text)
    if kind is Format.TEXT and not is_explicit:
        reader = _plain_text
    file = FileNotes(json_map, is_annotated=is_annotated, charset=charset)
    try:
        yield from reader(path, stream, file)
    except InvalidRecord as error:
        yield error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; check the file") from None


def _text(path: Path, stream: BinaryIO, file: FileNotes) -> Found:
    """Yield a text, whatever else it may be, but for formats that hide text."""
    value = stream.read()
    try:
        found = recognise(value)
    except InvalidRecord:
        found = Format.TEXT
    if found in _NEVER_TEXT:
        yield _other_format(path, found)
    else:
        yield _text_of(path, value, file.charset)


def _plain_text(path: Path, stream: BinaryIO, file: FileNotes) -> Found:
    """Yield a text that is nothing else."""
    value = stream.read()
    # In a text, a name that stands in a cell is hardly found.
    if path.suffix.lower() in DELIMITERS:
        reason = (
            f"{path}: a table, not text; say with --map what its columns are "
            "(phistream map --sample), or say --format text"
        )
        yield InvalidRecord(ReasonCode.UNSUPPORTED, reason)
        return
    try:
        found = recognise(text_in_utf_8(value, file.charset))
    except InvalidRecord as error:
        yield InvalidRecord(error.code, f"{path}: {error.reason}")
    else:
        is_text = found is Format.TEXT
        text = (
            _text_of(path, value, file.charset)
            if is_text
            else _other_format(path, found)
        )
        if isinstance(text, Document) and (hidden := hidden_in(text.text)):
            reason = f"{path}: text with {hidden} in it; send the document itself"
            text = InvalidRecord(ReasonCode.UNSUPPORTED, reason)
        yield text


def _other_format(path: Path, found: Format) -> InvalidRecord:
    if found in _READERS:
        advice = f"say --format {found} or text"
    else:
        advice = "scrub it with --out FOLDER, without --format"
    reason = f"{path}: {NAMES[found]}, not text; {advice}"
    return InvalidRecord(ReasonCode.UNSUPPORTED, reason)


def _text_of(path: Path, value: bytes, charset: str) -> Document | InvalidRecord:
    mark, codec = character_set_of(value, charset)
    try:
        # Line ends are kept: no universal newlines.
        text = value.removeprefix(mark).decode(codec)
    except UnicodeDecodeError:
        reason = f"{path}: not {codec}; name its character set with --charset"
        return InvalidRecord(ReasonCode.UNDECODABLE, reason)
    return Document(str(path), shown_in(text))


def character_set_of(text: bytes, charset: str) -> tuple[bytes, str]:
    """Return the byte order mark of a text, or b"", and the codec of what follows.

    Args:
        text: The text.
        charset: The codec of a text without a mark that is not UTF-8.
    """
    marks = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    for mark, codec in zip(marks, ("utf-8", "utf-16-le", "utf-16-be"), strict=True):
        if text.startswith(mark):
            return mark, codec
    try:
        text.decode(UTF_8)
    except UnicodeDecodeError:
        return b"", charset
    return b"", UTF_8


def text_in_utf_8(text: bytes, charset: str) -> bytes:
    """Return a text without a mark in UTF-8, or as it is if it can't be decoded."""
    mark, codec = character_set_of(text, charset)
    if mark or codec == UTF_8:
        return text
    try:
        return text.decode(codec).encode()
    except UnicodeDecodeError:
        return text


def _hl7(path: Path, stream: BinaryIO, file: FileNotes) -> Found:
    # Texts need nothing of messages.
    from streams.formats.hl7.framing import in_utf_8

    for ordinal, value in enumerate(messages_in(InputFile(path, stream)), start=1):
        yield from file.messages(
            in_utf_8(value, file.charset),
            f"{path} message {ordinal}",
            f"{path}#{ordinal}",
        )


def _json_lines(path: Path, stream: BinaryIO, file: FileNotes) -> Found:
    for number, line in enumerate(InputFile(path, stream).lines(), start=1):
        if content := line.strip():
            yield from file.record(unwrapped(content), f"{path}:{number}")


def _json(path: Path, stream: BinaryIO, file: FileNotes) -> Found:
    for number, value in enumerate(json_values_in(InputFile(path, stream)), start=1):
        yield from file.record(value, f"{path} value {number}")


def _table(path: Path, stream: BinaryIO, file: FileNotes) -> Found:
    for number, given in file.rows(path, stream):
        notes = (file.note_of(each).document for each in [given])
        yield from guarded(f"{path} line {number}", notes)


_READERS: dict[Format, Callable[[Path, BinaryIO, FileNotes], Found]] = {
    Format.TEXT: _text,
    Format.HL7: _hl7,
    Format.JSONL: _json_lines,
    Format.JSON: _json,
    Format.TABLE: _table,
}
NAMES = {
    Format.HL7: "HL7",
    Format.JSONL: "JSON",
    Format.JSON: "JSON",
    Format.FHIR: "FHIR JSON",
    Format.CCDA: "C-CDA",
    Format.RTF: "RTF",
    Format.HTML: "HTML",
    Format.PDF: "PDF",
}
_NEVER_TEXT = frozenset((Format.FHIR, Format.CCDA, Format.RTF, Format.PDF))


@dataclass(frozen=True, slots=True)
class JsonNote:
    """A JSON note of a file.

    Args:
        document: To be scrubbed.
        event: As a note event; without ``patient`` if it names none.
        is_short: Whether it was in the short form.
    """

    document: Document
    event: Mapping[str, Any] = field(repr=False)
    is_short: bool


class FileNotes:
    """The notes of one file, joined with its patient records so far.

    Args:
        json_map: How JSON of other forms becomes note events.
        is_annotated: Whether annotations count in the texts of JSON notes: one that
            shows another text, since it is HTML or RTF, is refused.
        charset: The codec of texts and HL7 messages that name none, and are not UTF-8.
    """

    def __init__(
        self,
        json_map: JsonMap | None = None,
        *,
        is_annotated: bool = False,
        charset: str = UTF_8,
    ) -> None:
        self.charset = charset
        self._json_map = json_map
        self._is_annotated = is_annotated
        self._patients = PatientRecords()

    def messages(self, value: bytes, place: str, id_prefix: str) -> Found:
        """Yield the notes of HL7 messages, or why they are refused."""
        return guarded(place, self._messages(value, id_prefix))

    def record(self, value: bytes, place: str) -> Found:
        """Yield the note of a JSON record, or the notes of the HL7 text it wraps."""
        if holds_hl7(value):
            return self.messages(value, place, place)
        return guarded(place, (self.json_note(each).document for each in [value]))

    def json_note(self, value: bytes) -> JsonNote:
        """Return a JSON note.

        Raises:
            InvalidRecord: It is none.
        """
        try:
            given = parsed(value)
        except orjson.JSONDecodeError:
            raise InvalidRecord(ReasonCode.BAD_JSON, "not JSON in UTF-8") from None
        return self.note_of(given)

    def note_of(self, given: Mapping[str, Any]) -> JsonNote:
        """Return a JSON note, or a row of a table.

        Raises:
            InvalidRecord: It is none.
        """
        event = self._event(given)
        is_short = self._json_map is None and "note_id" not in given
        return JsonNote(self._document_of(event), event, is_short)

    def rows(
        self, path: Path, stream: BinaryIO
    ) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield the rows of a table, with their lines.

        Raises:
            InvalidRecord: It is no table, or has a column that the map does not name.
        """
        table = self.table(path, stream)
        for number, row in table.table:
            yield number, table.event(row)

    def table(self, path: Path, stream: BinaryIO) -> MappedTable:
        """Return a table with the columns of the map."""
        if self._json_map is None:
            raise InvalidRecord(ReasonCode.UNSUPPORTED, "a table needs --map")
        codec = codec_of_stream(stream, self.charset)
        return MappedTable(Table(InputFile(path, stream), codec), self._json_map)

    def known(
        self, patient: PatientId, demographics: Demographics | None
    ) -> KnownIdentifiers:
        """Return what is known of a patient, by the file so far and a note."""
        return self._patients.known(patient, demographics)

    def update(self, updates: Iterable[PatientRecord]) -> None:
        """Take patient records; what is of nobody is of no other note."""
        self._patients.update(each for each in updates if each.patient != NOBODY)

    def _messages(self, value: bytes, id_prefix: str) -> Iterator[Document]:
        routed = self._routed(value)
        for number, note in enumerate(routed.notes, start=1):
            yield self._document(note, f"{id_prefix}.{number}", note.note_type)
        if left_out := routed.skipped.get(_ENCAPSULATED, 0):
            raise InvalidRecord(
                ReasonCode.UNSUPPORTED,
                f"{left_out} OBX-5 of type {_ENCAPSULATED} left out, whose documents "
                "are no notes; scrub the file with --out FOLDER",
            )

    def _document_of(self, event: Mapping[str, Any]) -> Document:
        # On hl7.raw a note type is a code; here it only selects styles of the policy.
        note_type = event.get("note_type", "")
        if not isinstance(note_type, str):
            raise InvalidRecord(ReasonCode.SCHEMA, "note_type: must be of type string")
        # An empty text is one as well, which hl7.raw would refuse.
        is_empty = event["text"] == ""
        checked = {
            "patient": asdict(NOBODY),
            **event,
            **({"text": "-"} if is_empty else {}),
        }
        checked.pop("note_type", None)
        body = orjson.dumps(checked)
        if "patient" in event:
            [note] = self._routed(body).notes
            document = self._document(note, note.note_id, note_type)
        else:
            [note] = _routed(body).notes
            known = known_identifiers(note.demographics)
            document = Document(note.note_id, note.text, known, note_type=note_type)
        if is_empty:
            return replace(document, text="")
        if self._is_annotated and document.text != event["text"]:
            raise InvalidRecord(
                ReasonCode.UNSUPPORTED,
                "text: it holds HTML, RTF or escapes, in which annotations have no "
                "place; send what it shows",
            )
        return document

    def _event(self, value: object) -> Mapping[str, Any]:
        """Return a JSON note as a note event."""
        if self._json_map is not None and isinstance(value, dict):
            return self._json_map.event_of(value)
        return note_event_of(value)

    def _routed(self, value: bytes) -> Routed:
        routed = _routed(value)
        self.update(routed.updates)
        return routed

    def _document(self, note: ClinicalNote, note_id: str, note_type: str) -> Document:
        known = self.known(note.patient, note.demographics)
        return Document(note_id, note.text, known, note.patient.key.decode(), note_type)


def _routed(value: bytes) -> Routed:
    # Texts need none of the readers.
    from streams.pipeline.intake.route import route

    return route(value, max_bytes=sys.maxsize)


def guarded(place: str, documents: Iterator[T]) -> Iterator[T | InvalidRecord]:
    """Yield documents; the reason of a refusal names the place in the file."""
    try:
        yield from documents
    except InvalidRecord as error:
        yield InvalidRecord(error.code, f"{place}: {error.reason}")
    except (FatalError, ModuleNotFoundError, OSError):
        raise
    except Exception as error:
        # The text of an exception may hold a value.
        reason = f"{place}: {type(error).__name__} in the decoder; report it"
        yield InvalidRecord(ReasonCode.DECODER_FAILED, reason)
