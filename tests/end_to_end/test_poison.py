"""A record that hangs, crashes or exhausts its worker never stops its partition."""

from __future__ import annotations

import asyncio
import itertools
import random
import signal
import time
from collections import Counter

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.producer import message_accumulator, producer
from aiokafka.record import default_records

from streams.demo.flow import read_topic
from streams.demo.services import start_service
from streams.demo.ward import Ward
from streams.kafka.client import admin_client, record_of
from streams.kafka.lag import LagReader
from streams.kafka.local_broker.ports import free_ports
from streams.kafka.partitioner import partition_of
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PHI_AUDIT,
)
from streams.model.patients.demographics import PatientId
from streams.operations.doctor.values import broken_rule
from streams.operations.reconcile import Auditor
from streams.pipeline.files.feed import RawMessage, feed
from streams.products.office.dead_letters import Replay, Selection
from streams.products.office.erasure import Erasure
from tests.end_to_end.test_main_job import adt, event, oru
from tests.end_to_end.test_watch import (
    Writer,
    audit_event,
    get,
    labels_of,
    started,
    wait_for,
)
from tests.harness import drain, feed_and_drain_intake, raw, running, worker_processes
from tests.interrupts import has_ended
from tests.office import private_key
from tests.poison import CODES, FAULTS, MARK, deaths, faulty, quick, run_poisoned

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

NOTES_FED = 400
SHORT = ("segfault", 2)


def letters(settings):
    values = (orjson.loads(m.value()) for m in read_topic(settings, DEAD_LETTERS.name))
    return Counter((each["stage"], each["code"]) for each in values)


def assert_sound(settings):
    for each in Auditor(settings).verdicts():
        found = (each.pending, each.missing, each.doubled, each.out_of_order)
        assert found == (0, 0, 0, 0), each.examples


@pytest.mark.parametrize(
    ("fault", "workers"),
    [
        pytest.param(*each, marks=[pytest.mark.long] if each != SHORT else [])
        for each in itertools.product(FAULTS, (1, 2))
    ],
)
def test_one_record_is_a_dead_letter_and_all_others_are_published(
    settings, fault, workers
):
    result = run_poisoned(settings, fault, workers=workers, notes=NOTES_FED)

    print(result)
    assert dict(result.letters) == {CODES.get(fault, "poison"): 1}
    assert result.published == NOTES_FED
    assert (result.missing, result.doubled, result.out_of_order) == (0, 0, 0)
    assert result.deaths <= 3


@pytest.mark.long
def test_a_message_that_ends_intake_while_it_is_merged_is_a_dead_letter(settings):
    settings = quick(settings)
    keys = [b"%d" % number for number in range(20)]
    with faulty("segfault", "intake"):
        intake = start_service("intake", settings)
    try:
        feed(settings, (RawMessage(event(f"n{k}", "well"), k) for k in keys))
        feed(settings, [RawMessage(adt(family=MARK), b"7")])
        feed_and_drain_intake(
            settings, [intake], (RawMessage(event(f"m{k}", "well"), k) for k in keys)
        )
    finally:
        intake.stop()

    assert letters(settings) == {("intake", "poison"): 1}
    assert sum(1 for _ in read_topic(settings, NOTES.name)) == 40
    assert deaths(settings, "intake") <= 3


@pytest.mark.long
def test_an_update_that_ends_who_folds_it_is_refused_and_all_notes_are_published(
    settings,
):
    settings = quick(settings)
    ward = Ward(seed=5, split="test", patients=20, note_words=20)
    with running(settings, "intake") as services:
        feed_and_drain_intake(settings, services, map(raw, ward.admissions()))
        twice = [RawMessage(adt(family=name), b"7") for name in ("Before", MARK)]
        for each in twice:
            feed_and_drain_intake(settings, services, [each])
        notes = [*map(raw, ward.notes(100)), RawMessage(oru("Seen, well."), b"7")]
        feed_and_drain_intake(settings, services, notes)
        with faulty("segfault", "update"):
            scrub = start_service("scrub", settings)
        try:
            drain(settings, [*services, scrub])
        finally:
            scrub.stop()

    assert letters(settings) == {("scrub", "poison"): 1}
    assert sum(1 for _ in read_topic(settings, NOTES_SCRUBBED.name)) == 101
    assert_sound(settings)
    assert deaths(settings) <= 3


