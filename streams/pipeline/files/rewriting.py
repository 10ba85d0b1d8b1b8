"""Writes files back in their own form, without identifiers; without Kafka.

Text stays text, a note event a note event, a message a message: what the reader of
its format rebuilds.  A file of which anything is refused is not written.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from deid_core import Deidentifier, DeidError, Document, ScrubbedDocument
from streams.engine.character_sets import UTF_8
from streams.engine.errors import FatalError, InputError, InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats import Format
from streams.formats.documents import Unreadable, open_document
from streams.formats.documents.content import holds_hl7
from streams.formats.hl7.framing import in_utf_8
from streams.formats.json_map import JsonMap
from streams.formats.readers import FILE_READERS, HL7
from streams.model.parts import Part, Reader
from streams.pipeline.publish import (
    PatientValues,
    Pseudonyms,
    annotations_json,
    published,
)
from streams.pipeline.scrub.documents import part_documents_of
from streams.pipeline.scrub.scrubbing import code_of, rebuilt

from .batches import Piece, pieces_in
from .documents import (
    NAMES,
    FileNotes,
    JsonNote,
    character_set_of,
    documents_in,
    guarded,
)
from .input_file import MAX_RECORD_BYTES, InputFile, too_large
from .sources import unwrapped, values_of
from .tables import MappedTable

BATCH = 256
"""Notes that are scrubbed together."""
DOCUMENTS = frozenset((Format.RTF, Format.HTML, Format.PDF))

# The separator of fields, and the other delimiters.
_DELIMITERS = re.compile(rb"([^\w\s])((?:(?!\1)[^\w\s]){1,5})(?=\1|\Z)")
_DEFAULT_DELIMITERS = rb"^~\&"
_CONCEPT = re.compile(r"[0-9]{1,10}")

Written = Iterator[bytes | InvalidRecord]


@dataclass(slots=True)
class Tally:
    """Counts of what was done to a file.

    Args:
        texts: Notes and other free texts that were scrubbed.
        identifiers: What was found and replaced in them.
        removed: Values of fields that were removed, by place.
        unreadable: Documents that were removed since they can't be opened, by kind.
    """

    texts: int = 0
    identifiers: int = 0
    removed: Counter[str] = field(default_factory=Counter)
    unreadable: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Writes files back.

    Args:
        deidentifier: Scrubs their texts.
        pseudonyms: For the ids of notes, patients and messages.
        json_map: How JSON of other forms becomes note events; they are written as such.
        with_annotations: Whether JSON notes get their annotations.
        charset: The codec of texts and HL7 messages that name none, and are not UTF-8.
        scrubbed: Called with the number of texts after each batch.
    """

    deidentifier: Deidentifier
    pseudonyms: Pseudonyms
    json_map: JsonMap | None = None
    with_annotations: bool = False
    charset: str = UTF_8
    scrubbed: Callable[[int], None] = lambda _texts: None

    def rewritten(
        self,
        path: Path,
        stream: BinaryIO,
        kind: Format,
        tally: Tally,
        *,
        is_explicit: bool,
    ) -> Written:
        """Yield a file without identifiers, in pieces, and why any of it is refused.

        Args:
            path: Names the file in messages.
            stream: The file.
            kind: Its format.
            tally: Counts what was done.
            is_explicit: Whether the user has chosen the format.
        """
        file = _File(self, path, tally)
        if kind is Format.TEXT:
            pieces = file.text(stream, is_explicit=is_explicit)
        elif kind in DOCUMENTS:
            pieces = file.document(stream, kind)
        elif kind in (Format.JSON, Format.JSONL):
            pieces = file.json(stream, kind)
        elif kind is Format.HL7:
            pieces = file.hl7(stream)
        elif kind is Format.TABLE:
            pieces = file.table(stream)
        else:
            pieces = file.message(stream, kind)
        try:
            yield from guarded(str(path), pieces)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}; check the file") from None
        except FatalError as error:
            # The other files go on.
            yield InvalidRecord(ReasonCode.TOO_LARGE, str(error))


