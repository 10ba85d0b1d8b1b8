"""Notes of several kinds, and which are read before which.

A hospital's stream never repeats, so a benchmark must read each text once, after others
that share little with it: `plan_of` puts notes of other sources before those that are
timed.
"""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from deid_core import Document
from deid_core.document import NOTHING_KNOWN
from deid_core.research.corpora.readers import read_corpus
from streams.demo.ward import Ward, WardMessage
from streams.engine.records import Partition, Record
from streams.engine.runner import _micro_batches
from streams.model.patients.demographics import PatientRecord
from streams.model.patients.known_identifiers import known_identifiers
from streams.model.patients.updates import PatientUpdate, fold
from streams.operations.settings import Settings
from streams.pipeline.intake.route import route

DATA = Path(__file__).parents[3] / "shared/data"
WRITTEN = Path(__file__).parents[1] / "written_notes"
BEFORE = 180
FEW, MANY = 7, 38
"""Identifiers planted in a note of the ward, about."""
WORDS = 400
"""Of a note with few identifiers, about."""
_PORTION_BYTES = Settings.model_fields["portion_bytes"].default


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of notes.

    Args:
        source: Where the texts come from; notes of one source share words.
        identifiers: In each note of the ward, about.
        records: Whether the patients' records are given.
    """

    source: str
    identifiers: int = 0
    records: bool = False

    @property
    def name(self) -> str:
        return self.texts + (", records" if self.records else "")

    @property
    def texts(self) -> str:
        """A name of the texts, whether records are given or not."""
        return f"{self.source} {self.identifiers or ''}".strip()


KINDS = (
    Kind("real"),
    Kind("dense"),
    Kind("dense", records=True),
    Kind("written"),
    Kind("ward", FEW),
    Kind("ward", FEW, records=True),
    Kind("ward", MANY),
    Kind("ward", MANY, records=True),
)
_OTHERS = (Kind("real"), Kind("dense", records=True), Kind("written"), KINDS[5])
"""One kind of each source, to be read before others."""


class NotThere(Exception):
    """A corpus is not on this machine; the message says which, and where to put it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The notes of one measurement; no text occurs twice.

    Args:
        before: Notes of other sources, read first.
        notes: The notes that are timed.
    """

    kind: Kind
    before: list[Document]
    notes: list[Document]


def words_in(documents: Iterable[Document]) -> int:
    """Return how many runs of non-blank characters there are."""
    return sum(len(each.text.split()) for each in documents)


def new_words_in(plan: Plan) -> int:
    """Return how many of the timed notes' words are read for the first time."""
    read = {word for each in plan.before for word in each.text.split()}
    return len({word for each in plan.notes for word in each.text.split()} - read)


def plan_of(kind: Kind, data: Path, notes: int, seed: int) -> Plan:
    """Return the notes of a kind, and what is read before them.

    Args:
        kind: Of the notes that are timed.
        data: The folder of the open corpora; without it, fewer sources are read before.
        notes: Their number, at most.
        seed: Of the order, and of the ward.

    Raises:
        NotThere: The kind's corpus is not in the folder.
    """
    timed = _unread(documents_of(kind, data, notes, seed), set())[:notes]
    others = []
    for other in _OTHERS:
        try:
            if other.source != kind.source:
                others.append(documents_of(other, data, BEFORE, seed + 1))
        except NotThere:
            continue
    in_turn = [each for row in zip_longest(*others) for each in row if each]
    before = _unread(in_turn, {each.text for each in timed})[:BEFORE]
    named = [
        [replace(each, id=f"{part}-{n}") for n, each in enumerate(documents)]
        for part, documents in (("before", before), ("note", timed))
    ]
    return Plan(kind, *named)


def documents_of(kind: Kind, data: Path, notes: int, seed: int) -> list[Document]:
    """Return notes of a kind, in random order.

    Raises:
        NotThere: The kind's corpus is not in the folder.
    """
    if kind.source == "ward":
        # A few repeat one another, and are left out.
        found = notes_of(kind.identifiers, notes=notes + 20, seed=seed)
    else:
        found = _READERS[kind.source](data)
        random.Random(seed).shuffle(found)
    if kind.records:
        return found
    return [replace(each, known=NOTHING_KNOWN) for each in found]


def batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Yield the documents in batches of the size that the service uses."""
    given = list(documents)
    records = [
        Record(Partition("notes", 0), offset, b"", each.text.encode())
        for offset, each in enumerate(given)
    ]
    for batch in _micro_batches(records, _PORTION_BYTES):
        yield [given[each.offset] for each in batch]


def _unread(documents: Iterable[Document], read: set[str]) -> list[Document]:
    unread: dict[str, Document] = {}
    for each in documents:
        if each.text not in read:
            unread.setdefault(each.text, each)
    return list(unread.values())


def _real(data: Path) -> list[Document]:
    return [
        each
        for name in ("mtsamples", "aci-bench")
        for each in _json_lines(_present(data / name / "notes.jsonl"))
    ]


def _written(_data: Path) -> list[Document]:
    return [each for part in ("train", "dev") for each in _marked(WRITTEN / part)]


def _dense(data: Path) -> list[Document]:
    files = (_present(data / f"dense-notes/{name}.txt") for name in ("us", "intl"))
    return [each for file in files for each in _marked(file)]


def _marked(path: Path) -> list[Document]:
    documents = read_corpus(path).documents
    return [Document("", each.text, each.known) for each in documents]


_READERS = {"real": _real, "written": _written, "dense": _dense}


def _json_lines(file: Path) -> list[Document]:
    rows = map(json.loads, file.read_text("utf-8").splitlines())
    return [Document("", row["text"]) for row in rows]


def _present(file: Path) -> Path:
    if not file.exists():
        raise NotThere(f"no {file}; see --data")
    return file


def notes_of(identifiers: int, *, notes: int, seed: int) -> list[Document]:
    """Return notes of the ward, each with its patient's record at its time.

    Args:
        identifiers: In each note, about: `FEW` or `MANY`.
        notes: Their number.
        seed: Of the ward.
    """
    # The ward's own notes are dense; only long ones have many sentences without any.
    words = 295 if identifiers == MANY else 4 * WORDS
    ward = Ward(seed=seed, patients=400, note_words=words, split="dev")
    stream = islice(streamed(ward), notes)
    if identifiers == MANY:
        return [document for _, document in stream]
    return [_diluted(*each, identifiers) for each in stream]


def streamed(ward: Ward) -> Iterator[tuple[WardMessage, Document]]:
    """Yield the notes of an endless stream, joined with records that change in it.

    Updates and merges change the records, as scrub folds them.
    """
    records: dict[bytes, PatientRecord] = {}
    for message in ward.admissions():
        _fold(message, records)
    for message in ward.messages(1_000_000):
        if message.code:
            continue
        for note in _fold(message, records):
            record = records.get(note.patient.key)
            if known := known_identifiers(record, note.demographics):
                patient = note.patient.key.decode()
                yield message, Document(note.note_id, note.text, known, patient)


def _fold(message: WardMessage, records: dict[bytes, PatientRecord]) -> Iterable[Any]:
    routed = route(message.value)
    updates = deque(map(PatientUpdate, routed.updates))
    while updates:
        update = updates.popleft()
        key = update.record.patient.key
        folded = fold(records.get(key), update)
        records[key] = folded.record
        updates += folded.forwards
    return routed.notes


def _diluted(message: WardMessage, document: Document, identifiers: int) -> Document:
    """Return the note with only its first identifiers, shortened to `WORDS`."""
    starts = [each.start for each in message.planted]
    kept, count, at = [], 0, 0
    for sentence in _sentences(message.text):
        start, end = at, at + len(sentence)
        at = end
        holds = sum(start <= each < end for each in starts)
        if holds and identifiers < holds:
            continue
        identifiers -= holds
        kept.append(sentence)
        count += len(sentence.split())
        if count >= WORDS:
            break
    return replace(document, text="".join(kept))


def _sentences(text: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        rest = line
        while ". " in rest:
            cut = rest.index(". ") + 2
            yield rest[:cut]
            rest = rest[cut:]
        yield rest
