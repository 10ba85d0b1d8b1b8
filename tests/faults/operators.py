"""Faults of operation: offsets, topics and partitions that change under the service."""

from __future__ import annotations

import time

from confluent_kafka import TopicCollection
from confluent_kafka.admin import NewPartitions

from streams.engine.exit_status import EX_CONFIG
from streams.kafka.topics import HL7_RAW, NOTES, NOTES_HELD, PATIENT_UPDATES, PATIENTS
from tests.brokers import wait_until
from tests.conftest import has_leaders
from tests.faults.scenarios import faults_of, scenario

SLOTS = [("intake", 0), ("scrub", 0), ("scrub", 1)]


def stop_all(run):
    for stage, slot in SLOTS:
        run.stop_service(stage, slot, status=None)


def start_all(run):
    for stage, slot in SLOTS:
        run.start_service(stage, slot)


@scenario(effects={"offsets set": "the group's offsets are set to"})
def offsets_expired(run):
    """The committed offsets of both groups are gone after a stop."""
    run.start()
    run.seen.must_abort = False
    for number in run.moments(faults_of(run, 3)):
        stop_all(run)
        stages = ("intake", "scrub") if number % 2 else ("scrub",)
        groups = [f"{run.settings.group}-{stage}" for stage in stages]
        for group in groups:
            wait_until(lambda name=group: run.is_deleted(name), 60)
        run.fault("offsets deleted", count=len(groups))
        start_all(run)
        run.wait_for_progress()


@scenario(effects={"topics with another id": ""})
def topics_made_anew(run):
    """Input topics whose records are all processed are deleted and made again."""
    run.start()
    run.seen.must_abort = False
    names = [HL7_RAW.name, NOTES.name, PATIENT_UPDATES.name]
    for _ in run.moments(2):
        with run.feed.paused():
            run.wait_until_idle()
            stop_all(run)
            before = topic_ids(run, names)
            run.restore_topics(names, seconds=2)
            anew = topic_ids(run, names) - before
            run.effect("topics with another id", len(anew))
            run.feed.base += 1 << 40
            start_all(run)
            run.fault("inputs deleted")
        run.wait_for_progress()


@scenario(effects={"updates read again": "all are read again"})
def changelog_made_anew(run):
    """The table's changelog is deleted after a stop: updates are read once more."""
    run.start()
    run.seen.must_abort = False
    for _ in run.moments(faults_of(run, 2)):
        stop_all(run)
        run.restore_topics([PATIENTS.name], seconds=1)
        run.fault("patients deleted")
        start_all(run)
        run.wait_for_progress()


@scenario(effects={f"refusal ({EX_CONFIG})": ""})
def partitions_added(run):
    """More partitions of `hl7.raw` under load; then of the keyed topics: refused."""
    run.start()
    run.seen.must_abort = False
    for _ in run.moments(1):
        _grow(run, HL7_RAW.name)
        run.fault("hl7.raw: partitions added")
    with run.feed.paused():
        run.wait_until_idle()
        stop_all(run)
        _grow(run, NOTES.name)
        run.fault("notes: partitions added")
        run.expect_refusal(run.start_service("scrub", 0), "same count")
        for topic in (PATIENT_UPDATES, PATIENTS, NOTES_HELD):
            _grow(run, topic.name)
        run.fault("all keyed topics: partitions added")
        run.expect_refusal(run.start_service("scrub", 0), "partitions were added")
        run.feed.is_over = True
    time.sleep(1)


def topic_ids(run, names):
    described = run.cluster.admin.describe_topics(TopicCollection(names))
    return {str(each.result(30).topic_id) for each in described.values()}


def _grow(run, topic):
    admin = run.cluster.admin
    count = run.settings.partitions + 2
    admin.create_partitions([NewPartitions(topic, count)])[topic].result(30)
    wait_until(lambda: has_leaders(admin, topic))