class _File:
    """One file that is written back."""

    def __init__(self, rewriter: Rewriter, path: Path, tally: Tally) -> None:
        self._rewriter = rewriter
        self._path = path
        self._tally = tally
        self._notes = FileNotes(
            rewriter.json_map,
            is_annotated=rewriter.with_annotations,
            charset=rewriter.charset,
        )

    def text(self, stream: BinaryIO, *, is_explicit: bool) -> Written:
        """Yield a text in its character set."""
        value = stream.read()
        charset = self._rewriter.charset
        mark, codec = character_set_of(value, charset)
        documents = documents_in(
            self._path,
            BytesIO(value),
            Format.TEXT,
            is_explicit=is_explicit,
            charset=charset,
        )
        for each in documents:
            if isinstance(each, InvalidRecord):
                yield each
            else:
                [scrubbed] = self._scrubbed([each])
                yield mark + scrubbed.text.encode(codec, "replace")

    def document(self, stream: BinaryIO, kind: Format) -> Written:
        """Yield a document: RTF and HTML as such, PDF as text."""
        try:
            opened = open_document(stream.read())
        except Unreadable as error:
            reason = f"{NAMES[kind]} that can't be opened ({error.kind}); send text"
            raise InvalidRecord(ReasonCode.UNSUPPORTED, reason) from None
        [scrubbed] = self._scrubbed([Document(str(self._path), opened.text)])
        yield opened.rebuilt(scrubbed).data

    def json(self, stream: BinaryIO, kind: Format) -> Written:
        """Yield JSON notes as lines, or as an array or a value, as they were."""
        source = InputFile(self._path, stream)
        begin, between, end = b"", b"\n", b"\n"
        if kind is Format.JSON:
            records, is_array = self._json_values(source)
            if is_array:
                begin, between, end = b"[", b",\n", b"]\n"
        else:
            lines = enumerate(source.lines(), start=1)
            records = ((f":{n}", each.strip()) for n, each in lines if each.strip())
        yield begin
        is_first = True
        for each in self._json_notes(records):
            if isinstance(each, bytes):
                yield each if is_first else between + each
                is_first = False
            else:
                yield each
        yield end if begin or not is_first else b""

    def table(self, stream: BinaryIO) -> Written:
        """Yield a table with all columns; what the map does not keep is empty."""
        if self._rewriter.with_annotations:
            raise InvalidRecord(
                ReasonCode.UNSUPPORTED, "a table has no place for annotations"
            )
        mapped = self._notes.table(self._path, stream)
        yield mapped.table.mark + mapped.table.written(mapped.table.columns)
        read = (
            (number, row, self._read_row(number, mapped.event(row)))
            for number, row in mapped.table
        )
        while batch := list(islice(read, BATCH)):
            notes = [note for _, _, note in batch if isinstance(note, JsonNote)]
            results = iter(self._results([note.document for note in notes]))
            for number, row, note in batch:
                if isinstance(note, JsonNote):
                    cells = self._cells(mapped, row, note, next(results))
                    yield from guarded(f"{self._path} line {number}", cells)
                else:
                    yield note

    def _read_row(
        self, number: int, event: Mapping[str, str]
    ) -> JsonNote | InvalidRecord:
        place = f"{self._path} line {number}"
        [note] = guarded(place, (self._notes.note_of(each) for each in [event]))
        return note

    def _cells(
        self,
        mapped: MappedTable,
        row: Sequence[str],
        note: JsonNote,
        result: ScrubbedDocument | DeidError,
    ) -> Iterator[bytes]:
        if isinstance(result, DeidError):
            raise _refused(result)
        event = self._event(note, result)
        given = mapped.event(row)
        shown = self._shown(mapped.json_map, given, note, event)
        written = [
            shown.get(name, "") if cell.strip() else ""
            for name, cell in zip(mapped.names, row, strict=True)
        ]
        dropped = sum(
            bool(cell.strip()) and not new
            for cell, new in zip(row, written, strict=True)
        )
        if dropped:
            self._tally.removed["column"] += dropped
        yield mapped.table.written(written)

    def _shown(
        self,
        json_map: JsonMap,
        given: Mapping[str, str],
        note: JsonNote,
        event: Mapping[str, Any],
    ) -> dict[str, str]:
        """Return what is written of the cells of a row, by column."""
        values = self._values(note.document)
        shown = {
            column: values.day(day[:10]) for column, day in json_map.days(given).items()
        }
        patient = event.get("patient", {}).get("id", "")
        for name, value in (("patient.id", patient), *event.items()):
            columns = (each for each in json_map.columns_of(name) if each in given)
            if name != "written_at" and (column := next(columns, None)):
                shown[column] = str(value)
        for path in json_map.pseudonyms:
            if cell := given.get(str(path), ""):
                shown[str(path)] = values.pseudonym(str(path), cell.strip())
        leaked = self._rewriter.deidentifier.leaked_in
        for path in json_map.kept:
            cell = given.get(str(path), "").strip()
            if _CONCEPT.fullmatch(cell) and not leaked(note.document.known, [cell]):
                shown[str(path)] = cell
        return shown

    def hl7(self, stream: BinaryIO) -> Written:
        """Yield messages in their batch envelopes, with their frames and line ends.

        Of an envelope only delimiters and counts are kept.
        """
        reader = self._reader(Format.HL7)
        end = b"\r"
        batch = _Counts()
        for number, piece in enumerate(
            pieces_in(InputFile(self._path, stream)), start=1
        ):
            end = piece.line_end or end
            if piece.is_envelope:
                yield batch.envelope(piece.content) + end
                continue
            place = f"message {number - batch.envelopes}"
            content = in_utf_8(piece.content, self._rewriter.charset)
            # Nothing else says which one it is in.
            codec = UTF_8 if content is piece.content else self._rewriter.charset
            for each in guarded(place, self._rebuilt(reader, content, place)):
                if isinstance(each, InvalidRecord):
                    yield InvalidRecord(each.code, f"{self._path} {each.reason}")
                else:
                    batch.messages += 1
                    yield _packed(each, piece, end, codec)

    def message(self, stream: BinaryIO, kind: Format) -> Written:
        """Yield what the reader of a format rebuilds: a message, or one a line."""
        reader = self._reader(kind)
        if kind is Format.FHIR:
            messages = _json_messages(InputFile(self._path, stream).whole())
        else:
            # Its own declaration says which character set it is in.
            messages = [stream.read(MAX_RECORD_BYTES + 1)]
            if len(messages[0]) > MAX_RECORD_BYTES:
                raise too_large(self._path)
        for number, each in enumerate(messages, start=1):
            parts = list(self._rebuilt(reader, each, f"value {number}"))
            whole = self._joined(each, parts) if kind is Format.FHIR else parts[0]
            yield whole if len(messages) == 1 else whole.strip() + b"\n"

    def _joined(self, message: bytes, parts: Sequence[bytes]) -> bytes:
        """Return a Bundle of several patients as one; count what is of none of them."""
        from streams.formats.fhir.merging import entries_in, merged

        whole = parts[0]
        if len(parts) > 1:
            whole, differing = merged(parts)
            self._tally.removed.update({"Bundle.entry.resource": differing})
        if lost := entries_in(message) - entries_in(whole):
            self._tally.removed["Bundle.entry"] += lost
        return whole

    def _reader(self, kind: Format) -> Reader:
        reader = FILE_READERS.get(kind.value)
        if reader is None:
            notes = "its notes come as JSON lines without --out; "
            raise InvalidRecord(
                ReasonCode.UNSUPPORTED,
                f"{NAMES[kind]} can't be written back in this version; "
                f"{notes if kind is Format.HL7 else ''}leave the file out",
            )
        return reader

    def _rebuilt(self, reader: Reader, value: bytes, place: str) -> Iterator[bytes]:
        """Yield the parts of a message without identifiers."""
        for part in reader.parts(value):
            yield self._part(reader, part, place)

    def _part(self, reader: Reader, part: Part, place: str) -> bytes:
        self._notes.update(part.updates)
        note = part.as_note(place)
        known = self._notes.known(note.patient, note.demographics)
        documents = part_documents_of(note, known, reader)
        values = self._values(documents.document)
        result = rebuilt(values, documents, self._scrubbed(documents.texts))
        self._tally.removed.update(result.removed)
        self._tally.unreadable.update(result.unreadable)
        return result.value

    def _values(self, document: Document) -> PatientValues:
        rewriter = self._rewriter
        return PatientValues(rewriter.deidentifier, document, rewriter.pseudonyms)

    def _scrubbed(self, documents: Sequence[Document]) -> list[ScrubbedDocument]:
        """Return texts, scrubbed.

        Raises:
            InvalidRecord: One is refused.
        """
        scrubbed = []
        for each in self._results(documents):
            if isinstance(each, DeidError):
                raise _refused(each)
            scrubbed.append(each)
        return scrubbed

    def _results(
        self, documents: Sequence[Document]
    ) -> list[ScrubbedDocument | DeidError]:
        self._tally.texts += len(documents)
        results = self._rewriter.deidentifier.deidentify_batch(documents)
        self._tally.identifiers += sum(
            len(each.annotations)
            for each in results
            if isinstance(each, ScrubbedDocument)
        )
        self._rewriter.scrubbed(len(documents))
        return results

    def _json_values(
        self, source: InputFile
    ) -> tuple[Iterator[tuple[str, bytes]], bool]:
        content = source.whole().strip()
        try:
            values = values_of(content)
        except orjson.JSONDecodeError:
            raise InvalidRecord(ReasonCode.BAD_JSON, "not JSON in UTF-8") from None
        numbered = ((f" value {n}", each) for n, each in enumerate(values, start=1))
        return numbered, content.startswith(b"[")

    def _json_notes(self, records: Iterable[tuple[str, bytes]]) -> Written:
        read = (
            (place, self._read(place, each))
            for place, each in ((f"{self._path}{at}", each) for at, each in records)
        )
        while batch := list(islice(read, BATCH)):
            notes = [each for _, each in batch if isinstance(each, JsonNote)]
            results = iter(self._results([each.document for each in notes]))
            for place, each in batch:
                if isinstance(each, JsonNote):
                    yield from guarded(place, self._json_note(each, next(results)))
                else:
                    yield each

    def _read(self, place: str, value: bytes) -> JsonNote | bytes | InvalidRecord:
        """Return a JSON note, or a rebuilt message that JSON wraps."""
        [found] = guarded(place, (self._json_record(each) for each in [value]))
        return found

    def _json_record(self, value: bytes) -> JsonNote | bytes:
        content = unwrapped(value)
        if not holds_hl7(content):
            return self._notes.json_note(content)
        reader = self._reader(Format.HL7)
        rebuilt = self._rebuilt(reader, content, "message")
        text = "".join(map(reader.text, rebuilt))
        return orjson.dumps({"message": text})

    def _json_note(
        self, note: JsonNote, result: ScrubbedDocument | DeidError
    ) -> Iterator[bytes]:
        if isinstance(result, DeidError):
            raise _refused(result)
        written = self._short(result) if note.is_short else self._event(note, result)
        if self._rewriter.with_annotations:
            written["annotations"] = annotations_json(result)
        yield orjson.dumps(written)

    def _short(self, result: ScrubbedDocument) -> dict[str, Any]:
        return {"id": result.id, "text": result.text}

    def _event(self, note: JsonNote, result: ScrubbedDocument) -> dict[str, Any]:
        """Return a note event: its text scrubbed, its ids as pseudonyms, its day."""
        document = note.document
        shown = published(
            self._values(document),
            note.event.get("written_at", ""),
            is_known=bool(document.known.patient_names),
        )
        written: dict[str, Any] = {"note_id": shown.ids.note_id, "text": result.text}
        if shown.ids.patient:
            written["patient"] = {"assigning_authority": "", "id": shown.ids.patient}
        if shown.note_type:
            written["note_type"] = shown.note_type
        if shown.written_at:
            written["written_at"] = shown.written_at
        return written


