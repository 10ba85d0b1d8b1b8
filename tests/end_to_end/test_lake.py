"""`phistream lake` on real Kafka: each record once, whatever happens to the writer."""

from __future__ import annotations

import hashlib
import random
import signal
import time
from collections import Counter
from contextlib import contextmanager
from datetime import date

import duckdb
import orjson
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from streams.demo.flow import read_topic
from streams.engine.exit_status import EX_SOFTWARE, EX_TEMPFAIL
from streams.kafka.client import PRODUCER
from streams.kafka.offsets import GroupOffsets
from streams.kafka.topics import HL7_SCRUBBED, NOTES_SCRUBBED, PHI_AUDIT
from streams.products.lake.catalog import open_catalog
from streams.products.lake.progress import OFFSETS
from streams.products.lake.service import tables_of
from streams.products.lake.settings import LakeSettings
from tests.brokers import PATIENCE, wait_until
from tests.commands import Forked, phistream
from tests.harness import is_settled
from tests.lake_spark import ask_spark

pytestmark = pytest.mark.timeout(900)

PATIENTS = 40
TYPES = ("11506-3", "34133-9", "")
COLUMNS = "record_partition, record_offset"


def pseudonym(number):
    return hashlib.sha256(b"%d" % number).hexdigest()[:32]


def note(number, patient, **changes):
    value = {
        "schema_version": 1,
        "note_id": pseudonym(10_000 + number),
        "patient": pseudonym(patient),
        "key_id": "0123abcd",
        "note_type": TYPES[number % 3],
        "text": f"[NAME:PATIENT] took {number} tablets.",
        "offsets": [[0, 9, 0, 14]],
        "preset": "hybrid",
        "policy": "surrogate",
        "join": "found",
        "source": {"topic": "notes", "partition": 0, "offset": number},
    }
    if number % 4:
        value["written_at"] = f"2024-03-{1 + number % 3:02}"
    return NOTES_SCRUBBED, pseudonym(patient), orjson.dumps(value | changes), {}


def message(number, patient):
    headers = {
        "source": f"notes/1/{number}".encode(),
        "format": b"hl7",
        "content-type": b"x-application/hl7-v2+er7",
        "key_id": b"0123abcd",
    }
    value = b"MSH|^~\\&|A|B\rPID|1||%d" % number
    return HL7_SCRUBBED, pseudonym(patient), value, headers


def event(number, patient):
    value = {
        "schema_version": 1,
        "stage": "scrub",
        "outcome": "scrubbed",
        "source": {"topic": "notes", "partition": 0, "offset": number},
        "at_ms": 1_767_182_400_000 + number * 3_600_000,
        "outputs": 1,
        "patient": pseudonym(patient),
        "found": {"DATE": number},
        "digests": {"key_id": "0123abcd", "input": "0" * 32, "outputs": {"a": []}},
        "annotations": [
            {"start": 0, "end": 9, "label": "DATE", "score": 1, "detector": "rules"}
        ],
    }
    return PHI_AUDIT, pseudonym(patient), orjson.dumps(value), {}


def tombstone(topic, patient):
    return topic, pseudonym(patient), None, {}


class Sender:
    """Publishes in transactions, some of them aborted."""

    def __init__(self, settings, seed=0):
        self._settings, self._rng = settings, random.Random(seed)
        name = f"sender-{seed}-{time.monotonic_ns()}"
        properties = PRODUCER | {"transactional.id": name}
        self._producer = Producer(settings.client(**properties))
        self._producer.init_transactions(30)

    def send(self, *records, aborts=False):
        self._producer.begin_transaction()
        for topic, key, value, headers in records:
            self._producer.produce(
                topic.name,
                value,
                key.encode(),
                headers=headers,
                timestamp=-1 if topic.timeless else 0,
            )
        if aborts:
            self._producer.flush()
            self._producer.abort_transaction(30)
        else:
            self._producer.commit_transaction(30)

    def send_all(self, count, *makers):
        for begin in range(0, count, 50):
            numbers = range(begin, min(count, begin + 50))
            records = [make(n, n % PATIENTS) for n in numbers for make in makers]
            if self._rng.random() < 0.2:
                self.send(*records, aborts=True)
            self.send(*records)
        topics = {topic.name for topic, *_ in records}
        wait_until(lambda: all(is_settled(self._settings, each) for each in topics))


