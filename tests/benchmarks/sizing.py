"""Measure the factors of the page deploy/sizing.md, on real Kafka, in one run.

    python -m tests.benchmarks.sizing --notes 3000

HL7 messages with one note each, of two lengths, go through intake alone and then scrub
alone, both warm; a line through the two gives the part of a note and the part of its
characters.  Bytes are those of the broker's segments, compressed and with markers of
transactions, for one replica.  The table is restored from its topic by one worker.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from streams.kafka.topics import (
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
)
from streams.pipeline.files.feed import feed
from tests.benchmarks.cluster import benchmark_settings
from tests.benchmarks.stages import (
    WARM_UP,
    Meter,
    cpu_of_deid_core,
    documents_of,
    load_of,
    write_messages,
)
from tests.benchmarks.tables import _in_a_process, _on_disk, fill, opened
from tests.harness import feed_and_drain_intake, running, worker_processes

LENGTHS = (85, 400)
BY_NOTE = (HL7_RAW, NOTES, PATIENT_UPDATES, NOTES_SCRUBBED, PHI_AUDIT)


def main(
    notes: Annotated[int, typer.Option(help="Messages of each length.")] = 1000,
    patients: Annotated[int, typer.Option(help="Patients of the table.")] = 100_000,
) -> None:
    """Print the factors as the page has them."""
    short, long = (of_length(words, notes) for words in LENGTHS)
    rows = {}
    for name in short.keys() - {"characters", "worker_mb"}:
        more = (long[name] - short[name]) / (long["characters"] - short["characters"])
        unit = "µs" if name.endswith("_us") else "bytes"
        rows[name] = short[name] - more * short["characters"], f"{unit} a note"
        rows[f"{name}_per_1000"] = more * 1000, f"{unit} for 1,000 characters of a note"
    rows["worker_mb"] = short["worker_mb"], "MB of memory of a scrub worker"
    rows |= of_table(patients)
    print(f"Lengths of notes: {short['characters']:.0f}, {long['characters']:.0f}\n")
    print("| factor | value | unit |\n| --- | --- | --- |")
    for name, (value, unit) in sorted(rows.items()):
        print(f"| `{name}` | {value:.4g} | {unit} |")


def of_length(words, count):
    """Return what a note of this length takes of everything."""
    with tempfile.TemporaryDirectory(prefix="phistream-sizing-") as folder:
        file = Path(folder) / "messages.json"
        write_messages(file, notes=count, words=words, seed=3)
        load = load_of(file)
    all_notes = count + WARM_UP
    with benchmark_settings(partitions=4) as settings:
        with running(settings, "intake") as services:
            feed_and_drain_intake(settings, services, load["admissions"])
            feed_and_drain_intake(settings, services, load["warm_up"])
            before = _sizes(settings)
            meter = Meter(settings, services, NOTES.name)
            meter.begin()
            feed(settings, load["notes"])
            intake = meter.end(count)
        routed = _sizes(settings)
        with running(settings, "scrub") as services:
            meter = Meter(settings, services, NOTES_SCRUBBED.name)
            meter.reader.wait_for(WARM_UP, meter.check)
            meter.begin()
            scrub = meter.end(all_notes)
            memory = max(
                each.memory_info().rss for each in worker_processes(services[0])
            )
        done = _sizes(settings)
        documents = documents_of(settings, count)
        library = cpu_of_deid_core(documents) / count * 1e6
        # Of all notes, since some were scrubbed while the first batches were warm.
        sizes = {
            topic.name: (routed[topic.name] - before[topic.name]) / count
            + (done[topic.name] - routed[topic.name]) / all_notes
            for topic in BY_NOTE
        }
    return {
        "characters": statistics.mean(len(each.text) for each in documents),
        "intake_us": intake.cpu["intake"],
        "scrub_us": scrub.cpu["scrub"],
        "broker_us": intake.cpu["broker"] + scrub.cpu["broker"],
        "library_us": library,
        "worker_mb": memory / 1e6,
    } | {f"bytes_{name.replace('.', '_')}": size for name, size in sizes.items()}


def of_table(patients):
    """Return what a patient takes, and how fast a table is restored."""
    with benchmark_settings(partitions=4) as settings:
        before = _sizes(settings)[PATIENTS.name]
        fill(settings, patients)
        topic = _sizes(settings)[PATIENTS.name] - before
        restore = _in_a_process(opened, settings)
        disk = _on_disk(settings)
    return {
        "patient_topic_bytes": (topic / patients, "bytes a patient on patients"),
        "patient_table_bytes": (disk / patients, "bytes a patient in the table"),
        "restore_per_second": (
            patients / restore.seconds,
            "patients a second of a worker that restores its table",
        ),
    }


def _sizes(settings):
    """Return the bytes of each topic's segments."""
    found = dict.fromkeys((each.name for each in (*BY_NOTE, PATIENTS)), 0)
    for segment in settings.broker_dir.rglob("*.log"):
        topic = segment.parent.name.rpartition("-")[0]
        if topic in found:
            found[topic] += segment.stat().st_size
    return found


if __name__ == "__main__":
    typer.run(main)