@dataclass(slots=True)
class _Counts:
    """The counts that the trailers of a batch and of a file hold."""

    envelopes: int = 0
    batches: int = 0
    messages: int = 0

    def envelope(self, segment: bytes) -> bytes:
        """Return a segment of an envelope with its delimiters or count alone."""
        self.envelopes += 1
        name, separator = segment[:3], segment[3:4] or b"|"
        if name in (b"FHS", b"BHS"):
            if name == b"BHS":
                self.batches += 1
                self.messages = 0
            found = _DELIMITERS.match(segment, 3)
            return name + separator + (found[2] if found else _DEFAULT_DELIMITERS)
        count = self.messages if name == b"BTS" else self.batches
        return name + separator + str(count).encode()


def _json_messages(content: bytes) -> list[bytes]:
    """Return JSON as it is, or JSON lines."""
    try:
        orjson.loads(content)
    except orjson.JSONDecodeError:
        return [*filter(bytes.strip, content.splitlines())]
    return [content]


def _packed(message: bytes, piece: Piece, end: bytes, codec: str) -> bytes:
    """Return a message with the line ends, the frame and the codec that it had."""
    if codec != UTF_8:
        message = message.decode().encode(codec, "replace")
    if b"\x00" in message:
        # In UTF-16 it could not be told from its neighbours.
        message = codecs.BOM_UTF8 + HL7.text(message).encode()
    message = (message.rstrip(b"\r") + b"\r").replace(b"\r", end)
    return b"\x0b" + message + b"\x1c\r" if piece.is_framed else message


def _refused(error: DeidError) -> InvalidRecord:
    return InvalidRecord(code_of(error), str(error))
