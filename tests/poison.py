"""Notes with one among them that takes its worker down, and what becomes of them."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from streams.demo.flow import read_topic
from streams.demo.services import start_service
from streams.demo.ward import Ward
from streams.kafka.client import admin_client
from streams.kafka.lag import LagReader
from streams.kafka.topics import DEAD_LETTERS, NOTES, NOTES_SCRUBBED
from streams.operations.reconcile import Auditor
from streams.pipeline.files.feed import RawMessage
from tests.harness import drain, feed_and_drain_intake, raw, running

MARK = "zzpoisonzz"
FAULTS = ("loop", "pattern", "kernel", "segfault", "memory", "ends", "hangs")
CODES = {"loop": "deadline", "pattern": "deadline"}
"""What cannot be interrupted, or takes the process along, is `poison`."""
ENDS = ("segfault", "ends")
"""Faults by which a worker ends by itself."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of the notes of one run."""

    fault: str
    workers: int
    deaths: int
    seconds: float
    published: int
    letters: Counter
    missing: int
    doubled: int
    out_of_order: int
    others_seconds: float


@contextmanager
def faulty(fault, place="scrub"):
    """Start services whose processes break on text that holds `MARK`."""
    folder = str(Path(__file__).parent / "end_to_end" / "poisoned")
    changes = {"PYTHONPATH": folder, "TESTS_FAULT": fault, "TESTS_PLACE": place}
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def quick(settings, fault=""):
    """Return settings whose limits a test can wait for."""
    # On a busy host a second of CPU time takes many: the first line must come first.
    # A worker that ends by itself needs no watchdog, which a busy broker might wake.
    needs_no_watchdog = CODES.get(fault) == "deadline" or fault in ENDS
    return settings.model_copy(
        update={
            "preset": "lexical",
            "watchdog_seconds": 60 if needs_no_watchdog else 6,
            "note_seconds": 1,
            "session_seconds": 6,
            "batch_records": 100,
        }
    )


def poisonous(key="4711"):
    """Return a note event that breaks the services, of a patient of its own."""
    value = {
        "schema_version": 1,
        "note_id": f"POISON-{key}",
        "patient": {"assigning_authority": "TAM", "id": key},
        "note_type": "11506-3",
        "written_at": "2025-01-06T06:00:00",
        "text": f"Seen today, well. {MARK}",
    }
    return RawMessage(orjson.dumps(value))


def deaths(settings, stage="scrub"):
    """Return how many workers have ended, by the supervisor's own log."""
    text = (settings.state_dir.parent / f"{stage}.log").read_text("utf-8")
    return sum(": restarted" in line for line in text.splitlines())


def run_poisoned(settings, fault, *, workers, notes=400):
    """Feed notes around a poisonous one, run scrub until it is through, and audit."""
    settings = quick(settings, fault)
    ward = Ward(seed=5, split="test", patients=60, note_words=40)
    before, after = list(ward.notes(notes // 2)), list(ward.notes(notes // 2))
    with running(settings, "intake") as services:
        feed_and_drain_intake(settings, services, map(raw, ward.admissions()))
        messages = [*map(raw, before), poisonous(), *map(raw, after)]
        feed_and_drain_intake(settings, services, messages)
        with faulty(fault):
            scrub = start_service("scrub", settings, workers=workers)
        try:
            began = time.monotonic()
            others = _others_are_through(settings, scrub) - began
            drain(settings, [*services, scrub])
            seconds = time.monotonic() - began
        finally:
            scrub.stop()
    return result(settings, fault, workers, seconds, others)


def result(settings, fault, workers, seconds, others):
    letters = Counter(
        orjson.loads(message.value())["code"]
        for message in read_topic(settings, DEAD_LETTERS.name)
    )
    verdicts = Auditor(settings).verdicts()
    return Result(
        fault,
        workers,
        deaths(settings),
        seconds,
        sum(1 for _ in read_topic(settings, NOTES_SCRUBBED.name)),
        letters,
        sum(each.missing + each.pending for each in verdicts),
        sum(each.doubled for each in verdicts),
        sum(each.out_of_order for each in verdicts),
        others,
    )


def _others_are_through(settings, service):
    """Return when all partitions but one are drained, or all."""
    reader = LagReader(
        settings, admin_client(settings), NOTES.name, f"{settings.group}-scrub"
    )
    deadline = time.monotonic() + 600
    try:
        while time.monotonic() < deadline:
            service.check()
            lags = reader.read().items()
            if sum(not reader.is_drained({p: lag}) for p, lag in lags) <= 1:
                return time.monotonic()
            time.sleep(0.2)
    finally:
        reader.close()
    raise AssertionError("the other partitions stand")
