"""Notes a second and core of deploy/examples/spark_rescrub.py, beside the library.

    python -m tests.benchmarks.spark
    python -m tests.benchmarks.spark --notes 8000 --preset hybrid

Notes of the ward with their patients' records, each text once.  "Library" is deid_core
on other notes of the same ward in this process, after as many notes of before.  Spark
runs on this machine with two tasks at a time; its first job, of other notes, loads the
models and is not timed.  Both are wall time; where cores are shared, look at the ratio.
"""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console

from streams.demo.ward import Ward
from streams.engine.keys.files import write_private
from streams.kafka.topics import PATIENT_UPDATES
from streams.model.patients.updates import PatientUpdate
from streams.operations.settings import Settings
from streams.pipeline.intake.route import route
from streams.products.rescrub.archive import Archive, ArchivedNote
from streams.products.rescrub.spark_java import use_own_java
from tests.deploy.example import load

TASKS = 2
FILES = 8


def main(
    notes: Annotated[int, typer.Option(help="Notes that are measured.")] = 2000,
    preset: Annotated[str, typer.Option(help="Detection.")] = "hybrid",
    policy: Annotated[str, typer.Option(help="Replacement.")] = "surrogate",
) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        key = folder / "pseudonym.key"
        write_private(key, secrets.token_hex(32).encode())
        settings = Settings(preset=preset, policy=policy, pseudonym_key_file=key)
        rows, updates = rows_of(3 * notes)
        count = len(rows) // 3
        first, second, third = rows[:count], rows[count : 2 * count], rows[2 * count :]
        library = of_library(settings, first, second, updates)
        spark = of_spark(settings, folder, first, third, updates)
    console = Console(width=100)
    console.print(
        f"{count} notes, {preset}, {policy}: library {library:.0f} notes/s; Spark, "
        f"{TASKS} tasks: {spark:.0f} notes/s, {spark / TASKS:.0f} per core, "
        f"{spark / TASKS / library:.2f} of the library"
    )


def rows_of(notes: int) -> tuple[list[dict], dict[tuple[str, str], list[str]]]:
    """Return rows of the table of notes, and the updates of each patient."""
    ward = Ward(seed=5, patients=200)
    rows: list[dict] = []
    updates: dict[tuple[str, str], list[str]] = {}
    for message in (*ward.admissions(), *ward.notes(notes)):
        routed = route(message.value)
        for each in routed.updates:
            patient = each.patient
            update = PatientUpdate(each).to_json()
            value = PATIENT_UPDATES.schema.versioned(update)
            updates.setdefault((patient.assigning_authority, patient.id), []).append(
                orjson.dumps(value).decode()
            )
        rows += [
            {
                "assigning_authority": note.patient.assigning_authority,
                "patient_id": note.patient.id,
                "note_id": note.note_id,
                "note_type": note.note_type,
                "written_at": note.written_at,
                "text": note.text,
            }
            for note in routed.notes
        ]
    return rows, updates


def of_library(settings: Settings, before: list, rows: list, updates: dict) -> float:
    """Return notes a second of the code that Spark calls, in this process."""
    archive = Archive(settings)
    for part in (before, rows):
        notes = [note_of(n, each, updates) for n, each in enumerate(part)]
        begun = time.perf_counter()
        for _ in archive.scrub(notes):
            pass
        seconds = time.perf_counter() - begun
    return len(rows) / seconds


def note_of(number: int, row: dict, updates: dict) -> ArchivedNote:
    patient = row["assigning_authority"], row["patient_id"]
    note = {
        name: row[name] for name in ("note_id", "note_type", "written_at", "text")
    } | {"patient": {"assigning_authority": patient[0], "id": patient[1]}}
    return ArchivedNote(number, note, 0, updates.get(patient))


def of_spark(
    settings: Settings, folder: Path, before: list, rows: list, updates: dict
) -> float:
    """Return notes a second of the example, its second run."""
    use_own_java(folder / "java")
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master(f"local[{TASKS}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", str(TASKS))
        .config("spark.local.dir", str(folder / "local"))
        .getOrCreate()
    )
    example = load("spark_rescrub")
    flat = [{"update": each} for some in updates.values() for each in some]
    write(folder / "patients", flat, 1)
    try:
        for name, part in (("before", before), ("timed", rows)):
            write(folder / name, part, FILES)
            begun = time.perf_counter()
            example.rescrub(
                spark,
                settings,
                str(folder / name),
                str(folder / "patients"),
                str(folder / f"{name}-out"),
            )
            seconds = time.perf_counter() - begun
    finally:
        spark.stop()
    return len(rows) / seconds


def write(folder: Path, rows: list, files: int) -> None:
    folder.mkdir()
    for n in range(files):
        part = rows[n::files]
        pq.write_table(pa.Table.from_pylist(part), folder / f"part-{n}.parquet")


if __name__ == "__main__":
    typer.run(main)
