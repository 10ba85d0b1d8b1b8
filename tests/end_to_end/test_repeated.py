"""Messages that are sent again, with `repeated_seconds`: over batches, deaths, workers.

Intake alone runs: what it gives once on `notes`, scrub gives once.
"""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections import Counter

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from streams.demo.flow import read_topic
from streams.engine.records import Partition, Record
from streams.formats.hl7.sender import header_of, sender_key
from streams.kafka.client import PRODUCER
from streams.kafka.partitioner import partition_of
from streams.kafka.producer import KafkaProducer
from streams.kafka.tables.staged import MemoryRows
from streams.kafka.topics import DEAD_LETTERS, HL7_RAW, MESSAGES_SEEN, NOTES, PHI_AUDIT
from streams.operations.reconcile import Auditor
from streams.pipeline.intake.seen import Digests, Judged, SeenMessages
from tests.brokers import PATIENCE, wait_until
from tests.harness import (
    RawMessage,
    Target,
    feed,
    feed_and_drain_intake,
    running,
    start_service,
    values,
    worker_processes,
)

pytestmark = pytest.mark.timeout(400)

HOUR = 3600
SENDERS = ("LAB|NORTH", "RAD|NORTH", "ADT|SOUTH", "OP^1.2.3^ISO|SOUTH")


@pytest.fixture
def settings(settings):
    return settings.model_copy(update={"repeated_seconds": HOUR, "session_seconds": 6})


def oru(number, *, sender=SENDERS[0], text=None):
    return (
        f"MSH|^~\\&|{sender}|B|C|20250101080100||ORU^R01|M{number}|P|2.5\r"
        f"PID|1||{number}^^^N^MR||Alt^Ada\rOBR|1|||L^Lab\r"
        f"OBX|1|TX|||{text or f'note {number}'}\r"
    ).encode()


def keyed(value):
    return RawMessage(value, sender_key(value))


def send(settings, services, messages):
    feed_and_drain_intake(settings, services, map(keyed, messages))


def outcomes(settings):
    return Counter(
        "conflict" if "conflicts" in each.get("routed", {}) else each["outcome"]
        for each in values(settings, PHI_AUDIT.name)
    )


def texts(settings):
    return Counter(each["text"] for each in values(settings, NOTES.name))


def rows(settings):
    """Return what the changelog says of each key in the end."""
    return {m.key(): m.value() for m in read_topic(settings, MESSAGES_SEEN.name)}


def verdict(settings):
    [raw] = [e for e in Auditor(settings).verdicts() if e.topic == HL7_RAW.name]
    assert raw.is_sound, raw.examples
    return raw


def messages(count, **how):
    return [oru(n, sender=SENDERS[n % len(SENDERS)], **how) for n in range(count)]


def test_repetitions_give_no_second_note_whatever_happens_to_workers(settings):
    """In one batch and over batches, after a death, lost files, and a handover."""
    first, count = messages(40), 40
    with running(settings, "intake") as services:
        send(settings, services, [*first, *first])
        assert outcomes(settings) == {"routed": 40, "repeated": 40}
        send(settings, services, first)

        [worker] = worker_processes(services[0])
        worker.send_signal(signal.SIGKILL)
        send(settings, services, first)

        other = settings.model_copy(update={"first_slot": 7})
        with running(other, "intake") as (second,):
            log = settings.state_dir.parent / "intake.log"
            wait_until(lambda: b"intake worker 7 runs" in log.read_bytes())
            time.sleep(2)
            send(settings, [*services, second], first)
            services[0].stop()
            send(settings, [second], [*first, *messages(40, text="corrected")])
    for folder in (settings.state_dir / settings.group).glob("intake-*"):
        shutil.rmtree(folder)
    with running(settings, "intake") as services:
        send(settings, services, first)

    assert outcomes(settings) == {"routed": 40, "repeated": 6 * 40, "conflict": 40}
    assert {f"note {n}": 1 for n in range(count)} | {"corrected": 40} == texts(settings)
    found = verdict(settings)
    assert (found.inputs, found.scrubbed, found.repeated) == (320, 80, 240)