class Lake:
    """The lake of a test: its settings, its service, its tables."""

    def __init__(self, settings, folder, **changes):
        given = {"commit_seconds": 0.05, "maintain_seconds": 3600.0, "keep_seconds": 0}
        self.lake = LakeSettings(warehouse=str(folder / "lake"), **(given | changes))
        self.settings = settings.model_copy(update={"products": {"lake": self.lake}})
        self._config = folder / "lake.toml"
        table = self.lake.model_dump(mode="json", exclude_none=True)
        lines = [
            f'bootstrap = "{settings.bootstrap}"',
            f'group = "{settings.group}"',
            "[lake]",
            *(f"{k} = {_toml(v)}" for k, v in table.items() if k != "properties"),
        ]
        self._config.write_text("\n".join(lines) + "\n")
        self._log = folder / "lake.log"
        self.catalog = open_catalog(self.lake)

    @contextmanager
    def running(self):
        """Run the service; it is killed in the end unless the test ended it."""
        process = Forked("lake", "run", "--config", self._config, stderr=self._log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def command(self, *arguments):
        return phistream(
            "lake", *arguments, "--config", self._config, "--json", text=True
        )

    def log(self):
        return self._log.read_text()

    def table(self, topic):
        tables = tables_of(self.lake, self.catalog)
        found = tables[topic.name]
        return found.table if found.load() else None

    def rows(self, topic, columns=COLUMNS):
        """Ask DuckDB, over Arrow."""
        table = self.table(topic)
        if table is None or table.current_snapshot() is None:
            return []
        with duckdb.connect() as connection:
            connection.register("rows", table.scan().to_arrow())
            query = f"select {columns} from rows order by all"  # noqa: S608
            return connection.execute(query).fetchall()

    def count(self, topic):
        """Return the number of rows, as the current snapshot says it."""
        table = self.table(topic)
        snapshot = table.current_snapshot() if table else None
        return int(snapshot.summary["total-records"]) if snapshot else 0

    def wait(self, topic, count, process, seconds=PATIENCE):
        """Wait for so many rows."""

        def is_met():
            assert process.poll() is None, self.log()
            time.sleep(0.1)
            return self.count(topic) >= count

        wait_until(is_met, seconds)


def _toml(value):
    return (
        str(value).lower() if isinstance(value, bool) else orjson.dumps(value).decode()
    )


def positions(settings, topic):
    return sorted((m.partition(), m.offset()) for m in read_topic(settings, topic.name))


@pytest.fixture
def lake(settings, tmp_path):
    lake = Lake(settings, tmp_path)
    yield lake
    lake.catalog.close()


def test_every_record_of_all_topics_becomes_one_row_and_sigterm_commits(lake):
    Sender(lake.settings).send_all(200, note, message, event)
    topics = (NOTES_SCRUBBED, HL7_SCRUBBED, PHI_AUDIT)
    due = {topic: positions(lake.settings, topic) for topic in topics}

    with lake.running() as process:
        for topic in topics:
            lake.wait(topic, len(due[topic]), process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, lake.log()

    assert due == {topic: lake.rows(topic) for topic in topics}
    assert len(due[PHI_AUDIT]) == 200
    columns = "note_type, written_at, day, offsets, source.offset, key_id"
    assert (
        "34133-9", "2024-03-02", date(2024, 3, 2), [[0, 9, 0, 14]], 1, "0123abcd",
    ) in lake.rows(NOTES_SCRUBBED, columns)  # fmt: skip
    assert (None, 0) in lake.rows(NOTES_SCRUBBED, "day, source.offset")
    assert ("MSH|^~\\&|A|B\rPID|1||7", None, "hl7", 7) in lake.rows(
        HL7_SCRUBBED, "content, day, format, source.offset"
    )
    columns = "day, found, annotations[1].label, digests.outputs"
    assert (date(2025, 12, 31), {"DATE": 3}, "DATE", {"a": []}) in lake.rows(
        PHI_AUDIT, columns
    )
    committed = GroupOffsets(
        lake.settings, f"{lake.settings.group}-lake", NOTES_SCRUBBED.name
    )
    last = {p: offset for p, offset in due[NOTES_SCRUBBED]}
    assert all(at > last[p] for p, at in committed.read(last).items())
    committed.close()


def test_a_restart_goes_on_where_the_table_ends(lake):
    sender = Sender(lake.settings)
    for round_ in (1, 2, 3):
        sender.send_all(100, note)
        due = positions(lake.settings, NOTES_SCRUBBED)
        with lake.running() as process:
            lake.wait(NOTES_SCRUBBED, len(due), process)
            if round_ == 1:
                process.kill()
            else:
                process.terminate()
            process.wait(PATIENCE)

    assert len(due) == 300
    assert due == lake.rows(NOTES_SCRUBBED)
    said = lake.table(NOTES_SCRUBBED).current_snapshot().summary[OFFSETS]
    offsets = orjson.loads(said)[NOTES_SCRUBBED.name]
    assert all(offsets[str(p)] > at for p, at in due)


def killed_at_random(lake, rng, *, records, kills):
    """Kill the writer again and again while records come; return the kills that hit."""
    sender = Sender(lake.settings)
    hits = 0
    for _ in range(kills):
        sender.send_all(records // kills, note)
        before = lake.count(NOTES_SCRUBBED)
        with lake.running() as process:
            if rng.random() < 0.8:
                lake.wait(NOTES_SCRUBBED, before + 1, process)
            else:
                time.sleep(rng.uniform(0, 2))
            time.sleep(rng.uniform(0, 0.3))
            process.send_signal(signal.SIGKILL)
            process.wait()
        hits += lake.count(NOTES_SCRUBBED) < len(
            positions(lake.settings, NOTES_SCRUBBED)
        )
    due = positions(lake.settings, NOTES_SCRUBBED)
    with lake.running() as process:
        lake.wait(NOTES_SCRUBBED, len(due), process, 240)
        process.terminate()
        process.wait(PATIENCE)
    rows = lake.rows(NOTES_SCRUBBED)
    missing, doubled = Counter(due) - Counter(rows), Counter(rows) - Counter(due)
    print(
        f"{kills} kills, {hits} of them with work left, {len(due)} records: "
        f"{missing.total()} missing, {doubled.total()} doubled"
    )
    assert not missing
    assert not doubled
    return hits


@pytest.fixture
def small_commits(settings, tmp_path):
    """Many commits, and compaction and expiry in between."""
    lake = Lake(
        settings,
        tmp_path,
        topics=("notes.scrubbed",),
        commit_rows=40,
        maintain_seconds=2.0,
        compact_files=4,
    )
    yield lake
    lake.catalog.close()


def test_a_writer_killed_three_times_neither_loses_nor_doubles(small_commits):
    assert killed_at_random(small_commits, random.Random(3), records=900, kills=3)


@pytest.mark.long
def test_a_writer_killed_at_random_moments_neither_loses_nor_doubles(small_commits):
    assert (
        killed_at_random(small_commits, random.Random(11), records=5000, kills=12) >= 3
    )


def test_of_two_writers_one_stops_and_no_row_is_doubled(small_commits):
    lake = small_commits
    sender = Sender(lake.settings)

    with lake.running() as one, lake.running() as other:
        both = (one, other)
        while all(process.poll() is None for process in both):
            sender.send_all(50, note)
            time.sleep(1)
        due = positions(lake.settings, NOTES_SCRUBBED)
        left = one if other.poll() is not None else other
        stopped = other if left is one else one
        lake.wait(NOTES_SCRUBBED, len(due), left)

    assert stopped.returncode == EX_TEMPFAIL, lake.log()
    assert "another process has written to it" in lake.log()
    assert due == lake.rows(NOTES_SCRUBBED)


def test_an_erased_patient_is_in_no_file_and_later_notes_are_kept(lake, tmp_path):
    sender = Sender(lake.settings)
    topics = (NOTES_SCRUBBED, HL7_SCRUBBED, PHI_AUDIT)
    sender.send_all(100, note, message, event)
    with lake.running() as process:
        for topic in topics:
            lake.wait(topic, 100, process)
        sender.send(*(tombstone(topic, 7) for topic in topics), note(1000, 7))
        # Patient 7 has three of the first hundred records.
        wait_until(lambda: lake.count(NOTES_SCRUBBED) == 98)
        wait_until(lambda: {97} == {lake.count(topic) for topic in topics[1:]})
        process.terminate()
        assert process.wait(PATIENCE) == 0, lake.log()

    erased = f"patient = '{pseudonym(7)}'"
    rows = lake.rows(NOTES_SCRUBBED, "patient, source.offset")
    assert [offset for patient, offset in rows if patient == pseudonym(7)] == [1000]
    assert lake.command("expire").returncode == 0
    for topic in topics[1:]:
        assert lake.rows(topic, f"count(*) filter (where {erased})") == [(0,)]
    held = [*(tmp_path / "lake").rglob("*.parquet")]
    assert held
    # The one that is left is of a later note.
    with_patient = [
        path
        for path in held
        if pseudonym(7) in pq.read_table(path, partitioning=None)["patient"].to_pylist()
    ]
    assert len(with_patient) == 1


def test_commands_compact_expire_and_show_and_spark_reads_the_same(lake):
    sender = Sender(lake.settings)
    with lake.running() as process:
        for count in (60, 120, 180):
            sender.send_all(60, note)
            lake.wait(NOTES_SCRUBBED, count, process)
        process.terminate()
        process.wait(PATIENCE)
    before = lake.rows(NOTES_SCRUBBED)

    [compacted, *_] = orjson.loads(lake.command("compact").stdout)
    [expired, *_] = orjson.loads(lake.command("expire").stdout)
    [shown, *_] = orjson.loads(lake.command("status").stdout)

    assert compacted["before"] > compacted["after"] > 0
    assert expired["snapshots"] >= 3
    assert expired["files"] >= compacted["before"]
    assert (shown["rows"], shown["snapshots"]) == (180, 1)
    assert shown["small"] == 1
    assert before == lake.rows(NOTES_SCRUBBED)
    query = f"select {COLUMNS} from rows"  # noqa: S608
    assert before == sorted(ask_spark(lake.table(NOTES_SCRUBBED), query))


def test_a_record_with_an_unknown_field_stops_the_writer_before_it(lake):
    sender = Sender(lake.settings)
    sender.send_all(20, note)
    due = positions(lake.settings, NOTES_SCRUBBED)
    sender.send(note(21, 3, ward="Zzquellwright"))

    with lake.running() as process:
        assert process.wait(PATIENCE) == EX_SOFTWARE

    assert "notes.scrubbed/" in lake.log()
    assert "holds 1 unknown" in lake.log()
    assert "Zzquellwright" not in lake.log()
    assert set(lake.rows(NOTES_SCRUBBED)) <= set(due)
