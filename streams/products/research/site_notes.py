"""A bounded sample of a site's own notes with their patients' records.

From files: whatever `phistream scrub` reads, and marked notes.  From Kafka: the newest
records of `notes`, joined with the rows of `patients` as scrub joins them.  Nothing is
committed, nothing is written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from deid_core import Document
from deid_core.research.corpora.marked import is_marked
from deid_core.research.corpora.readers import read_corpus
from streams.engine.errors import InputError, InvalidRecord
from streams.engine.records import Partition, Record
from streams.kafka.bounded import committed_records
from streams.kafka.client import admin_client, record_of
from streams.kafka.offsets import end_offsets, first_offsets
from streams.kafka.tables.staged import MemoryRows
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import NOTES, PATIENTS
from streams.model.notes import ClinicalNote
from streams.operations.settings import Settings
from streams.pipeline.files.documents import SUFFIXES, documents_in, format_of
from streams.pipeline.files.sources import files_in, require_present
from streams.pipeline.scrub.decode import decode
from streams.pipeline.scrub.join import PatientJoin

Seen = Callable[[int], None]
"""Called with the number of notes read so far."""
_HEAD = 64
ONE = Partition(NOTES.name, 0)
"""Where all rows are looked up: a note in a wrong partition finds its patient, too."""


def notes_in_files(
    paths: Sequence[Path], most: int, seed: int, seen: Seen
) -> list[Document]:
    """Return a sample of the notes in files and folders.

    A marked note's patient is its record: notes with equal records are of one patient.

    Args:
        paths: Files and folders.
        most: Not more notes than that, drawn from all.
        seed: Of the sample.
        seen: Called while they are read.

    Raises:
        InputError: A path is absent or unreadable.
    """
    require_present(paths)
    chance = Random(seed)  # noqa: S311 - a sample is no secret
    sample: list[Document] = []
    count = 0
    for document in _documents(paths):
        if not document.known:
            continue
        # Each note has the same chance, however many there are.
        if len(sample) < most:
            sample.append(document)
        elif (at := chance.randrange(count + 1)) < most:
            sample[at] = document
        count += 1
        seen(count)
    return sample


def _documents(paths: Iterable[Path]) -> Iterator[Document]:
    for path in files_in(paths):
        if is_marked(path):
            for each in read_corpus(path, format="marked").documents:
                yield Document(each.id, each.text, each.known, _digest(each.known))
            continue
        try:
            with path.open("rb") as stream:
                head = stream.read(_HEAD)
                stream.seek(0)
                kind = format_of(path, head)
                if path.suffix.lower() not in SUFFIXES and kind == "text":
                    continue  # a text has no record
                for found in documents_in(path, stream, kind):
                    if isinstance(found, Document):
                        yield _with_patient(found)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}; check the file") from None


def _with_patient(document: Document) -> Document:
    """Return a document with its patient; without a number, its record is that."""
    if document.patient:
        return document
    return replace(document, patient=_digest(document.known))


def _digest(known: object) -> str:
    return hashlib.sha256(repr(_values(known)).encode()).hexdigest()


def _values(known: object) -> object:
    """Return the values of a record, whose own repr hides them."""
    if isinstance(known, tuple):
        return [_values(each) for each in known]
    names = getattr(type(known), "__slots__", ())
    return [_values(getattr(known, each)) for each in names] or str(known)


def notes_in_topics(settings: Settings, most: int, seen: Seen) -> list[Document]:
    """Return the newest notes of `notes` with the records of their patients.

    Args:
        settings: Connection settings.
        most: Not more notes than about that, as many of each partition.
        seen: Called while they are read.

    Raises:
        RetriableError: The cluster does not answer.
    """
    admin = admin_client(settings)
    counts = partition_counts(admin)
    group = f"{settings.group}-adapt"

    def ranges(topic: str, newest: int | None = None) -> dict[int, tuple[int, int]]:
        partitions = range(counts.get(topic, 0))
        firsts = first_offsets(admin, topic, partitions)
        ends = end_offsets(admin, topic, partitions)
        return {
            p: (
                firsts[p] if newest is None else max(firsts[p], ends[p] - newest),
                ends[p],
            )
            for p in partitions
        }

    newest = -(-most // max(1, counts.get(NOTES.name, 0)))
    found: list[tuple[Record, ClinicalNote]] = []
    for message in committed_records(
        settings, NOTES.name, ranges(NOTES.name, newest), group
    ):
        if message is None:
            seen(len(found))
            continue
        record = record_of(message)
        try:
            note = decode(record, max_bytes=settings.max_note_bytes)
        except InvalidRecord:
            continue  # scrub refuses it, too
        found.append((record, note))
    rows = _rows_of(
        settings, {note.patient.key for _, note in found}, ranges(PATIENTS.name), group
    )
    join = PatientJoin(rows)
    return list(_joined(join, found))


def _rows_of(
    settings: Settings,
    keys: set[bytes],
    ranges: dict[int, tuple[int, int]],
    group: str,
) -> MemoryRows:
    rows = MemoryRows()
    for message in committed_records(settings, PATIENTS.name, ranges, group):
        if message is None:
            continue
        record = record_of(message)
        if record.key is None or record.key not in keys:
            continue
        rows.write(ONE.index, {record.key: record.value}, 0)
    return rows


def _joined(
    join: PatientJoin, found: Iterable[tuple[Record, ClinicalNote]]
) -> Iterator[Document]:
    for record, note in found:
        try:
            document = join.join(replace(record, partition=ONE), note).document
        except InvalidRecord:
            continue
        if document.known:
            yield document
