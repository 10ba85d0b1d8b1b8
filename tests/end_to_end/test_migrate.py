"""`phistream topics migrate` on deployments as the version before left them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace

import orjson
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from streams.cluster.client import CONSUMER, PRODUCER, admin_client
from streams.cluster.offsets import GroupOffsets
from streams.cluster.topic_admin import check_topics, partition_counts
from streams.cluster.topics import (
    ALL_TOPICS,
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
)
from streams.demo.flow import read_topic
from streams.patients.demographics import (
    Demographics,
    Name,
    PatientId,
    PatientRecord,
    merge_records,
)
from tests.brokers import wait_until
from tests.commands import phistream
from tests.conftest import has_leaders, settings_for
from tests.harness import count_records, drain, produce, running, values

PARTITIONS = 3
OLD_TOPICS = [topic for topic in ALL_TOPICS if topic is not PATIENT_UPDATES]


def patient(n):
    return PatientId("NORTH", f"{n}")


def said(n, family, day, *, former=(), merged=()):
    return PatientRecord(
        patient(n),
        f"2024-01-{day:02}T00:00:00",
        Demographics(names=(Name(family, "Mabelle"),)),
        Demographics(names=tuple(Name(each, "Mabelle") for each in former)),
        tuple(map(patient, merged)),
    )


def written(record):
    """Return key and value as intake wrote them: without times."""
    value = PATIENTS.schema.versioned(record.to_json())
    assert "times" not in value
    return record.patient.key, orjson.dumps(value)


@pytest.fixture
def old(cluster, tmp_path):
    """Topics, committed offsets and local state of the version before."""
    settings = settings_for(cluster, tmp_path, partitions=PARTITIONS, session_seconds=6)
    admin = admin_client(settings)
    topics = [NewTopic(t.name, PARTITIONS, 1, config=t.config()) for t in OLD_TOPICS]
    for future in admin.create_topics(topics).values():
        future.result(30)
    for topic in OLD_TOPICS:
        wait_until(lambda name=topic.name: has_leaders(admin, name))
    state = settings.state_dir / settings.group
    for folder in ("intake-0/patients-0", "intake-1/patients-2", "scrub-0/patients-1"):
        (state / folder).mkdir(parents=True)
        (state / folder / "CURRENT").write_text("a table")
    produce(settings, HL7_RAW.name, [(b"%d" % n, b"MSH|") for n in range(30)])
    notes = [(patient(n).key, b"{}") for n in range(30)]
    produce(settings, NOTES.name, notes)
    with member(settings, "intake", HL7_RAW) as intake:
        commit(intake, HL7_RAW, 0)
    with member(settings, "scrub", NOTES) as scrub:
        commit(scrub, NOTES, 4)
    return SimpleNamespace(settings=settings, admin=admin, state=state)


@contextmanager
def member(settings, stage, topic, **more):
    """Join a group as a worker of the version before did."""
    properties = {
        "group.id": f"{settings.group}-{stage}",
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": 6000,
    }
    consumer = Consumer(settings.client(**CONSUMER, **properties, **more))
    assigned = []
    consumer.subscribe([topic.name], on_assign=lambda _, got: assigned.extend(got))
    try:
        wait_until(lambda: consumer.poll(0.1) is None and assigned)
        yield consumer
    finally:
        consumer.close()


def commit(consumer, topic, each):
    offsets = [TopicPartition(topic.name, p, each) for p in range(PARTITIONS)]
    consumer.commit(offsets=offsets, asynchronous=False)


def abort(settings, pairs):
    """Leave records of an aborted transaction."""
    producer = Producer(settings.client(**PRODUCER, **{"transactional.id": "old"}))
    producer.init_transactions(30)
    producer.begin_transaction()
    for key, value in pairs:
        producer.produce(PATIENTS.name, value, key)
    producer.flush()
    producer.abort_transaction(30)


def migrate(old, *arguments, **more):
    return phistream(
        *("topics", "migrate", *arguments),
        env=environment(old.settings) | more,
        text=True,
    )


def environment(settings):
    names = ("bootstrap", "group", "state_dir", "partitions", "session_seconds")
    given = {f"PHISTREAM_{n.upper()}": str(getattr(settings, n)) for n in names}
    return {**os.environ, **given, "COLUMNS": "200"}


def last_values(settings):
    """Return the committed values that a table restored from the topic would have."""
    found = {}
    for message in read_topic(settings, PATIENTS.name):
        found[message.key()] = message.value()
    return {
        key: PatientRecord.from_json(orjson.loads(value))
        for key, value in found.items()
        if value is not None
    }


def committed(settings, stage, topic):
    group = GroupOffsets(settings, f"{settings.group}-{stage}", topic.name)
    offsets = group.read(range(PARTITIONS))
    group.close()
    return offsets


def test_a_deployment_is_moved_and_a_second_run_finds_nothing_to_do(old):
    # Two workers at once: the last value of 1 lacks Marsh.
    first, second = said(1, "Marsh", 1), said(1, "Quellwright", 2)
    whole = said(2, "Ngo", 3, former=["Ola"])
    retired, surviving = said(3, "Abe", 1, merged=[4]), said(4, "Abe", 1, merged=[3])
    later = said(4, "Bell", 5, former=["Abe"], merged=[3])
    erased, again = said(5, "Gone", 1), said(6, "Forgotten", 1)
    anew = said(6, "Anew", 2)
    records = [first, said(2, "Ola", 1), erased, again, retired, surviving]
    pairs = [*map(written, records), (patient(5).key, None), (patient(6).key, None)]
    pairs += map(written, [second, whole, later, anew])
    produce(old.settings, PATIENTS.name, pairs)
    abort(old.settings, [written(said(1, "Aborted", 9))])
    before = {
        topic.name: [*read_topic(old.settings, topic.name)]
        for topic in (HL7_RAW, NOTES)
    }

    dry = migrate(old, "--dry-run")
    assert 0 == dry.returncode, dry.stderr
    assert "topics would be created: patient.updates" in dry.stdout
    assert "2 lack values" in dry.stdout
    assert PATIENT_UPDATES.name not in partition_counts(old.admin)
    assert len(pairs) == count_records(old.settings, "patients", "read_committed")
    assert (old.state / "intake-0").exists()

    done = migrate(old)

    assert 0 == done.returncode, done.stderr
    assert "topics created: patient.updates" in done.stdout
    assert "12 records of 5 patients read; 2 lack" in done.stdout
    assert "notes: up to 18 records wait" in done.stdout
    assert "hl7.raw: up to 30 records wait" in done.stdout
    assert "next: phistream run scrub" in done.stdout
    assert PARTITIONS == partition_counts(old.admin)[PATIENT_UPDATES.name]
    assert [] == check_topics(old.settings)
    found = last_values(old.settings)
    assert {patient(n).key for n in (1, 2, 3, 4, 6)} == {*found}
    assert merge_records(first, second) == found[patient(1).key]
    assert (whole, later, anew) == tuple(found[patient(n).key] for n in (2, 4, 6))
    linked = found[patient(3).key]
    assert ["Bell"] == [name.family for name in linked.current.names]
    assert ["Abe"] == [name.family for name in linked.former.names]
    assert (patient(4),) == linked.merged
    for topic, messages in before.items():
        assert len(messages) == len([*read_topic(old.settings, topic)])
    assert {4} == {*committed(old.settings, "scrub", NOTES).values()}
    assert {0} == {*committed(old.settings, "intake", HL7_RAW).values()}
    assert ["scrub-0"] == [each.name for each in old.state.iterdir()]
    assert not any(name in done.stdout for name in ("Marsh", "Quellwright", "NORTH"))

    more = migrate(old)
    assert (0, True) == (more.returncode, "; 0 lack values" in more.stdout)
    assert len(pairs) + 2 == count_records(old.settings, "patients", "read_committed")


@pytest.mark.parametrize(("stage", "topic"), [("intake", HL7_RAW), ("scrub", NOTES)])
def test_while_a_worker_runs_or_its_session_lasts_nothing_is_done(old, stage, topic):
    static = {"group.instance.id": f"{stage}-0"}
    with member(old.settings, stage, topic, **static):
        running = migrate(old)
        dry = migrate(old, "--dry-run")
    # A static member that was stopped belongs to the group until its session ends.
    stopped = migrate(old)

    for done in (running, stopped):
        assert 78 == done.returncode
        assert f"{stage} has 1 members; stop phistream run {stage}" in done.stderr
        assert "wait until their sessions have ended (6 s)" in done.stderr
    assert (0, True) == (dry.returncode, "would refuse: " in dry.stdout)
    assert "patients: 0 records of 0 patients read" in dry.stdout
    assert PATIENT_UPDATES.name not in partition_counts(old.admin)
    assert (old.state / "intake-0").exists()

    def ended():
        return 0 == migrate(old).returncode

    wait_until(ended)


def test_a_run_that_is_killed_at_any_moment_is_continued_by_the_next(old):
    people = range(3000)
    pairs = [written(said(n, "Marsh", 1)) for n in people]
    pairs += [written(said(n, "Quellwright", 2)) for n in people]
    produce(old.settings, PATIENTS.name, pairs)
    slow = {"PHISTREAM_BATCH_RECORDS": "3"}
    seen = []
    for _ in range(3):
        killed_in_the_middle(old, slow)
        seen.append(len(last_whole(old.settings)))

    done = migrate(old)

    assert 0 == done.returncode, done.stderr
    assert 0 < seen[0] < seen[1] < seen[2] < len(people)
    assert f"{len(people) - seen[2]} lack values" in done.stdout
    found = last_values(old.settings)
    assert {patient(n).key for n in people} == {*found}
    for n in people:
        expected = said(n, "Quellwright", 2, former=["Marsh"])
        assert expected == found[patient(n).key]
    # Each was written once, whatever the kills left in open transactions.
    counts = Counter(m.key() for m in read_topic(old.settings, PATIENTS.name))
    assert {3} == {*counts.values()}
    assert ["scrub-0"] == [each.name for each in old.state.iterdir()]


def last_whole(settings):
    return [each for each in last_values(settings).values() if each.former.names]


def killed_in_the_middle(old, slow):
    """Start a run, and kill it when it has written some more."""
    before = count_records(old.settings, PATIENTS.name, "read_committed")
    process = subprocess.Popen(
        [sys.executable, "-m", "streams.cli", "topics", "migrate"],
        env=environment(old.settings) | slow,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(
            lambda: (
                process.poll() is not None
                or count_records(old.settings, PATIENTS.name, "read_committed") > before
            )
        )
        assert process.poll() is None, process.stderr.read()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def test_a_value_that_is_broken_is_counted_left_and_named_and_the_rest_is_done(old):
    broken = (patient(2).key, b'{"patient": "ZZMARKER"}')
    pairs = [*map(written, [said(1, "Marsh", 1), said(1, "Ngo", 2)]), broken]
    produce(old.settings, PATIENTS.name, pairs)
    [where] = [
        f"patients[{m.partition()}]@{m.offset()}"
        for m in read_topic(old.settings, PATIENTS.name)
        if m.key() == broken[0]
    ]

    done = migrate(old)

    assert 1 == done.returncode
    assert f"left as it is: {where}: breaks its schema" in done.stdout
    assert "1 records are left: before scrub starts, write a tombstone" in done.stdout
    assert "ZZMARKER" not in done.stdout + done.stderr
    values = [m.value() for m in read_topic(old.settings, PATIENTS.name)]
    assert 1 == values.count(broken[1])
    assert 1 == len(last_whole_of(values))


def last_whole_of(values):
    return [each for each in values if b'"former":{"names"' in each]


def test_topics_with_different_numbers_of_partitions_are_refused(old):
    more = NewTopic(PATIENT_UPDATES.name, PARTITIONS + 1, 1)
    old.admin.create_topics([more])[PATIENT_UPDATES.name].result(30)
    wait_until(lambda: has_leaders(old.admin, PATIENT_UPDATES.name))

    done = migrate(old)

    assert 78 == done.returncode
    assert "patient.updates has 4 partitions and notes has 3" in done.stderr
    assert "delete it if nothing was published there" in done.stderr


def test_a_cluster_without_a_deployment_needs_no_migration(cluster, tmp_path):
    settings = settings_for(cluster, tmp_path)

    done = migrate(SimpleNamespace(settings=settings))

    assert 78 == done.returncode
    assert "a new deployment needs no migration" in done.stderr


def test_notes_that_waited_are_scrubbed_with_what_earlier_records_said(old):
    """Tables of the version before lie in the state folder, and are replaced."""
    settings = old.settings.model_copy(update={"preset": "lexical"})
    records = [said(n, "Ozzrick", 1, merged=[3 - n]) for n in (1, 2)]
    records.append(said(1, "Tillquen", 2))
    produce(settings, PATIENTS.name, [*map(written, records)])
    waiting = [
        (
            patient(n).key,
            orjson.dumps(
                NOTES.schema.versioned(
                    {
                        "note_id": f"W-{n}",
                        "patient": {"assigning_authority": "NORTH", "id": f"{n}"},
                        "note_type": "11506-3",
                        "written_at": "2024-03-01T09:30:00",
                        "text": "Uses Ozzrick or Tillquen.",
                    }
                )
            ),
        )
        for n in (1, 2)
    ]
    produce(settings, NOTES.name, waiting)
    assert 0 == migrate(old).returncode

    with running(settings, "scrub", "intake") as services:
        drain(settings, services)

    texts = [each["text"] for each in values(settings, NOTES_SCRUBBED.name)]
    assert 2 == len(texts)
    assert not [each for each in texts if "Ozzrick" in each or "Tillquen" in each]
