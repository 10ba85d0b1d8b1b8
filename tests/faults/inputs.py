"""Faults of what comes in: poison, disorder, foreign transactions, oversize."""

from __future__ import annotations

import time
from dataclasses import replace

from confluent_kafka import Producer
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from streams.demo import messages
from streams.demo.broken import BROKEN_KINDS, broken_record
from streams.demo.flow import read_topic
from streams.kafka.client import PRODUCER
from streams.kafka.offsets import end_offsets, high_watermarks
from streams.kafka.topics import (
    HL7_RAW,
    HL7_SCRUBBED,
    NOTES,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
)
from streams.model.patients.demographics import PatientId
from streams.pipeline.files.feed import RawMessage
from tests.faults.scenarios import faults_of, scenario
from tests.faults.ward import _event, _nameless, numbers_in
from tests.harness import count_records
from tests.poison import CODES, MARK, faulty

FOREIGN_SECONDS = 8


@scenario(settings={"watchdog_seconds": 20, "note_seconds": 1})
def poison(run):
    """Records that no code can take, and notes that end or hang their worker."""
    run.use_interpreters()
    with faulty("named"):
        run.start()
    run.seen.must_abort = False
    faults = run.rng.sample(["segfault", "pattern", "ends"], 3)
    for number in run.moments(3):
        fault = faults[number - 1]
        for kind in run.rng.sample(sorted(BROKEN_KINDS), 4):
            run.feed.send(RawMessage(broken_record(kind), b"%d" % number))
            run.feed.sent += 1
            run.seen.letters["intake", BROKEN_KINDS[kind].code] += 1
            run.fault(f"broken record: {kind}", set())
        run.send_note(f"{MARK}{fault}".encode())
        run.seen.letters["scrub", CODES.get(fault, "poison")] += 1
        run.fault(f"note: {fault}")
        run.send_note(b" ".join([b"well"] * 400_000))
        run.seen.letters["scrub", "too_large"] += 1
        run.fault("note of 2 MB", set())
        run.send_note(b" ".join([b"well"] * 2_000_000))
        run.seen.letters["intake", "too_large"] += 1
        run.fault("note of 10 MB", set())


@scenario(
    settings={"unknown_patient": "wait", "unknown_patient_seconds": 3600},
    effects={"notes that waited": ""},
)
def demographics_disorder(run):
    """Demographics late, out of order, doubled, erased by a tombstone, absent at first.

    Notes of unknown patients wait: the default publishes them, scrubbed by rules alone.
    """
    run.start()
    run.seen.must_abort = False
    for number in run.moments(max(8, faults_of(run, 40))):
        patient = Newcomer(run, number)
        first, second = patient.surname(), patient.surname()
        patient.note([first])
        run.fault("note before its demographics", set())
        time.sleep(run.rng.uniform(0, 1))
        patient.admission(first, is_late=bool(number % 2), times=2)
        run.fault("demographics doubled", set())
        patient.admission(second)
        patient.admission(third := patient.surname(), is_late=True)
        last = patient.note([first, second, third])
        run.fault("demographics out of order", set())
        if number % 3 == 0:
            run.wait_for_note(last)
            patient.erase()
            run.fault("tombstone", set())
            patient.note([again := patient.surname()])
            patient.admission(again)
    waited = count_records(run.direct, NOTES_HELD.name, "read_committed")
    run.effect("notes that waited", waited)


def identifier_of(number):
    """Return an identifier that no patient of a ward has: theirs are of digits."""
    return f"NEW{number:05}"