def test_after_the_window_messages_count_again_and_rows_are_deleted(settings):
    """The window is that of the records' times."""
    now = int(time.time() * 1000)

    def at(hours_ago, given):
        producer = Producer(settings.client(**PRODUCER))
        for value in given:
            producer.produce(
                HL7_RAW.name,
                value,
                sender_key(value),
                timestamp=now - int(hours_ago * HOUR * 1000),
            )
        assert producer.flush(30) == 0

    with running(settings, "intake") as services:
        old, later = (
            messages(60),
            [oru(n, sender=SENDERS[n % 4]) for n in range(60, 160)],
        )
        at(3, old)
        at(2.5, old)
        send(settings, services, [])
        assert outcomes(settings) == {"routed": 60, "repeated": 60}
        assert sum(value is not None for value in rows(settings).values()) == 60

        at(1, old[:20])
        send(settings, services, [])
        assert outcomes(settings) == {"routed": 80, "repeated": 60}

        at(0, later)
        send(settings, services, later)

    assert outcomes(settings) == {"routed": 180, "repeated": 160}
    left = rows(settings)
    digests = Digests(settings.pseudonym_key())

    def is_left(value):
        header = header_of(value.decode())
        return left[digests.of_control_id(header.sender, header.control_id)] is not None

    assert not any(map(is_left, old[20:]))
    assert all(map(is_left, later))


@pytest.mark.parametrize("is_committed", [True, False])
def test_rows_of_an_aborted_transaction_are_not_believed(settings, is_committed):
    value = oru(1)
    place = partition_of(sender_key(value), settings.partitions)
    seen = SeenMessages(
        MemoryRows(),
        settings.key_ring(),
        window_ms=HOUR * 1000,
        partitions=settings.partitions,
    )
    time_ms = int(time.time() * 1000)
    judged = Judged(
        Record(Partition(HL7_RAW.name, place), 99, None, value, {}, time_ms)
    )
    assert seen.is_new(judged, value.decode().rstrip("\r"), 0)
    [row] = seen.put(judged)
    producer = KafkaProducer(settings, "a-worker-that-died")
    producer.begin()
    producer.produce(row)
    producer._producer.flush(10)
    if is_committed:
        producer.commit()
    else:
        producer.abort()

    with running(settings, "intake") as services:
        send(settings, services, [value])

    assert outcomes(settings) == {"repeated" if is_committed else "routed": 1}


def test_kills_at_random_moments_double_and_lose_no_message(settings):
    settings = settings.model_copy(update={"batch_records": 25})
    rng = random.Random(11)
    originals = [oru(n, sender=SENDERS[n % 4]) for n in range(1200)]
    sent, repetitions = [], 0
    for n, value in enumerate(originals):
        sent.append(value)
        if rng.random() < 0.5:
            # Some at once, some long after.
            back = rng.choice([0, rng.randrange(5), rng.randrange(400)])
            sent.append(originals[max(0, n - back)])
            repetitions += 1
    with running(settings, "intake") as services:
        send(settings, services, [oru("first")])
        target = Target(settings, services[0], rng, kills=4, records=len(sent))
        fed, deadline = 0, time.monotonic() + 300
        while fed < len(sent) or not target.is_done:
            assert time.monotonic() < deadline, "the kills take too long"
            if more := sent[fed : target.allowance]:
                fed += feed(settings, map(keyed, more))
            if not target.is_done:
                target.turn(None)
            time.sleep(0.02)
        feed_and_drain_intake(settings, services, [])
        target.close()

    assert target.kills == 4
    assert {f"note {n}": 1 for n in ["first", *range(1200)]} == texts(settings)
    assert outcomes(settings) == {"routed": 1201, "repeated": repetitions}
    assert repetitions == verdict(settings).repeated


def test_messages_that_are_not_keyed_by_their_sender_are_refused(settings):
    with running(settings, "intake") as services:
        given = [RawMessage(oru(n), b"%d" % n) for n in range(40)]
        feed_and_drain_intake(settings, services, given)

    letters = values(settings, DEAD_LETTERS.name)
    assert {each["code"] for each in letters} == {"wrong_partition"}
    assert len(letters) + len(values(settings, NOTES.name)) == 40
    assert letters


def test_only_with_the_option_intake_needs_the_topic(settings):
    admin = AdminClient(settings.client())
    admin.delete_topics([MESSAGES_SEEN.name])[MESSAGES_SEEN.name].result(20)
    wait_until(lambda: MESSAGES_SEEN.name not in admin.list_topics().topics)

    refused = start_service("intake", settings)
    assert refused.process.wait(PATIENCE) == 78
    refused.stop()

    off = settings.model_copy(update={"repeated_seconds": 0})
    with running(off, "intake") as services:
        send(off, services, [oru(1), oru(1)])
    assert outcomes(settings) == {"routed": 2}
    assert not [*(settings.state_dir / settings.group).glob("intake-*")]
