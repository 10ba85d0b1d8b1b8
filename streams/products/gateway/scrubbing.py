"""Scrubs what requests send; runs in worker processes."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from deid_core import Annotation, Deidentifier, Document, ScrubbedDocument
from deid_core import ConfigError as DeidConfigError
from schemas import json_text
from streams.engine.errors import ConfigError, InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats import Format, recognise
from streams.formats.documents import Unreadable, UnreadableKind, open_document
from streams.formats.readers import CONTENT_TYPES, READERS
from streams.model.audit import Join
from streams.model.parts import Part, Reader, Rebuilt
from streams.model.patients.known_identifiers import PatientRecords
from streams.operations.settings import Settings
from streams.pipeline.files.documents import FileNotes
from streams.pipeline.publish import Ids, PatientValues, Pseudonyms, join_of
from streams.pipeline.scrub.documents import (
    PartDocuments,
    documents_of,
    part_documents_of,
)
from streams.pipeline.scrub.scrubbing import Texts, rebuilt

from .settings import GatewaySettings
from .tasks import ACCEPTED, JSON, NDJSON, Answer, Code, Counts, Kind, Refused, Task

log = logging.getLogger(__name__)

MAX_DEPTH = 64
"""Nesting of JSON; FHIR's Questionnaires and narratives need about 20."""

