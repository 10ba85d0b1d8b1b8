"""The table on disk: restart, damage, another partitioner, other partition counts."""

from __future__ import annotations

import json
import shutil

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from streams.demo.services import start_service
from streams.patients import PatientId
from streams.topics import NOTES_SCRUBBED, PATIENTS, check_topics
from tests.end_to_end.test_main_job import FAMILY, MRN, adt, event
from tests.harness import RawMessage, drain, feed_and_drain, produce, running, values

KEY = MRN.encode()


def texts(settings):
    return sorted(s["text"] for s in values(settings, NOTES_SCRUBBED.name))


def logs(settings, stage):
    return (settings.state_dir.parent / f"{stage}.log").read_text()


def table_lines(settings):
    return [
        json.loads(line)["message"]
        for line in logs(settings, "scrub").splitlines()
        if "table" in line
    ]


@pytest.fixture
def stopped(settings):
    """A system that has scrubbed one note of a known patient, and was stopped."""
    with running(settings, "intake", "scrub") as services:
        feed_and_drain(settings, services, [RawMessage(adt(), KEY)])
        message = RawMessage(event("n1", f"{FAMILY} one."), KEY)
        feed_and_drain(settings, services, [message])
    assert ["[NAME:PATIENT] one."] == texts(settings)
    return settings


def scrub_another(settings):
    with running(settings, "intake", "scrub") as services:
        message = RawMessage(event("n2", f"{FAMILY} two."), KEY)
        feed_and_drain(settings, services, [message])


def test_a_restart_resumes_from_the_stored_offset(stopped):
    before = len(table_lines(stopped))

    scrub_another(stopped)

    after = table_lines(stopped)[before:]
    assert ["[NAME:PATIENT] one.", "[NAME:PATIENT] two."] == texts(stopped)
    assert any("table at 1 of" in line for line in after), after


@pytest.mark.parametrize("damage", ["deleted", "manifest", "current"])
def test_a_damaged_table_is_dropped_and_restored(stopped, damage):
    for folder in (stopped.state_dir / stopped.group).glob("scrub-0/patients-*"):
        if damage == "deleted":
            shutil.rmtree(folder)
        pattern = {"manifest": "MANIFEST-*", "current": "CURRENT"}.get(damage, "none")
        for file in folder.glob(pattern):
            file.write_bytes(b"damaged" * 50)

    scrub_another(stopped)

    assert ["[NAME:PATIENT] one.", "[NAME:PATIENT] two."] == texts(stopped)


def test_a_tombstone_forgets_the_patient(stopped):
    produce(stopped, PATIENTS.name, [(PatientId("NORTH", MRN).key, None)])

    scrub_another(stopped)

    joins = [s["join"] for s in values(stopped, NOTES_SCRUBBED.name)]
    assert ["found", "missing"] == joins


def test_a_record_that_breaks_its_schema_refuses_the_patients_notes(stopped):
    """What is known can't be told, so the note must not go out by rules alone."""
    produce(stopped, PATIENTS.name, [(PatientId("NORTH", MRN).key, b'{"no": 1}')])

    with running(stopped, "scrub") as services:
        note = json.loads(event("n2", f"{FAMILY} two.")) | {
            "schema_version": 1,
            "note_type": "",
        }
        key = PatientId("NORTH", MRN).key
        produce(stopped, "notes", [(key, json.dumps(note).encode())])
        drain(stopped, services)

    assert ["[NAME:PATIENT] one."] == texts(stopped)
    assert "patient_record" in [d["code"] for d in values(stopped, "dead.letters")]


def test_another_partitioner_on_patients_refuses(stopped):
    """A record in a partition where murmur2 does not put it: the join would miss."""
    from confluent_kafka import Producer

    producer = Producer(stopped.client())
    for partition in range(stopped.partitions):
        producer.produce(PATIENTS.name, key=b"x", value=b"{}", partition=partition)
    producer.flush()

    service = start_service("scrub", stopped)

    assert 78 == service.process.wait(60)
    assert "murmur2_random" in logs(stopped, "scrub")
    service.stop()


def test_unequal_partition_counts_refuse_to_start(settings):
    admin = AdminClient(settings.client())
    admin.create_partitions([NewPartitions("notes", 6)])["notes"].result()

    service = start_service("scrub", settings)

    assert 78 == service.process.wait(60)
    assert "both need the same count" in logs(settings, "scrub")
    assert any("same count" in problem for problem in check_topics(settings))
    service.stop()


def test_topics_are_as_declared(settings):
    assert [] == check_topics(settings)
