"""What the client and the broker promise, of which `tests/faults` shows the sum."""

from __future__ import annotations

import random
import time

import pytest
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from streams.engine.errors import Fenced, RecordRefused, RetriableError
from streams.engine.records import Output
from streams.kafka import producer as producers
from streams.kafka.client import admin_client
from streams.kafka.producer import KafkaProducer
from streams.kafka.topics import NOTES, NOTES_SCRUBBED, PATIENT_UPDATES
from streams.pipeline.files.feed import RawMessage, feed
from tests.brokers import wait_until
from tests.harness import count_records, is_settled, running, values

pytestmark = pytest.mark.timeout(400)


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

    wait_until(lambda: is_settled(settings, NOTES_SCRUBBED.name))
    assert count_records(settings, NOTES_SCRUBBED.name, "read_committed") == 10
    assert count_records(settings, NOTES_SCRUBBED.name, "read_uncommitted") == 20


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

    wait_until(lambda: is_settled(settings, NOTES_SCRUBBED.name))
    assert count_records(settings, NOTES_SCRUBBED.name, "read_committed") == 1


def test_a_record_that_the_broker_refuses_is_told_from_an_outage(settings):
    limit_size(settings, NOTES_SCRUBBED.name, 1_000)
    producer = KafkaProducer(settings, "too-large")
    producer.begin()
    producer.produce(
        Output(NOTES_SCRUBBED.name, b"k", random.Random(1).randbytes(2_000))
    )

    with pytest.raises(RecordRefused, match="MSG_SIZE_TOO_LARGE"):
        producer.commit()
    producer.abort()


def test_a_clock_that_is_ahead_is_not_held_against_a_record(settings, monkeypatch):
    """Else each record in turn would become a dead letter, once it is set right."""
    ahead = time.time() + 2 * 3600
    monkeypatch.setattr(producers, "STAMPED_NOW", round(ahead * 1000))
    producer = KafkaProducer(settings, "ahead")
    producer.begin()
    producer.produce(Output(PATIENT_UPDATES.name, b"k", b"v"))

    with pytest.raises(RetriableError, match="clock of this host is ahead") as refused:
        producer.commit()
    assert not isinstance(refused.value, RecordRefused)
    producer.abort()


def test_a_worker_that_is_stopped_while_its_batches_fail_leaves_in_order(settings):
    """Else the next owner would suspect that one of the records had ended it."""
    limit_size(settings, NOTES.name, 1_000)
    text = random.Random(1).randbytes(2_000).hex()
    note = (
        "MSH|^~\\&|A|B|C|D|20250101||ORU^R01|M1|P|2.5\rPID|1||1\rOBR|1||7|x\r"
        f"OBX|1|TX|||{text}\r"
    )
    with running(settings, "intake") as [intake]:
        feed(settings, [RawMessage(note.encode(), b"1")])
        wait_until(lambda: "batch undone" in intake.tail(50))
        intake.stop()
    assert "not released" not in intake.tail(50)
    assert "is a bug" not in intake.tail(50)

    limit_size(settings, NOTES.name, NOTES.max_message_bytes)
    with running(settings, "intake") as [intake]:
        wait_until(lambda: intake.check() or values(settings, NOTES.name))
    assert "died" not in intake.tail(50)
    assert len(values(settings, NOTES.name)) == 1


def limit_size(settings, topic, size):
    operation = AlterConfigOpType.SET
    entry = ConfigEntry("max.message.bytes", str(size), incremental_operation=operation)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = admin_client(settings)
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(30)


def _no_group(settings):
    from confluent_kafka import Consumer

    consumer = Consumer(settings.client(**{"group.id": "none"}))
    return consumer.consumer_group_metadata()
