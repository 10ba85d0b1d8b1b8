"""Workers of scrub that come, go and take over, with the tables of their partitions."""

from __future__ import annotations

import json
import re
import time

import pytest
from confluent_kafka import Consumer

from streams.kafka.client import CONSUMER
from streams.kafka.topics import NOTES, NOTES_SCRUBBED
from streams.operations.reconcile import Auditor
from tests.brokers import wait_until
from tests.end_to_end.test_main_job import FAMILY, adt, event
from tests.harness import (
    RawMessage,
    feed_and_drain,
    running,
    start_service,
    values,
    worker_processes,
)

pytestmark = pytest.mark.timeout(600)

MRNS = [f"7700113{n:02}" for n in range(40)]


def messages_of(make):
    return [RawMessage(make(mrn), mrn.encode()) for mrn in MRNS]


def lines_of(service):
    with open(service.log.name, encoding="utf-8") as log:
        return [json.loads(line)["message"] for line in log]


def opened(service):
    """Return the partitions whose table a service has opened: offset and end."""
    found = (re.search(r"patients\[(\d)\]: table at (\d+) of (\d+)", line)
             for line in lines_of(service))  # fmt: skip
    return [tuple(map(int, each.groups())) for each in found if each]


def test_a_takeover_from_a_standby_copy_restores_nothing(settings):
    settings = settings.model_copy(
        update={"session_seconds": 6, "standby_copies": 1, "preset": "lexical"}
    )
    (folder := settings.state_dir.parent / "other").mkdir()
    other = settings.model_copy(update={"first_slot": 1, "state_dir": folder / "state"})
    with (
        running(settings, "intake") as intake,
        running(settings, "scrub") as [first],
    ):
        with running(other, "scrub") as [second]:
            services = [*intake, first, second]
            wait_until(lambda: opened(second))
            feed_and_drain(settings, services, messages_of(lambda m: adt(mrn=m)))
            wait_until(
                lambda: any(
                    "keeps copies of [2, 3]" in line for line in lines_of(first)
                )
            )
            # Until the copies have caught up; they are read in each turn.
            time.sleep(15)
            before = len(opened(first))
            workers = worker_processes(second)
            # The supervisor first: it would restart its worker.
            second.process.kill()
            for worker in workers:
                worker.kill()
            second.process.wait()
        notes = messages_of(lambda m: event(f"{m}-1", f"{FAMILY} one.", mrn=m))
        feed_and_drain(settings, [*intake, first], notes)
        taken = opened(first)[before:]

    assert {2, 3} <= {partition for partition, _, _ in taken}
    assert all(at > 0 and end - at <= 2 for _, at, end in taken), taken
    assert [each["join"] for each in values(settings, NOTES_SCRUBBED.name)] == (
        ["found"] * len(MRNS)
    )
    assert all(verdict.is_sound for verdict in Auditor(settings).verdicts())


def test_a_worker_refuses_a_group_that_assigns_in_another_way(settings):
    """A consumer of another program is in it, with another assignor."""
    old = Consumer(
        settings.client(
            **CONSUMER,
            **{
                "group.id": f"{settings.group}-scrub",
                "partition.assignment.strategy": "cooperative-sticky",
            },
        )
    )
    old.subscribe([NOTES.name])
    try:
        wait_until(lambda: old.poll(0.1) or old.assignment(), 30)

        service = start_service("scrub", settings)

        assert service.process.wait(120) == 78
        assert "does not keep notes and patient.updates together" in service.tail()
        service.stop()
    finally:
        old.close()