@pytest.mark.long
@pytest.mark.parametrize("fault", ["segfault", "kernel"])
def test_an_event_that_ends_watch_is_skipped_and_all_others_are_counted(
    settings, tmp_path, fault
):
    writer, port = Writer(settings), free_ports(1)[0]
    writer.write(PHI_AUDIT, [audit_event()] * 30)
    writer.write(PHI_AUDIT, [audit_event("AGE") | {"comment": MARK}])
    writer.write(PHI_AUDIT, [audit_event()] * 30)
    with faulty(fault, "watch"):
        watch = started(settings, tmp_path, port, PHISTREAM_WATCHDOG_SECONDS="5")
    try:
        wait_for(lambda: labels_of(port) == {"DATE": 60}, 400)
        assert get(port, "/healthz")[0] == 200
    finally:
        watch.send_signal(signal.SIGTERM)
        watch.wait(90)
    assert "ended watch 3 times: skipped" in (tmp_path / "watch.log").read_text()


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_supervisors_killed_at_random_moments_leave_no_orphan_and_no_dead_letter(
    settings, seed
):
    settings, rng = quick(settings), random.Random(seed)
    ward = Ward(seed=seed, split="test", patients=60, note_words=40)
    orphans = []
    with running(settings, "intake") as services:
        feed_and_drain_intake(settings, services, map(raw, ward.admissions()))
        feed_and_drain_intake(settings, services, map(raw, ward.notes(3000)))
        for kill in range(5):
            scrub = start_service("scrub", settings, workers=2)
            if kill:  # else within its very first moments
                wait_for(lambda: progress(settings), 300)
            time.sleep(rng.uniform(0, 2))
            orphans += worker_processes(scrub)
            scrub.process.kill()
            scrub.process.wait()
            scrub.log.close()
        with running(settings, "scrub", workers=2) as (scrub,):
            drain(settings, [*services, scrub])

    wait_for(lambda: all(has_ended(orphan.pid) for orphan in orphans))
    # What the last look refuses it refuses always; no note is refused by a kill.
    refused = letters(settings)
    assert {("scrub", "residue")} >= refused.keys()
    published = sum(1 for _ in read_topic(settings, NOTES_SCRUBBED.name))
    assert published + refused.total() == 3000
    assert_sound(settings)


def progress(settings, last={}):  # noqa: B006  # remembers the last call
    """Return whether scrub has committed anything since the last call, or all."""
    reader = LagReader(
        settings, admin_client(settings), NOTES.name, f"{settings.group}-scrub"
    )
    try:
        lags = reader.read()
        # A fast one may be through before the last kill; markers stay behind it.
        is_through = reader.is_drained(lags)
    finally:
        reader.close()
    now = sum(lag.committed for lag in lags.values())
    before, last[settings.group] = last.get(settings.group, 0), now
    return is_through or now > before


class Latin(str):
    """The name of a header that is not UTF-8: clients take none, so it is no name."""

    def encode(self, *_):
        return super().encode("latin-1")


def write_with_bad_header(monkeypatch, settings, records):
    """Write records, of which each has a header whose name is not UTF-8."""
    builder = default_records._DefaultRecordBatchBuilderPy
    for module in (message_accumulator, producer):
        monkeypatch.setattr(module, "DefaultRecordBatchBuilder", builder)
    headers = [("kept", b"no"), (Latin("Größe"), b"x")]

    async def write():
        async with AIOKafkaProducer(bootstrap_servers=settings.bootstrap) as client:
            for topic, key, value, partition in records:
                await client.send_and_wait(
                    topic, value, key, partition=partition, headers=headers
                )

    asyncio.run(write())


def test_a_header_whose_name_is_not_utf_8_refuses_its_record_alone(
    settings, monkeypatch
):
    settings = quick(settings)
    patient = PatientId("NORTH", "4711234")
    place = partition_of(patient.key, settings.partitions)
    message = adt(family="Zzmarker")
    write_with_bad_header(
        monkeypatch,
        settings,
        [
            (HL7_RAW.name, b"7", message, 0),
            (NOTES.name, patient.key, event("n0", "well"), place),
            (PATIENT_UPDATES.name, patient.key, None, place),
        ],
    )
    others = (event("n1", "well"), adt(mrn="9", family="Zzother"))
    feed(settings, (RawMessage(each, b"8") for each in others))
    with running(settings, "intake", "scrub") as services:
        drain(settings, services)

    expected = {("intake", "undecodable"): 1, ("scrub", "undecodable"): 2}
    assert expected == letters(settings)
    assert sum(1 for _ in read_topic(settings, NOTES_SCRUBBED.name)) == 1
    assert_sound(settings)
    # What reads the topics besides the stages.
    assert Erasure(settings, [patient]).find().unjudged == 0
    for topic in (NOTES, PATIENT_UPDATES, DEAD_LETTERS):
        for each in read_topic(settings, topic.name):
            assert broken_rule(topic, each) is not None
    # The letter holds the original without headers, and a replay returns it so.
    replay = Replay(settings, {(key := private_key(settings)).public.id: key}, "x")
    done = replay.run(Selection(topics=frozenset({HL7_RAW.name})))
    assert done.counts.total() == 1
    returned = [record_of(m) for m in read_topic(settings, HL7_RAW.name)]
    assert [r.has_bad_headers for r in returned if r.key == b"7"
                             and r.value == message] == [True, False]  # fmt: skip
    with running(settings, "intake", "scrub") as services:
        drain(settings, services)
    assert expected == letters(settings)
    assert_sound(settings)
