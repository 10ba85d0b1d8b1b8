"""Rows that are made again from updates are those that there were."""

from __future__ import annotations

import orjson

from streams.engine.records import Partition, Record
from streams.kafka.tables.staged import MemoryRows
from streams.kafka.topics import PATIENT_UPDATES, PATIENTS
from streams.model.patients.demographics import (
    Demographics,
    Name,
    PatientId,
    PatientRecord,
)
from streams.model.patients.updates import PatientUpdate, decode_update
from streams.pipeline.scrub.join import PatientJoin

ONE, OTHER = PatientId("NORTH", "A1"), PatientId("EAST", "B2")
KEPT, LINKED = PatientId("NORTH", "C3"), PatientId("EAST", "D4")


class Topic:
    """`patient.updates`, with a partition for each patient."""

    def __init__(self, *patients):
        self.logs = {each.key: [] for each in patients}

    def update(self, patient, family, merged=()):
        said = PatientRecord(
            patient, "", Demographics(names=(Name(family),)), merged=merged
        )
        value = PATIENT_UPDATES.schema.versioned(PatientUpdate(said).to_json())
        self.logs[patient.key].append(orjson.dumps(value))

    def read(self, begin, again):
        """Fold all updates from given offsets on; return rows, and how far it came."""
        rows, at, has_moved = MemoryRows(), dict(begin), True
        join = PatientJoin(rows)
        while has_moved:
            has_moved = False
            for index, (key, log) in enumerate(self.logs.items()):
                while at[key] < len(log):
                    self._fold(join, index, key, at[key], again[key])
                    at[key] += 1
                    has_moved = True
        return dict(kv for part in rows.rows.values() for kv in part.items()), at

    def _fold(self, join, index, key, offset, again):
        value = self.logs[key][offset]
        place = Partition(PATIENT_UPDATES.name, index)
        record = Record(place, offset, key, value, is_repeated=offset < again)
        outputs = join.update(record, None if value is None else decode_update(value))
        for each in outputs:
            if each.topic == PATIENT_UPDATES.name:
                self.logs[each.key].append(each.value)
        join.rows.commit({Partition(PATIENTS.name, index): offset + 1})


def test_an_erased_patient_stays_erased_when_updates_are_read_again():
    """With linked identifiers, and whatever was forwarded between them."""
    topic = Topic(ONE, OTHER, KEPT, LINKED)
    start = dict.fromkeys(topic.logs, 0)
    topic.update(ONE, "Quell")
    topic.update(OTHER, "Quellson", (ONE,))
    topic.update(KEPT, "Kept")
    topic.update(LINKED, "Keptson", (KEPT,))
    before, _ = topic.read(start, start)
    assert len(before) == 4
    for each in (ONE, OTHER):
        topic.logs[each.key].append(None)
    # As far as it goes the topic was processed.
    done = {key: len(log) for key, log in topic.logs.items()}

    rows, after = topic.read(start, done)

    assert rows.keys() == {KEPT.key, LINKED.key}
    assert all(before[key] == value for key, value in rows.items())
    assert done == after


def test_updates_that_were_not_processed_before_are_forwarded():
    topic = Topic(ONE, OTHER)
    start = dict.fromkeys(topic.logs, 0)
    topic.update(ONE, "Quell")
    topic.update(OTHER, "Quellson", (ONE,))

    rows, _ = topic.read(start, {ONE.key: 1, OTHER.key: 0})

    assert b"Quellson" in rows[ONE.key]