_FORMATS: Mapping[Kind, str] = {
    Kind.HL7: Format.HL7,
    Kind.FHIR: Format.FHIR,
    Kind.CCDA: Format.CCDA,
}
_PATHS: Mapping[Format, str] = {
    Format.HL7: "HL7 v2: post it to /v1/messages",
    Format.FHIR: "FHIR: post it to /v1/fhir",
    Format.CCDA: "C-CDA: post it to /v1/ccda",
    Format.JSON: "JSON notes: post them to /v1/notes or /v1/notes:batch",
    Format.JSONL: "JSON notes: post them to /v1/notes:batch",
    Format.RTF: "RTF: post it to /v1/documents as application/rtf",
    Format.HTML: "HTML: post it to /v1/documents as text/html",
    Format.PDF: "PDF: post it to /v1/documents as application/pdf",
    Format.TEXT: "text: post it to /v1/documents as text/plain",
}
_DOCUMENTS: Mapping[str, Format] = {
    "text/plain": Format.TEXT,
    "application/rtf": Format.RTF,
    "text/html": Format.HTML,
    "application/pdf": Format.PDF,
}
_JSON_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)
_CHARSET = re.compile(r";\s*charset\s*=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the system in answers: the same for all of them."""

    preset: str
    policy: str


class Scrubber:
    """Answers requests; pure but for its caches.

    Args:
        deidentifier: The pipeline.
        pseudonyms: For ids.
        names: Of preset and policy.
        readers: Of messages, by format.
        max_note_bytes: A larger note of a batch is refused.
        max_batch: So is a batch of more notes.
    """

    def __init__(
        self,
        deidentifier: Deidentifier,
        pseudonyms: Pseudonyms,
        names: Names,
        *,
        readers: Mapping[str, Reader] = READERS,
        max_note_bytes: int = 1 << 20,
        max_batch: int = 1000,
    ) -> None:
        self._deidentifier = deidentifier
        self._pseudonyms = pseudonyms
        self._names = names
        self._readers = readers
        self._max_note_bytes, self._max_batch = max_note_bytes, max_batch
        self._makers: Mapping[Kind, Callable[[Task], Answer]] = {
            Kind.NOTE: self._note,
            Kind.BATCH: self._batch,
            Kind.HL7: self._message,
            Kind.FHIR: self._message,
            Kind.CCDA: self._message,
            Kind.DOCUMENT: self._document,
        }

    @classmethod
    def of(cls, settings: Settings, own_key: bytes) -> Scrubber:
        """Return the scrubber that settings describe.

        Args:
            settings: Of the gateway.
            own_key: Of pseudonyms, where no key is set.

        Raises:
            ConfigError: Preset, policy, lists or key are wrong.
        """
        key = settings.pseudonym_key() if settings.has_pseudonym_key else None
        try:
            deidentifier = Deidentifier.from_names(
                settings.preset, settings.policy, key, terms=settings.terms
            )
        except DeidConfigError as error:
            raise ConfigError(str(error)) from None
        return cls(
            deidentifier,
            Pseudonyms(key or own_key),
            Names(Path(settings.preset).stem, Path(settings.policy).stem),
            max_note_bytes=settings.max_note_bytes,
            max_batch=GatewaySettings.of(settings).batch_notes,
        )

    def answer(self, task: Task) -> Answer:
        """Return the answer to a request; only running out of memory is raised."""
        try:
            _require_media_type(task)
            return self._makers[task.kind](task)
        except Refused as refused:
            return Answer.of(refused)
        except InvalidRecord as error:
            return Answer.of(Refused.of(error))
        except MemoryError:
            raise
        except Exception:
            # The formatter shows the places of a bug, never the exception's text.
            log.exception("a request of kind %s failed", task.kind.value)
            return Answer.of(Refused(ReasonCode.DECODER_FAILED))

    def _note(self, task: Task) -> Answer:
        found = _format_of(task.body)
        if found not in (None, Format.JSON, Format.JSONL, Format.TEXT):
            raise _mismatch(found)
        [document] = self._documents([task.body])
        if isinstance(document, Refused):
            raise document
        [result] = self._results([document], keeps_note_id=task.keeps_note_id)
        if isinstance(result, Refused):
            raise result
        return _answer(result.value, result.counts)

    def _batch(self, task: Task) -> Answer:
        is_array = _name(task.media_type) == JSON
        notes = _array(task.body) if is_array else _lines(task.body)
        if len(notes) > self._max_batch:
            raise Refused(
                ReasonCode.TOO_LARGE,
                f"over {self._max_batch} notes; send several batches",
            )
        documents = self._documents(notes)
        results = self._results(documents, keeps_note_id=task.keeps_note_id)
        values = [
            each.to_json() if isinstance(each, Refused) else each.value
            for each in results
        ]
        counts = _summed(results)
        if is_array:
            return _answer({"results": values}, counts)
        lines = b"".join(orjson.dumps(each) + b"\n" for each in values)
        return Answer(HTTPStatus.OK, NDJSON, lines, counts)

    def _documents(self, notes: Iterable[bytes]) -> list[Document | Refused]:
        """Return note events as documents, joined with the patients before them."""
        joined = FileNotes(is_annotated=True)
        return [self._note_document(joined, each) for each in notes]

    def _note_document(self, joined: FileNotes, value: bytes) -> Document | Refused:
        if len(value) > self._max_note_bytes:
            reason = f"over {self._max_note_bytes} bytes; see max_note_bytes"
            return Refused(ReasonCode.TOO_LARGE, reason)
        try:
            _require_json(value)
            document = joined.json_note(value).document
        except InvalidRecord as error:
            return Refused.of(error)
        except Exception:
            log.exception("a note can't be read")
            return Refused(ReasonCode.DECODER_FAILED)
        return document

    def _results(
        self, documents: Sequence[Document | Refused], *, keeps_note_id: bool
    ) -> list[_Result | Refused]:
        texts = Texts(self._deidentifier)
        texts.add(each for each in documents if isinstance(each, Document))
        texts.scrub()
        return [
            each
            if isinstance(each, Refused)
            else self._result(each, texts, keeps_note_id=keeps_note_id)
            for each in documents
        ]

    def _result(
        self, document: Document, texts: Texts, *, keeps_note_id: bool = False
    ) -> _Result | Refused:
        try:
            [scrubbed] = texts.of([document])
        except InvalidRecord as error:
            return Refused.of(error)
        note_id = document.id if keeps_note_id else self._ids(document).note_id
        value: dict[str, Any] = {
            "note_id": note_id,
            "text": scrubbed.text,
            "annotations": _annotations(scrubbed),
            **self._common(document),
        }
        if scrubbed.other_language:
            value["other_language"] = scrubbed.other_language
        return _Result(value, _counts_of(document, [scrubbed]))

    def _common(self, document: Document) -> dict[str, Any]:
        """Return what all answers say: the patient, the join, key and system."""
        ids = self._ids(document)
        named = {"patient": ids.patient} if ids.patient else {}
        return named | {
            "join": _join(document),
            "key_id": ids.key_id,
            "preset": self._names.preset,
            "policy": self._names.policy,
        }

    def _ids(self, document: Document) -> Ids:
        return self._pseudonyms.ids(document.patient.encode(), document.id)

    def _message(self, task: Task) -> Answer:
        """Return the messages rebuilt, one for each patient, and their notes."""
        name, reader = self._reader(task)
        parts = list(self._joined(reader, reader.parts(task.body)))
        if not parts:
            raise InvalidRecord(ReasonCode.NO_PATIENT, "it names no patient; add one")
        texts = Texts(self._deidentifier)
        for part in parts:
            texts.add(part.documents.texts)
            texts.add(part.notes)
        texts.scrub()
        written = [self._written(part, texts) for part in parts]
        notes = [self._result(each, texts) for part in parts for each in part.notes]
        for each in notes:
            if isinstance(each, Refused):
                raise each
        return self._whole(task, reader, CONTENT_TYPES[name].decode(), written, notes)

    def _reader(self, task: Task) -> tuple[str, Reader]:
        """Return the format of a message, and its reader.

        Raises:
            Refused: It is in another format, or can't be written back.
            InvalidRecord: It is in no format that is supported.
        """
        name = _FORMATS[task.kind]
        found = _format_of(task.body)
        if found is not None and found != name:
            raise _mismatch(found)
        if task.kind is Kind.FHIR:
            _require_json(task.body)
        if found is None:
            recognise(task.body)  # raises, and says why
        reader = self._readers.get(name)
        if reader is None:
            raise Refused(
                ReasonCode.UNSUPPORTED,
                f"this version can't write {task.kind} back; extract the text, and "
                "post it to /v1/notes with the patient's demographics",
            )
        return name, reader

    def _joined(self, reader: Reader, parts: Sequence[Part]) -> Iterator[_JoinedPart]:
        """Yield parts with all that the whole message says of their patients."""
        patients = PatientRecords()
        for part in parts:
            patients.update(part.updates)
        for number, part in enumerate(parts):
            note = part.as_note(str(number))
            known = patients.known(note.patient, note.demographics)
            documents = part_documents_of(note, known, reader)
            notes = [
                documents_of(each, known).document
                for each in part.notes
                if each.patient == note.patient
            ]
            if len(notes) != len(part.notes):
                raise InvalidRecord(
                    ReasonCode.WRONG_KEY, "a note of the part is another patient's"
                )
            yield _JoinedPart(part, documents, tuple(notes))

    def _written(self, joined: _JoinedPart, texts: Texts) -> _RebuiltPart:
        document = joined.documents.document
        scrubbed = texts.of(joined.documents.texts)
        values = PatientValues(self._deidentifier, document, self._pseudonyms)
        part = rebuilt(values, joined.documents, scrubbed)
        return _RebuiltPart(
            part, self._common(document), _counts_of(document, scrubbed)
        )

    def _whole(
        self,
        task: Task,
        reader: Reader,
        media_type: str,
        written: Sequence[_RebuiltPart],
        notes: Iterable[_Result | Refused],
    ) -> Answer:
        counts = _summed(written)
        if _asks_for(task.accept, media_type):
            if len(written) != 1:
                raise Refused(
                    Code.NOT_ACCEPTABLE,
                    "Accept: it names several patients, and gives a message for each; "
                    f"accept {JSON}",
                )
            return Answer(HTTPStatus.OK, media_type, written[0].part.value, counts)
        value = {
            "messages": [
                {
                    "content": reader.text(each.part.value),
                    **each.to_json(media_type),
                }
                for each in written
            ],
            "notes": [each.value for each in notes if isinstance(each, _Result)],
        }
        return _answer(value, counts)

    def _document(self, task: Task) -> Answer:
        wanted = _DOCUMENTS[_name(task.media_type)]
        found = _format_of(task.body)
        # A part of HTML may begin as a text does.
        may_be = {wanted, Format.TEXT} if wanted is Format.HTML else {wanted}
        if found is not None and found not in may_be:
            raise _mismatch(found)
        if found is None and not _is_text_of(task):
            recognise(task.body)  # raises, and says why
        try:
            opened = open_document(task.body, task.media_type)
        except Unreadable as error:
            raise _unreadable(error.kind) from None
        document = Document("document", opened.text)
        texts = Texts(self._deidentifier)
        texts.add([document])
        texts.scrub()
        [scrubbed] = texts.of([document])
        written = opened.rebuilt(scrubbed)
        content = written.data.decode()
        if self._deidentifier.leaked_beside(document, [content]):
            raise Refused(ReasonCode.RESIDUE, "the rebuilt document holds a value")
        counts = _counts_of(document, [scrubbed])
        if _asks_for(task.accept, written.media_type):
            return Answer(HTTPStatus.OK, written.media_type, written.data, counts)
        value = {
            "media_type": written.media_type,
            "content": content,
            "annotations": _annotations(scrubbed),
            **self._common(document),
        }
        return _answer(value, counts)


@dataclass(frozen=True, slots=True)
class _Result:
    """The answer to one note."""

    value: Mapping[str, Any] = field(repr=False)
    counts: Counts


@dataclass(frozen=True, slots=True)
class _JoinedPart:
    """A part of a message, with the documents that are scrubbed for it."""

    part: Part
    documents: PartDocuments
    notes: tuple[Document, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _RebuiltPart:
    """A part of a message, rebuilt."""

    part: Rebuilt
    common: Mapping[str, Any]
    counts: Counts

    def to_json(self, media_type: str) -> dict[str, Any]:
        return {
            "media_type": media_type,
            "removed": dict(self.part.removed),
            "unreadable": dict(self.part.unreadable),
            **self.common,
        }


def depth_of(value: bytes) -> int:
    """Return how deep JSON is nested; beyond `MAX_DEPTH` it is not counted on.

    Args:
        value: Valid JSON.
    """
    depth = deepest = 0
    for token in _JSON_TOKEN.finditer(value):
        bracket = token[0]
        if bracket in (b"{", b"["):
            depth += 1
            deepest = max(deepest, depth)
            if depth > MAX_DEPTH:
                break
        elif bracket in (b"}", b"]"):
            depth -= 1
    return deepest


def _require_media_type(task: Task) -> None:
    accepted = ACCEPTED[task.kind]
    if _name(task.media_type) not in accepted:
        raise Refused(
            ReasonCode.UNSUPPORTED,
            f"Content-Type: /v1/{task.kind} takes {' or '.join(accepted)}",
        )


def _require_json(value: bytes) -> None:
    try:
        orjson.loads(value)
    except orjson.JSONDecodeError:
        raise InvalidRecord(
            ReasonCode.BAD_JSON, "not JSON in UTF-8, or nested too deep"
        ) from None
    if depth_of(value) > MAX_DEPTH:
        raise InvalidRecord(
            ReasonCode.BAD_JSON, f"JSON nested deeper than {MAX_DEPTH} levels"
        )


def _format_of(body: bytes) -> Format | None:
    try:
        return recognise(body)
    except InvalidRecord:
        return None


def _mismatch(found: Format) -> Refused:
    return Refused(ReasonCode.UNSUPPORTED, f"Content-Type: it is {_PATHS[found]}")


def _unreadable(kind: UnreadableKind) -> Refused:
    if kind is UnreadableKind.TOO_LARGE:
        return Refused(
            ReasonCode.TOO_LARGE, "the document is too large in bytes, text or pages"
        )
    return Refused(Code.UNREADABLE, f"the document can't be opened: {kind.value}")


def _is_text_of(task: Task) -> bool:
    """Return whether it is a text in an encoding that its header names."""
    try:
        recognise(task.body)
    except InvalidRecord as error:
        is_text = _name(task.media_type) in ("text/plain", "text/html")
        is_named = bool(_CHARSET.search(task.media_type))
        return is_text and is_named and error.code is ReasonCode.UNDECODABLE
    return True


def _array(body: bytes) -> list[bytes]:
    _require_json(body)
    elements = json_text.elements(body)
    if elements is None:
        raise Refused(
            ReasonCode.SCHEMA,
            f"the body is no array; post one note to /v1/notes, or lines as {NDJSON}",
        )
    return elements


def _lines(body: bytes) -> list[bytes]:
    return [each for line in body.split(b"\n") if (each := line.strip())]


def _annotations(scrubbed: ScrubbedDocument) -> list[dict[str, Any]]:
    return [_annotation(each, scrubbed) for each in scrubbed.annotations]


def _annotation(found: Annotation, scrubbed: ScrubbedDocument) -> dict[str, Any]:
    start, end = found.span.start, found.span.end
    return {
        "label": found.label.value,
        "start": start,
        "end": end,
        "scrubbed_start": scrubbed.offset_map.to_scrubbed(start),
        "scrubbed_end": scrubbed.offset_map.to_scrubbed(end),
        "score": round(found.score, 4),
        "detector": found.source,
    }


def _join(document: Document) -> Join:
    return join_of(is_known=bool(document.known.patient_names))


def _counts_of(document: Document, scrubbed: Iterable[ScrubbedDocument]) -> Counts:
    spans = Counter(a.label.value for each in scrubbed for a in each.annotations)
    return Counts(1, {_join(document): 1}, spans=dict(spans))


def _summed(results: Iterable[_Result | _RebuiltPart | Refused]) -> Counts:
    joins: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    spans: Counter[str] = Counter()
    for each in results:
        if isinstance(each, Refused):
            refused[each.code.value] += 1
        else:
            joins.update(each.counts.joins)
            spans.update(each.counts.spans)
    return Counts(joins.total(), dict(joins), dict(refused), dict(spans))


def _answer(value: Mapping[str, Any], counts: Counts) -> Answer:
    return Answer(HTTPStatus.OK, JSON, orjson.dumps(value), counts)


def _name(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _asks_for(accept: str, media_type: str) -> bool:
    """Return whether Accept names a media type, and not JSON."""
    names = {_name(each) for each in islice(accept.split(","), 32)}
    return _name(media_type) in names and JSON not in names
