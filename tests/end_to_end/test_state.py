"""The table on disk: restart, damage, another partitioner, other partition counts."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from collections import Counter

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions
from rocksdict import Options, Rdict

from streams.demo.flow import read_topic
from streams.kafka.topic_admin import check_topics
from streams.kafka.topics import DEAD_LETTERS, NOTES_SCRUBBED, PATIENT_UPDATES, PATIENTS
from streams.model.patients.demographics import (
    Demographics,
    Name,
    PatientId,
    PatientRecord,
)
from streams.model.patients.updates import PatientUpdate
from streams.operations.doctor.disk import judge_privacy
from streams.operations.doctor.finding import Level
from tests.brokers import wait_until
from tests.conftest import settings_for, with_topics
from tests.end_to_end.test_main_job import FAMILY, adt, event
from tests.harness import (
    RawMessage,
    feed_and_drain,
    produce,
    running,
    start_service,
    values,
)
from tests.streams.kafka.tables.changelog import held_by_another_process, small_disk

MRNS = [f"7700112{n}" for n in range(8)]
_unused = itertools.cycle(MRNS)


def published(settings):
    return Counter(
        (s["text"], s["join"]) for s in values(settings, NOTES_SCRUBBED.name)
    )


def logs(settings, stage):
    return (settings.state_dir.parent / f"{stage}.log").read_text()


def table_lines(settings):
    return [
        json.loads(line)["message"]
        for line in logs(settings, "scrub").splitlines()
        if "table" in line
    ]


def test_another_partitioner_on_patient_updates_refuses_what_would_be_missed(settings):
    """A record in a partition where murmur2 does not put it: the join would miss."""
    producer = Producer(settings.client())
    update = b'{"patient": {"assigning_authority": "N", "id": "1"}}'
    for partition in range(settings.partitions):
        producer.produce(
            PATIENT_UPDATES.name, key=b"N|1", value=update, partition=partition
        )
    producer.flush()

    with running(settings, "scrub") as services:
        wait_until(lambda: len(values(settings, DEAD_LETTERS.name)) == 3, 120)
        services[0].check()

    codes = {each["code"] for each in values(settings, DEAD_LETTERS.name)}
    assert codes == {"wrong_partition"}
    assert len(values(settings, PATIENTS.name)) == 1


def test_unequal_partition_counts_refuse_to_start(settings):
    admin = AdminClient(settings.client())
    admin.create_partitions([NewPartitions("notes", 6)])["notes"].result()

    service = start_service("scrub", settings)

    assert service.process.wait(120) == 78
    assert "both need the same count" in logs(settings, "scrub")
    assert any("same count" in problem for problem in check_topics(settings))
    service.stop()


def test_topics_are_as_declared(settings):
    assert check_topics(settings) == []


@pytest.fixture(scope="module")
def stopped(module_cluster, tmp_path_factory):
    """A system that has scrubbed a note of each known patient; its scrub has stopped.

    Intake runs on.  Detection is not the point here, so scrub starts without a tagger.
    """
    settings = with_topics(
        settings_for(module_cluster, tmp_path_factory.mktemp("state"), preset="lexical")
    )
    with running(settings, "intake") as services:
        with running(settings, "scrub") as [scrub]:
            for make in (admission, first_note):
                messages = [RawMessage(make(mrn), mrn.encode()) for mrn in MRNS]
                feed_and_drain(settings, [*services, scrub], messages)
        assert published(settings) == {("[NAME:PATIENT] one.", "found"): len(MRNS)}
        yield settings


def admission(mrn):
    return adt(mrn=mrn)


def first_note(mrn):
    return event(f"{mrn}-1", f"{FAMILY} one.", mrn=mrn)


@pytest.fixture
def mrn():
    """The number of a patient of whom no other test needs to know."""
    return next(_unused)


def scrub_another(settings, mrn):
    """Start scrub for one more note of a patient; return what it published."""
    before = published(settings)
    with running(settings, "scrub") as services:
        message = RawMessage(event(f"{mrn}-2", f"{FAMILY} two.", mrn=mrn), mrn.encode())
        feed_and_drain(settings, services, [message])
    return published(settings) - before


def test_a_restart_resumes_from_the_stored_offset(stopped, mrn):
    before = len(table_lines(stopped))

    assert scrub_another(stopped, mrn) == {("[NAME:PATIENT] two.", "found"): 1}

    opened = "\n".join(table_lines(stopped)[before:])
    reached = [
        int(each) for each in re.findall(r"patients\[\d\]: table at (\d+)", opened)
    ]
    assert stopped.partitions == len(reached)
    assert len(MRNS) <= sum(reached), opened


@pytest.mark.parametrize("damage", ["deleted", "manifest", "current"])
def test_a_damaged_table_is_dropped_and_restored(stopped, mrn, damage):
    for folder in (stopped.state_dir / stopped.group).glob("scrub-0/patients-*"):
        if damage == "deleted":
            shutil.rmtree(folder)
        pattern = {"manifest": "MANIFEST-*", "current": "CURRENT"}.get(damage, "none")
        for file in folder.glob(pattern):
            file.write_bytes(b"damaged" * 50)

    assert scrub_another(stopped, mrn) == {("[NAME:PATIENT] two.", "found"): 1}


def test_a_tombstone_forgets_the_patient(stopped, mrn):
    """The topic, the table, and the cache of a worker that has the patient in it."""
    produce(stopped, PATIENT_UPDATES.name, [(PatientId("NORTH", mrn).key, None)])

    [(_, join)] = scrub_another(stopped, mrn)

    assert join == "missing"
    rows = {m.key(): m.value() for m in read_topic(stopped, PATIENTS.name)}
    assert rows[PatientId("NORTH", mrn).key] is None


def test_an_update_that_breaks_its_schema_is_a_dead_letter(stopped, mrn):
    """The patient's notes go on with what is known."""
    produce(
        stopped, PATIENT_UPDATES.name, [(PatientId("NORTH", mrn).key, b'{"no": 1}')]
    )

    assert scrub_another(stopped, mrn) == {("[NAME:PATIENT] two.", "found"): 1}

    letters = values(stopped, DEAD_LETTERS.name)
    assert [(each["code"], each["source"]["topic"]) for each in letters] == [
        ("schema", "patient.updates")
    ]