class Newcomer:
    """A patient with an identifier that nobody has named yet."""

    def __init__(self, run, number):
        self._run, self._ward, self._feed = run, run.ward, run.feed
        people = [each for each in self._ward._ward.people if not each.is_stranger]
        self._person = people[number % len(people)]
        self._mrn = identifier_of(number)

    def surname(self):
        with self._feed.lock:
            return self._ward._surname()

    def note(self, surnames):
        """Send a note that says nothing about its patient; return its number."""
        ward = self._ward
        with self._feed.lock:
            text = ward._text("Seen on rounds.", surnames)
            note = ward._ward_note(_nameless(self._person), self._mrn, text)
            self._send(value := _event(note, ward._rng))
        [number] = numbers_in(value)
        return number

    def admission(self, surname, *, is_late=False, times=1):
        person = self._person
        named = replace(person, name=replace(person.name, family=surname))
        with self._feed.lock:
            stamp = self._ward._stamp(is_late=is_late)
            named = replace(named, former_names=())
            for _ in range(times):
                self._send(messages.adt(named, self._mrn, "A08", stamp))

    def erase(self):
        """Publish a tombstone, and wait until the table's changelog shows it."""
        key = PatientId(self._person.site.authority, self._mrn).key
        producer = Producer(self._run.direct.client(**PRODUCER))
        producer.produce(PATIENT_UPDATES.name, key=key, value=None)
        assert producer.flush(60) == 0
        self._run.wait_for(lambda: self._is_erased(key))

    def _is_erased(self, key):
        rows = read_topic(self._run.direct, PATIENTS.name)
        values = [each.value() for each in rows if each.key() == key]
        return values and values[-1] is None

    def _send(self, value):
        self._feed.send(RawMessage(value, b"%d" % self._person.index))


@scenario(effects={"inputs that end at an open transaction": ""})
def foreign_transaction(run):
    """A foreign producer leaves transactions open on the inputs, and commits others."""
    run.start()
    run.seen.must_abort = False
    for number in run.moments(faults_of(run, 4)):
        producer = Producer(
            run.direct.client(
                **PRODUCER,
                **{
                    "transactional.id": f"foreign-{number}",
                    "transaction.timeout.ms": FOREIGN_SECONDS * 1000,
                    "log_level": 0,
                },
            )
        )
        producer.init_transactions(60)
        producer.begin_transaction()
        for topic in (HL7_RAW, NOTES, PATIENT_UPDATES):
            for partition in range(run.settings.partitions):
                producer.produce(topic.name, b"{}", b"foreign", partition=partition)
        producer.flush(30)
        admin, partitions = run.cluster.admin, range(run.settings.partitions)
        for topic in (HL7_RAW, NOTES, PATIENT_UPDATES):
            stable = end_offsets(admin, topic.name, partitions)
            written = high_watermarks(admin, topic.name, partitions)
            held = sum(stable[each] < written[each] for each in partitions)
            run.effect("inputs that end at an open transaction", held)
        run.fault("open foreign transaction")
        if number % 2:
            time.sleep(run.rng.uniform(1, FOREIGN_SECONDS / 2))
            producer.abort_transaction(30)
        else:
            # The broker ends it, a while after its timeout.
            time.sleep(FOREIGN_SECONDS + 3)
        run.wait_for_progress()


@scenario()
def record_too_large(run):
    """A topic of outputs takes only smaller records than it should, until mended."""
    run.start()
    for _ in run.moments(faults_of(run, 2)):
        _limit(run, NOTES_SCRUBBED.name, 200)
        run.fault("records too large for notes.scrubbed")
        time.sleep(12)
        _limit(run, NOTES_SCRUBBED.name, NOTES_SCRUBBED.max_message_bytes)
        run.wait_for_progress()


def _limit(run, topic, size):
    entry = ConfigEntry(
        "max.message.bytes",
        str(size),
        incremental_operation=AlterConfigOpType.SET,
    )
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    changed = run.cluster.admin.incremental_alter_configs([resource])
    changed[resource].result(30)


@scenario(effects={"batches undone": r"batch undone \(.*UNKNOWN_TOPIC"})
def output_topics_missing(run):
    """Topics of outputs are deleted under running workers, and made again later."""
    run.start(feeds=False)
    run.seen.must_abort = False
    names = [NOTES_SCRUBBED.name, HL7_SCRUBBED.name, PHI_AUDIT.name]
    # Services that are starting refuse to do so without their topics.
    run.wait_for(lambda: run.count_lines(r"worker \d+ runs") >= 3)
    run.wait_until_idle()
    run.restore_topics(names, seconds=45, meanwhile=run.feed.start)
    run.fault("outputs' topics deleted")
    for _ in run.moments(1):
        pass
