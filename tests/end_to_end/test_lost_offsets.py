"""Offsets and topics that are gone: nothing is published twice, nothing without names.

Services run in the test's process as far as their start: what is under test is what a
worker does before it joins its group.
"""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from streams.cluster.client import CONSUMER, PRODUCER
from streams.cluster.topics import (
    HL7_RAW,
    NOTES,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
    Stage,
)
from streams.engine.errors import ConfigError, RetriableError
from streams.workers.lost_offsets import restore_offsets
from tests.brokers import topics_of, wait_until
from tests.conftest import with_topics

RECEIVED = int(time.time() * 1000) - 60_000
"""Recently: the broker deletes what is older than the retention of its topic."""


def produce(settings, topic, value=b"{}", *, partition=0, headers=None, at=RECEIVED):
    producer, failures = Producer(settings.client(**PRODUCER)), []
    producer.produce(
        topic.name,
        value,
        b"k",
        partition=partition,
        headers=headers or {},
        timestamp=at,
        on_delivery=lambda error, _message: error and failures.append(error),
    )
    assert producer.flush(30) == 0
    assert not failures


def audited(settings, topic, offset, *, partition=0, received=RECEIVED):
    source = f"{topic.name}/{partition}/{offset}".encode()
    headers = {"source": source, "received": b"%013d" % received}
    produce(
        settings, PHI_AUDIT, headers=headers, partition=1, at=int(time.time() * 1000)
    )


def committed(settings, stage, topic):
    group = Consumer(
        settings.client(**CONSUMER, **{"group.id": f"{settings.group}-{stage}"})
    )
    wanted = [TopicPartition(topic.name, p) for p in range(settings.partitions)]
    found = {each.partition: each.offset for each in group.committed(wanted, 30)}
    group.close()
    return {p: offset for p, offset in found.items() if offset >= 0}


def restore(settings, stage):
    restore_offsets(settings, stage, beat=lambda: None)
    return committed(settings, stage, {Stage.INTAKE: HL7_RAW}.get(stage, NOTES))


def test_offsets_are_those_after_the_last_records_with_audit_events(settings):
    for number in range(5):
        produce(settings, HL7_RAW, at=RECEIVED + number)
    for number in (0, 1, 2):
        audited(settings, HL7_RAW, number, received=RECEIVED + number)
    audited(settings, NOTES, 4)

    assert {0: 3} == restore(settings, Stage.INTAKE)


def test_a_service_that_starts_for_the_first_time_begins_at_the_first_record(settings):
    produce(settings, HL7_RAW)

    assert {} == restore(settings, Stage.INTAKE)


def test_records_of_a_topic_that_was_made_anew_are_not_taken_for_the_former(settings):
    produce(settings, HL7_RAW, at=RECEIVED + 1)
    audited(settings, HL7_RAW, 0, received=RECEIVED)

    assert {} == restore(settings, Stage.INTAKE)


def test_offsets_that_are_there_are_left_alone(settings):
    produce(settings, HL7_RAW)
    audited(settings, HL7_RAW, 0)
    group = {"group.id": f"{settings.group}-intake"}
    consumer = Consumer(settings.client(**CONSUMER, **group))
    consumer.commit(offsets=[TopicPartition(HL7_RAW.name, 0, 0)], asynchronous=False)
    consumer.close()

    assert {0: 0} == restore(settings, Stage.INTAKE)


def test_events_behind_an_open_transaction_are_waited_for(settings):
    """They are committed, but not yet to be seen."""
    produce(settings, HL7_RAW)
    hanging = Producer(
        settings.client(**PRODUCER, **{"transactional.id": "hanging", "log_level": 0})
    )
    hanging.init_transactions(30)
    hanging.begin_transaction()
    hanging.produce(PHI_AUDIT.name, b"{}", partition=1)
    hanging.flush(30)
    audited(settings, HL7_RAW, 0)
    soon = settings.model_copy(update={"transaction_seconds": -13})

    with pytest.raises(RetriableError, match="stays open"):
        restore(soon, Stage.INTAKE)
    hanging.abort_transaction(30)

    assert {0: 1} == restore(settings, Stage.INTAKE)


def processed_update(settings):
    """An update that was processed: its row is not in `patients`, which is new."""
    produce(settings, PATIENT_UPDATES)
    group = {"group.id": f"{settings.group}-scrub"}
    consumer = Consumer(settings.client(**CONSUMER, **group))
    places = [TopicPartition(topic, 0, 1) for topic in ("notes", "patient.updates")]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


def test_updates_are_read_again_when_the_tables_changelog_is_new(settings):
    processed_update(settings)

    restore(settings, Stage.SCRUB)

    assert 0 == committed(settings, Stage.SCRUB, PATIENT_UPDATES)[0]


def test_no_note_is_joined_with_a_table_whose_updates_are_gone_as_well(settings):
    processed_update(settings)
    produce(settings, PATIENT_UPDATES)
    admin = AdminClient(settings.client())
    before = [TopicPartition(PATIENT_UPDATES.name, 0, 1)]
    for future in admin.delete_records(before).values():
        future.result(30)
    consumer_is_behind(settings)

    with pytest.raises(ConfigError, match="patients is empty"):
        restore(settings, Stage.SCRUB)


def consumer_is_behind(settings):
    group = {"group.id": f"{settings.group}-scrub"}
    consumer = Consumer(settings.client(**CONSUMER, **group))
    place = TopicPartition(PATIENT_UPDATES.name, 0, 2)
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()


def test_a_table_with_rows_is_trusted(settings):
    processed_update(settings)
    produce(settings, PATIENTS)

    restore(settings, Stage.SCRUB)

    assert 1 == committed(settings, Stage.SCRUB, PATIENT_UPDATES)[0]


def test_a_topic_that_was_deleted_has_no_offsets_to_restore(settings):
    produce(settings, HL7_RAW)
    audited(settings, HL7_RAW, 0)
    admin = AdminClient(settings.client())
    admin.delete_topics([HL7_RAW.name])[HL7_RAW.name].result(30)
    wait_until(lambda: HL7_RAW.name not in topics_of(admin))
    with_topics(settings)

    assert {} == restore(settings, Stage.INTAKE)