def test_what_services_write_is_private(stopped, module_cluster):
    """Tables, and the data of a broker of `phistream broker up`."""
    user = os.geteuid()

    assert Level.OK is judge_privacy(stopped.state_dir, user).level
    assert Level.OK is judge_privacy(module_cluster._home, user).level


def test_a_worker_ends_when_another_process_keeps_its_table(stopped, mrn):
    """It has waited, it has deleted nothing, and the next one goes on as before."""
    waits = stopped.model_copy(update={"state_lock_seconds": 2.0})
    folders = (stopped.state_dir / stopped.group).glob("scrub-0/patients-*")
    folder = max(folders, key=lambda each: meta_of(each)["next_offset"])
    before = len(table_lines(stopped))
    with held_by_another_process(folder, meta_of(folder)["identity"]) as pid:
        files = {each.name for each in folder.iterdir() if "LOG" not in each.name}
        service = start_service("scrub", waits)
        assert service.process.wait(120) == 71
        service.stop()
        assert files <= {each.name for each in folder.iterdir()}
    said = "\n".join(table_lines(stopped)[before:])
    assert f"process {pid} has {folder} open; waiting" in said
    assert f"process {pid} has {folder} open for 2 s; nothing was deleted" in said

    assert scrub_another(stopped, mrn) == {("[NAME:PATIENT] two.", "found"): 1}
    assert "restored" not in "\n".join(table_lines(stopped)[before:])


def meta_of(folder):
    rows = Rdict(str(folder), options=Options(raw_mode=True))
    try:
        return json.loads(rows.get(b"m"))
    finally:
        rows.close()


def test_a_full_disk_stops_scrub_without_dropping_a_table(settings, tmp_path):
    """With more room all patients are known."""
    produce(settings, PATIENT_UPDATES.name, [update(n) for n in range(20)])
    with small_disk(tmp_path / "disk", "300k") as disk:
        full = settings.model_copy(update={"state_dir": disk, "preset": "lexical"})
        service = start_service("scrub", full)
        assert service.process.wait(180) == 74
        service.stop()
        said = logs(full, "scrub")
        assert said.count(f"stopped: state_dir: No space left on device in {disk}") == 1
        assert "MiB free" in said
        assert "restored" not in said
        subprocess.run(["mount", "-o", "remount,size=60m", disk], check=True)

        with running(full, "scrub") as services:
            wait_until(lambda: len(patients_of(full)) == 20, 180)
            services[0].check()
        assert "restored" not in logs(full, "scrub")


def update(number):
    patient = PatientId("NORTH", f"{number}")
    record = PatientRecord(patient, "", Demographics(names=(Name(FAMILY),)))
    value = PATIENT_UPDATES.schema.versioned(PatientUpdate(record).to_json())
    return patient.key, json.dumps(value).encode()


def patients_of(settings):
    return {message.key() for message in read_topic(settings, PATIENTS.name)}
