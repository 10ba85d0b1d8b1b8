"""Scrub an archive of notes with Spark, as the stream would scrub them.

    spark-submit spark_rescrub.py NOTES PATIENTS OUT [--config FILE] [--files N]

    NOTES     Parquet files: assigning_authority, patient_id, note_id, text, and where
              known note_type, written_at, received_ms (when the message came to
              hl7.raw, in milliseconds: it decides the key if keys were rotated)
    PATIENTS  Parquet files with one column `update`: JSON as on patient.updates, any
              number of updates of a patient
    OUT       scrubbed/input=ID     what notes.scrubbed would hold
              rejected/input=ID     row and reason code; neither text nor identifier
              done/input=ID         path of a file; written last: its output is complete

The model and the policy are loaded once in each Python process of Spark, from the
settings that are broadcast; keys are not: each host reads them where the settings say
(pseudonym_key_file, pseudonym_keys).  With the stream's keys a note has the pseudonyms,
surrogates and shifted dates that it has on notes.scrubbed.  A note of whose patient
there is no update is rejected: erased, or never known.

A run skips the files that are done with the same settings and sizes, and writes the
others anew: a crash leaves no file half done that `done` names.  Read only those.
Needs phistream on all hosts: pip install 'phistream[spark]'.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streams.operations.settings import Settings, load_settings
from streams.products.rescrub.archive import ArchivedNote, archive_of, means_of

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import Column, DataFrame, SparkSession

PATIENT = ["assigning_authority", "patient_id"]
OPTIONAL = {"note_type": "string", "written_at": "string", "received_ms": "bigint"}
SCRUBBED = (
    "note_id string, patient string, key_id string, preset string, policy string, "
    "join string, note_type string, written_at string, text string, "
    "offsets array<array<int>>"
)
RESULT = f"input string, row bigint, code string, {SCRUBBED}"
COLUMNS = [each.split()[0] for each in SCRUBBED.split(", ")]
FILES_AT_ONCE = 64
"""Files of one Spark job: what a crash undoes at most."""


def scrubber(
    means: str,
) -> Callable[[Iterable[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """Return the function for mapInPandas.

    Args:
        means: Of `means_of`.
    """

    def scrub(frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        # Loaded once in a process: it is cached in the module.
        archive = archive_of(means)
        for frame in frames:
            rows = frame.to_dict("records")
            inputs = iter(rows)
            results = archive.scrub(map(archived, rows))
            yield type(frame)(
                [
                    [row["input"], each.row, each.code or None]
                    + [(each.published or {}).get(name) for name in COLUMNS]
                    for row, each in zip(inputs, results, strict=True)
                ],
                columns=["input", "row", "code", *COLUMNS],
            )

    return scrub


def archived(row: dict[str, Any]) -> ArchivedNote:
    """Return a row of the joined tables as a note."""
    note = {
        "note_id": row["note_id"],
        "patient": {
            "assigning_authority": row["assigning_authority"],
            "id": row["patient_id"],
        },
        "note_type": row["note_type"],
        "written_at": row["written_at"],
        "text": row["text"],
    }
    updates = row["updates"]
    return ArchivedNote(
        int(row["row"]),
        note,
        int(row["received_ms"]),
        # Without any, pandas has None or NaN, by its version.
        list(updates) if hasattr(updates, "__len__") else None,
    )


def rescrub(
    spark: SparkSession,
    settings: Settings,
    notes: str,
    patients: str,
    out: str,
    *,
    files_at_once: int = FILES_AT_ONCE,
) -> tuple[int, int]:
    """Scrub the files that are not done; return how many, and how many were.

    Args:
        spark: The session.
        settings: Preset, policy, terms and keys.
        notes: Folder of the table of notes.
        patients: Folder of the table of updates.
        out: Folder of the outputs.
        files_at_once: Of one job.
    """
    means = spark.sparkContext.broadcast(means_of(settings))
    digest = hashlib.sha256(means.value.encode()).hexdigest()
    table = numbered(parquet(spark, notes), str(hadoop(spark, notes)[1]))
    found = {
        each["input"]: each
        for each in table.select("input", "path", "size").distinct().collect()
    }
    done = finished(spark, out, digest)
    left = sorted(
        name for name, each in found.items() if done.get(name) != each["size"]
    )
    updates = updates_by_patient(parquet(spark, patients))
    for start in range(0, len(left), files_at_once):
        names = left[start : start + files_at_once]
        for kind in ("done", "rejected", "scrubbed"):
            remove(spark, out, kind, names)
        # Spark opens these files alone.
        chosen = table.where(table.path.isin([found[each]["path"] for each in names]))
        joined = chosen.drop("path", "size").join(updates, PATIENT, "left")
        results = joined.mapInPandas(scrubber(means.value), RESULT).persist()
        write(results.where("code is null").drop("code"), out, "scrubbed")
        write(results.where("code is not null").select("input", "row", "code"), out,
              "rejected")  # fmt: skip
        marks = spark.createDataFrame(
            [(*found[each], digest) for each in names],
            "input string, path string, size bigint, means string",
        )
        write(marks.coalesce(1), out, "done")
        results.unpersist()
    return len(left), len(found) - len(left)


def parquet(spark: SparkSession, folder: str) -> DataFrame:
    """Return the rows of all Parquet files below a folder, whatever its folders say."""
    return spark.read.option("recursiveFileLookup", "true").parquet(folder)


def numbered(notes: DataFrame, folder: str) -> DataFrame:
    """Return the notes with file and row, which say where each came from."""
    from pyspark.sql import functions as f

    required = {*PATIENT, "note_id", "text"}
    known = required | OPTIONAL.keys()
    if missing := sorted(required - {*notes.columns}):
        raise SystemExit(f"{folder}: columns missing: {', '.join(missing)}")
    if unknown := sorted({*notes.columns} - known):
        # It might hold a note that nobody would scrub.
        raise SystemExit(f"{folder}: unknown columns: {len(unknown)}; drop them first")
    for name, kind in OPTIONAL.items():
        column = f.col(name) if name in notes.columns else f.lit(None).cast(kind)
        notes = notes.withColumn(name, column)
    path = f.col("_metadata.file_path")
    within = f.when(path.startswith(folder), f.substr(path, f.lit(len(folder) + 1)))
    return (
        notes.withColumn("received_ms", f.coalesce("received_ms", f.lit(0)))
        .withColumn("note_type", f.coalesce("note_type", f.lit("")))
        .withColumn("written_at", f.coalesce("written_at", f.lit("")))
        .withColumn("path", path)
        .withColumn("size", f.col("_metadata.file_size"))
        .withColumn("row", f.col("_metadata.row_index"))
        # The same if the archive is moved, and without what names of files may tell.
        .withColumn("input", f.substring(f.sha2(f.coalesce(within, path), 256), 1, 16))
    )


def updates_by_patient(patients: DataFrame) -> DataFrame:
    """Return all updates of each patient."""
    from pyspark.sql import functions as f

    def value(name: str) -> Column:
        return f.get_json_object("update", f"$.patient.{name}")

    authority = f.coalesce(value("assigning_authority"), f.lit(""))
    return (
        patients.select("update")
        .withColumn("assigning_authority", authority)
        .withColumn("patient_id", value("id"))
        .groupBy(*PATIENT)
        .agg(f.collect_list("update").alias("updates"))
    )


def finished(spark: SparkSession, out: str, digest: str) -> dict[str, int]:
    """Return the sizes of the files that are done with these settings."""
    files, folder = hadoop(spark, f"{out}/done")
    if not files.exists(folder):
        return {}
    schema = "path string, size bigint, means string, input string"
    rows = spark.read.schema(schema).parquet(f"{out}/done")
    return {
        each["input"]: each["size"]
        for each in rows.where(rows.means == digest).collect()
    }


def write(rows: DataFrame, out: str, kind: str) -> None:
    """Replace the output of the files of some rows, each as a whole."""
    (
        rows.write.mode("overwrite")
        .option("partitionOverwriteMode", "dynamic")
        .partitionBy("input")
        .parquet(f"{out}/{kind}")
    )


def remove(spark: SparkSession, out: str, kind: str, names: list[str]) -> None:
    """Delete what an earlier run has written for some files; `done` goes first."""
    for name in names:
        files, folder = hadoop(spark, f"{out}/{kind}/input={name}")
        files.delete(folder, True)


def hadoop(spark: SparkSession, name: str) -> tuple[Any, Any]:
    """Return Hadoop's file system of a path, and the path in full."""
    path = spark._jvm.org.apache.hadoop.fs.Path(name)  # noqa: SLF001  # no other way
    files = path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
    return files, files.makeQualified(path)


def main() -> None:
    """Run it as a command."""
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("notes", "patients", "out"):
        parser.add_argument(name)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--files", type=int, default=FILES_AT_ONCE)
    given = parser.parse_args()
    spark = SparkSession.builder.appName("phistream rescrub").getOrCreate()
    settings = load_settings(given.config)
    done, before = rescrub(
        spark,
        settings,
        given.notes,
        given.patients,
        given.out,
        files_at_once=given.files,
    )
    print(f"{done} files scrubbed, {before} were done before", file=sys.stderr)
    spark.stop()


if __name__ == "__main__":
    main()
