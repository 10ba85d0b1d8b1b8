"""A ward's notes as a marked corpus: planted identifiers and patient records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from deid_core.document import KnownIdentifiers, Span
from deid_core.research.corpora.conventions import PLAIN, conventions_for
from deid_core.research.corpora.corpus import Corpus, GoldDocument, GoldSpan
from streams.model.patients.demographics import PatientRecord, merge_records
from streams.model.patients.known_identifiers import known_identifiers
from streams.pipeline.intake.route import Routed, route

from .draft import Planted
from .people import Split
from .ward import Ward, WardMessage

Noted = tuple[WardMessage, KnownIdentifiers]


def ward_corpus(notes: int, *, split: Split, seed: int, patients: int = 200) -> Corpus:
    """Return the notes of patients who have a record, joined as the service joins.

    A span's kind is its way of planting (`draft.HOWS`).

    Args:
        notes: How many are written; those of unknown patients are left out.
        split: ``dev`` and ``test`` share no template, name or site.
        seed: Decides the whole ward.
        patients: How many people there are.
    """
    ward = Ward(seed=seed, patients=patients, split=split)
    documents = tuple(map(_document, noted(ward, notes)))
    spoken = conventions_for(Path("ward"), PLAIN)
    return Corpus("ward", f"{split}, seed {seed}", False, spoken, documents)


def noted(ward: Ward, count: int) -> Iterator[Noted]:
    """Yield each note of a patient with a record, and the identifiers known then."""
    records: dict[bytes, PatientRecord] = {}
    for message in ward.admissions():
        _routed(message, records)
    for message in ward.notes(count):
        [note] = _routed(message, records).notes
        record = records.get(note.patient.key)
        if known := known_identifiers(record, note.demographics):
            yield message, known


def _routed(message: WardMessage, records: dict[bytes, PatientRecord]) -> Routed:
    result = route(message.value)
    for update in result.updates:
        key = update.patient.key
        records[key] = merge_records(records.get(key), update)
    return result


def _document(note: Noted) -> GoldDocument:
    message, known = note
    spans = tuple(sorted(_spans(message.planted), key=lambda each: each.span))
    return GoldDocument("", message.text, spans, known=known)


def _spans(planted: Iterable[Planted]) -> Iterator[GoldSpan]:
    for number, each in enumerate(planted):
        span = Span(each.start, each.start + len(each.value))
        yield GoldSpan(span, each.label.value, each.label, number, (each.how,))
