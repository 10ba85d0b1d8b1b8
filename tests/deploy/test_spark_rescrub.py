"""deploy/examples/spark_rescrub.py on local Spark: against the stream, and again."""

from __future__ import annotations

import os
import secrets
import sys

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams.engine.keys.files import write_private
from streams.engine.records import Partition, Record
from streams.kafka.partitioner import partition_of
from streams.kafka.topics import NOTES, PATIENT_UPDATES, PATIENTS
from streams.model.notes import ClinicalNote
from streams.model.outputs import RECEIVED
from streams.model.patients.demographics import (
    Demographics,
    Name,
    PatientId,
    PatientRecord,
)
from streams.model.patients.updates import PatientUpdate
from streams.operations.settings import Settings
from streams.pipeline.scrub.held import UnknownPatients
from streams.pipeline.scrub.outputs import ScrubOutputs
from streams.pipeline.scrub.processor import Scrub
from streams.products.rescrub.spark_java import use_own_java
from streams.service.scrub import deidentifier_of
from tests.deploy.example import load
from tests.office import OFFICE
from tests.tables import MemoryTable

pytestmark = [
    pytest.mark.timeout(600),
    # pyspark 4.3 says it of pandas 3.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

example = load("spark_rescrub")
PATIENT = PatientId("N", "4711-77")
TEXT = "Mabel Quellwright was seen on 3/14/2024; call (312) 555-0147."
KNOWN = Demographics(names=(Name("Quellwright", "Mabel"),))
RECEIVED_MS = 1_760_000_000_000


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    key = tmp_path_factory.mktemp("key") / "pseudonym.key"
    write_private(key, secrets.token_hex(32).encode())
    return Settings(preset="lexical", policy="surrogate", pseudonym_key_file=key)


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """A session with two tasks at a time, reached by nobody else."""
    folder = tmp_path_factory.mktemp("spark")
    kept = dict(os.environ)
    use_own_java(folder / "java")
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        # Most of the time is Java's start: compile quickly rather than well.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    yield session
    session.stop()
    os.environ.clear()
    os.environ.update(kept)


def update(patient, demographics):
    record = PatientRecord(patient, "", demographics)
    value = PATIENT_UPDATES.schema.versioned(PatientUpdate(record).to_json())
    return orjson.dumps(value).decode()


def row(n, text=TEXT, patient=PATIENT, **changes):
    return {
        "assigning_authority": patient.assigning_authority,
        "patient_id": patient.id,
        "note_id": f"n-{n}",
        "note_type": "11506-3",
        "written_at": "2024-03-14T10:00:00",
        "received_ms": RECEIVED_MS,
        "text": text,
    } | changes


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Two files of notes, one of them with what is rejected."""
    folder = tmp_path_factory.mktemp("archive")
    for name in ("notes/day=1", "notes/day=2", "patients"):
        (folder / name).mkdir(parents=True)
    unknown = PatientId("N", "zz-unknown")
    bad = [row(101, "Zzunknown was here.", unknown), row(102, text="")]
    write(folder / "notes/day=1/part.parquet", [row(n) for n in range(4)])
    write(folder / "notes/day=2/part.parquet", [*map(row, range(4, 7)), *bad])
    known = [update(PATIENT, KNOWN)]
    pq.write_table(pa.table({"update": known}), folder / "patients/part.parquet")
    return folder


def write(path, rows):
    pq.write_table(pa.Table.from_pylist(rows), path)


def rescrub(spark, settings, archive, out, **changes):
    folders = [str(archive / each) for each in ("notes", "patients")]
    return example.rescrub(spark, settings, *folders, str(out), **changes)


def rows_of(folder):
    if not folder.exists():
        return []
    return pq.read_table(folder).to_pylist()


@pytest.fixture(scope="module")
def out(spark, settings, archive, tmp_path_factory):
    folder = tmp_path_factory.mktemp("out")
    assert rescrub(spark, settings, archive, folder) == (2, 0)
    return folder


def streamed(settings, n):
    """Return what scrub publishes for the same note."""
    keys = settings.key_ring()
    table = MemoryTable()
    known = PatientRecord(PATIENT, "", KNOWN)
    place = partition_of(PATIENT.key, 4)
    row = orjson.dumps(PATIENTS.schema.versioned(known.to_json()))
    table.rows[place][PATIENT.key] = row
    scrub = Scrub(
        lambda: deidentifier_of(settings, keys),
        table,
        MemoryTable(),
        UnknownPatients(),
        ScrubOutputs(keys, preset="lexical", policy="surrogate"),
        4,
        office=OFFICE,
        max_bytes=100_000,
    )
    scrub.settled([place])
    note = ClinicalNote(f"n-{n}", PATIENT, "11506-3", "2024-03-14T10:00:00", TEXT)
    record = Record(
        Partition(NOTES.name, partition_of(PATIENT.key, 4)),
        0,
        PATIENT.key,
        orjson.dumps(NOTES.schema.versioned(note.to_json())),
        {RECEIVED: b"%013d" % RECEIVED_MS},
    )
    [outcome] = scrub.process([record])
    return orjson.loads(outcome[0].value)


def test_a_note_of_the_archive_is_what_the_stream_publishes(out, settings):
    live = streamed(settings, 2)

    [found] = [
        each for each in rows_of(out / "scrubbed") if each["note_id"] == live["note_id"]
    ]

    assert "Quellwright" not in found["text"]
    assert "3/14/2024" not in found["text"]
    for name in example.COLUMNS:
        assert live[name] == found[name], name


def test_every_note_is_either_scrubbed_or_rejected_with_a_code(out):
    rejected = rows_of(out / "rejected")

    assert len(rows_of(out / "scrubbed")) == 7
    assert sorted((each["row"], each["code"]) for each in rejected) == [
        (3, "unknown_patient"),
        (4, "schema"),
    ]
    assert set(rejected[0]) == {"input", "row", "code"}
    everything = b"".join(
        path.read_bytes() for path in out.rglob("*") if path.is_file()
    )
    for marker in (b"Zzunknown", b"zz-unknown", b"Quellwright", b"4711-77"):
        assert marker not in everything


def test_two_tasks_share_the_notes(out):
    """Spark numbers the parts of an output by their tasks."""
    parts = {path.name[:10] for path in (out / "scrubbed").rglob("part-*.parquet")}

    assert parts == {"part-00000", "part-00001"}


def test_a_run_that_dies_is_continued_by_the_next(
    spark, settings, archive, tmp_path, monkeypatch
):
    """It wrote one file; of the other, the notes alone."""
    write = example.write
    written = []

    def dying(rows, out, kind):
        if len(written) == 4:
            raise KeyboardInterrupt
        written.append(kind)
        write(rows, out, kind)

    monkeypatch.setattr(example, "write", dying)
    with pytest.raises(KeyboardInterrupt):
        rescrub(spark, settings, archive, tmp_path, files_at_once=1)
    monkeypatch.undo()
    assert written == [*("scrubbed", "rejected", "done"), "scrubbed"]
    assert len(rows_of(tmp_path / "done")) == 1
    complete = rows_of(tmp_path / "done")[0]["input"]
    kept = [*(tmp_path / "scrubbed" / f"input={complete}").iterdir()]

    assert rescrub(spark, settings, archive, tmp_path) == (1, 1)

    notes = {each["note_id"] for each in rows_of(tmp_path / "scrubbed")}
    assert len(notes) == 7
    assert len(rows_of(tmp_path / "scrubbed")) == 7
    assert len(rows_of(tmp_path / "rejected")) == 2
    assert sorted(kept) == sorted(
        (tmp_path / "scrubbed" / f"input={complete}").iterdir()
    )


def test_a_run_skips_what_is_done_and_writes_what_changed_anew(
    spark, settings, archive, out
):
    before = {path for path in out.rglob("*.parquet")}

    assert rescrub(spark, settings, archive, out) == (0, 2)

    assert before == {path for path in out.rglob("*.parquet")}
    # A run that died before its last step left output that `done` does not name.
    [mark] = [
        each["input"]
        for each in rows_of(out / "done")
        if "day%3D2" in each["path"] or "day=2" in each["path"]
    ]
    for path in (out / "done" / f"input={mark}").iterdir():
        path.unlink()
    write(archive / "notes/day=2/part.parquet", [row(n) for n in range(4, 7)])

    assert rescrub(spark, settings, archive, out) == (1, 1)

    assert len(rows_of(out / "scrubbed")) == 7
    assert rows_of(out / "rejected") == []


def test_another_policy_does_all_files_again(spark, settings, archive, out):
    other = settings.model_copy(update={"policy": "safe-harbor"})

    assert rescrub(spark, other, archive, out, files_at_once=1) == (2, 0)

    assert {each["policy"] for each in rows_of(out / "scrubbed")} == {"safe-harbor"}
    assert len(rows_of(out / "scrubbed")) == 7


def test_an_unknown_column_is_refused(spark, settings, archive, out, tmp_path):
    rows = [row(1) | {"addendum": "Quellwright"}]
    (tmp_path / "notes").mkdir()
    write(tmp_path / "notes/part.parquet", rows)

    with pytest.raises(SystemExit, match="unknown columns: 1"):
        example.rescrub(
            spark,
            settings,
            str(tmp_path / "notes"),
            str(archive / "patients"),
            str(tmp_path / "out"),
        )
