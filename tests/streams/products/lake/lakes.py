"""What the tests of the lake without Kafka share: records, and a table in a folder."""

from __future__ import annotations

import orjson

from streams.engine.records import Partition, Record
from streams.products.lake.batch import TableBatch
from streams.products.lake.catalog import open_catalog
from streams.products.lake.rows import rows_of
from streams.products.lake.settings import LakeSettings
from streams.products.lake.table import LakeTable

NOTES = "notes.scrubbed"
TOPIC_ID = "made-once"
ANN, BEN = "a" * 32, "b" * 32


def settings_of(folder, **changes):
    given = {"topics": (NOTES,), "keep_seconds": 0, "orphan_seconds": 60}
    return LakeSettings(warehouse=str(folder / "lake"), **(given | changes))


def note_value(**changes):
    return {
        "schema_version": 1,
        "note_id": "0" * 32,
        "patient": ANN,
        "key_id": "0123abcd",
        "note_type": "11506-3",
        "text": "[NAME:PATIENT] rests.",
        "offsets": [[0, 9, 0, 14]],
        "preset": "hybrid",
        "policy": "surrogate",
        "join": "found",
        "source": {"topic": "notes", "partition": 0, "offset": 3},
        **changes,
    }


def record(value, offset=0, *, topic=NOTES, partition=0, key=None, headers=None):
    """Return a record; its key is the patient of the value unless it is given."""
    if key is None:
        key = (value or {}).get("patient", ANN).encode()
    raw = orjson.dumps(value) if isinstance(value, dict) else value
    return Record(Partition(topic, partition), offset, key, raw, headers or {})


def tombstone(patient, offset, partition=0):
    return record(None, offset, partition=partition, key=patient.encode())


class Lake:
    """One table, and what writes it."""

    def __init__(self, settings, rows=None):
        self.settings = settings
        self.catalog = open_catalog(settings)
        self.table = LakeTable(self.catalog, settings, rows or rows_of(NOTES))
        self.table.open()

    def batch(self):
        table = self.table
        return TableBatch(table.rows, table.unit, TOPIC_ID, table.progress())

    def write(self, *records, batch=None):
        batch = self.batch() if batch is None else batch
        for each in records:
            batch.add(each, 0.0)
        self.table.commit(batch.commit())
        batch.clear()

    def rows(self, *columns):
        self.table.refresh()
        found = self.table.table.scan().to_arrow().to_pylist()
        return sorted(tuple(row[c] for c in columns) for row in found)

    def places(self):
        return self.rows("record_partition", "record_offset")

    def close(self):
        self.catalog.close()
