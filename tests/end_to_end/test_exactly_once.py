"""Faults on real Kafka: killed workers, aborted transactions, workers come and go."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from streams.cluster.producer import KafkaProducer
from streams.cluster.topics import NOTES_SCRUBBED
from streams.demo.ward import Ward
from streams.engine.errors import Fenced, RetriableError
from streams.engine.records import Output
from tests.harness import (
    count_records,
    drain,
    feed_and_drain_intake,
    raw,
    run_with_kills,
    running,
    worker_processes,
)
from tests.join_audit import RenamedWard

pytestmark = pytest.mark.timeout(400)


def ward():
    return Ward(seed=5, split="test", patients=80, note_words=60)


def assert_sound(verdicts):
    for verdict in verdicts:
        assert (0, 0, 0, 0) == (
            verdict.pending,
            verdict.missing,
            verdict.doubled,
            verdict.out_of_order,
        ), verdict.examples


def test_kills_at_random_moments_lose_double_and_miss_nothing(settings):
    """The small run of `python -m tests.benchmarks.kills`."""
    settings = settings.model_copy(update={"batch_records": 200})
    ward = RenamedWard(seed=5, merges=True, split="test", patients=80, note_words=60)

    after = run_with_kills(settings, ward, notes=2000, kills=4, seed=2)

    assert [2, 2] == after.kills
    [notes] = [each for each in after.verdicts if each.topic == "notes"]
    assert 2000 <= notes.inputs == notes.scrubbed
    assert_sound(after.verdicts)
    assert 2000 < after.join.by_order
    assert 100 < after.join.by_sight
    assert (0, 0) == (after.join.misses, after.join.refused), after.join.examples


def test_an_aborted_transaction_is_not_seen_by_read_committed(settings):
    producer = KafkaProducer(settings, "aborting")
    for finish in (producer.abort, producer.commit):
        producer.begin()
        for n in range(10):
            producer.produce(Output(NOTES_SCRUBBED.name, b"k", b"%d" % n))
        producer.send_offsets({}, _no_group(settings))
        # Flushed by commit alone: an abort throws away what was not sent yet.
        producer._producer.flush(10)
        finish()

    assert 10 == count_records(settings, NOTES_SCRUBBED.name, "read_committed")
    assert 20 == count_records(settings, NOTES_SCRUBBED.name, "read_uncommitted")


def test_a_zombie_is_fenced_by_its_replacement(settings):
    """Two producers of one slot: the older can commit nothing any more."""
    zombie = KafkaProducer(settings, "slot-0")
    zombie.begin()
    zombie.produce(Output(NOTES_SCRUBBED.name, b"k", b"zombie"))
    replacement = KafkaProducer(settings, "slot-0")
    replacement.begin()
    replacement.produce(Output(NOTES_SCRUBBED.name, b"k", b"replacement"))
    replacement.commit()

    with pytest.raises((Fenced, RetriableError)):
        zombie.commit()

    assert 1 == count_records(settings, NOTES_SCRUBBED.name, "read_committed")


@pytest.mark.long
def test_a_worker_that_was_frozen_past_its_session_doubles_nothing(settings):
    """SIGSTOP past the session's time, its partitions move on, then SIGCONT."""
    # Its supervisor must leave it alone for as long as a busy host may need.
    changes = {"session_seconds": 6, "batch_records": 50, "watchdog_seconds": 600}
    settings = settings.model_copy(update=changes)
    with running(settings, "intake") as services:
        feed_and_drain_intake(settings, services, map(raw, ward().admissions()))
        with running(settings, "scrub") as (first,):
            other = settings.model_copy(update={"first_slot": 7})
            feed_and_drain_intake(settings, services, map(raw, ward().notes(600)))
            while b"runs" not in Path(first.log.name).read_bytes():
                first.check()
                time.sleep(0.2)
            [worker] = worker_processes(first)
            os.kill(worker.pid, signal.SIGSTOP)
            with running(other, "scrub") as (second,):
                drain(settings, [*services, second])
                os.kill(worker.pid, signal.SIGCONT)
                feed_and_drain_intake(settings, services, map(raw, ward().notes(400)))
                drain(settings, [*services, first, second])

    from streams.operations.reconcile import Auditor

    assert_sound(Auditor(settings).verdicts())


@pytest.mark.long
def test_workers_that_come_and_go_lose_and_double_nothing(settings):
    """Rebalances while notes flow; each worker drains on SIGTERM."""
    from streams.operations.reconcile import Auditor

    settings = settings.model_copy(update={"session_seconds": 6, "batch_records": 50})
    with running(settings, "intake") as services:
        feed_and_drain_intake(settings, services, map(raw, ward().admissions()))
        with running(settings, "scrub") as (first,):
            feed_and_drain_intake(settings, services, map(raw, ward().notes(500)))
            for slot in (3, 5):
                other = settings.model_copy(update={"first_slot": slot})
                with running(other, "scrub") as (second,):
                    while not worker_processes(second):
                        second.check()
                        time.sleep(0.1)
                    notes = map(raw, ward().notes(300))
                    feed_and_drain_intake(settings, services, notes)
                    time.sleep(1.0)
            drain(settings, [*services, first])

    assert_sound(Auditor(settings).verdicts())


def _no_group(settings):
    from confluent_kafka import Consumer

    consumer = Consumer(settings.client(**{"group.id": "none"}))
    return consumer.consumer_group_metadata()
