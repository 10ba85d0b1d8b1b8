"""No output for subscribers tells when something happened, whatever it is read with.

Notes with a distinctive day go through intake and scrub under policy `surrogate`.  Then
every value of every output that could be a time is compared with the true ones: that
day, and the day of arrival.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import time
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from streams.demo.flow import read_topic
from streams.engine.records import NO_TIMESTAMP
from streams.kafka.client import admin_client
from streams.kafka.offsets import first_offsets
from streams.kafka.topic_admin import check_topics
from streams.kafka.topics import NOTES, NOTES_SCRUBBED, PHI_AUDIT
from streams.pipeline.files.feed import RawMessage
from tests.conftest import settings_for, with_topics
from tests.end_to_end.test_examples import example, stored, wait_until
from tests.harness import feed_and_drain, running

pytestmark = pytest.mark.timeout(600)

# Further back than any shift reaches, so that no shifted day is the day of arrival.
DAY = datetime.now(UTC).date() - timedelta(days=1000)
STAMP = f"{DAY:%Y%m%d}0731"
NEAR = timedelta(days=3)
PATIENTS = ("81001", "81002", "81003")
NOTES_EACH = 4


def admission(patient):
    return (
        f"MSH|^~\\&|ADT|NORTH|PHI|X|{STAMP}||ADT^A01|A{patient}|P|2.5.1\r"
        f"PID|1||{patient}^^^NORTH^MR||Zzfam{patient}^Ida||19520304|F\r"
    ).encode()


def report(patient):
    return (
        f"MSH|^~\\&|LAB|NORTH|PHI|X|{STAMP}||ORU^R01|C{patient}|P|2.5.1\r"
        f"PID|1||{patient}^^^NORTH^MR\r"
        f"OBR|1||R{STAMP}|11506-3^Progress note|||{STAMP}\r"
        f"OBX|1|TX|11506-3^Progress note||Seen on {DAY:%m/%d/%Y}. Takes aspirin.\r"
    ).encode()


def event(patient, number):
    return json.dumps(
        {
            "note_id": f"n{STAMP}-{number}",
            "patient": {"assigning_authority": "NORTH", "id": patient},
            "note_type": f"RAD{STAMP}" if number == 1 else "34109-9",
            "written_at": f"{DAY}T07:31:00",
            "text": f"Admitted on {DAY}, back on {DAY + timedelta(days=2)}. Aspirin.",
        }
    ).encode()


def messages():
    for patient in PATIENTS:
        key = patient.encode()
        yield RawMessage(admission(patient), key)
        yield RawMessage(report(patient), key)
        for number in range(1, NOTES_EACH):
            yield RawMessage(event(patient, number), key)


@pytest.fixture(scope="module")
def run(module_cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("times")
    settings = with_topics(settings_for(module_cluster, folder, policy="surrogate"))
    with running(settings, "intake", "scrub") as services:
        feed_and_drain(settings, services, messages())
    scrubbed = [*read_topic(settings, NOTES_SCRUBBED.name)]
    assert len(PATIENTS) * NOTES_EACH == len(scrubbed)
    return SimpleNamespace(settings=settings, scrubbed=scrubbed)


# --- what could be a time

FORMS = (
    (r"(?<!\d)(?:19|20)\d\d-\d\d-\d\d", "%Y-%m-%d"),
    (r"(?<!\d)(?:19|20)\d\d/\d\d/\d\d", "%Y/%m/%d"),
    (r"(?<!\d)\d\d/\d\d/(?:19|20)\d\d", "%m/%d/%Y"),
    (r"(?<!\d)(?:19|20)\d\d[01]\d[0-3]\d(?=\D|$|[0-2]\d[0-5]\d)", "%Y%m%d"),
)
EPOCHS = {10: 1, 13: 10**3, 16: 10**6, 19: 10**9}
"""Digits of a time since 1970 now, and its units a second."""


def times_in(text):
    """Return every day that a text may name, as a date or counted from 1970."""
    for pattern, form in FORMS:
        for found in re.findall(pattern, text):
            try:
                yield datetime.strptime(found, form).date()
            except ValueError:
                continue
    for found in re.findall(r"\d+", text):
        if len(found) in EPOCHS:
            seconds = int(found) / EPOCHS[len(found)]
            yield datetime.fromtimestamp(seconds, UTC).date()


def texts_of(message):
    """Return all that a message shows: key, value, headers and timestamp."""
    headers = message.headers() or []
    parts = [message.key() or b"", message.value() or b""]
    parts += [part for name, value in headers for part in (name.encode(), value)]
    return [part.decode() for part in parts] + [str(message.timestamp()[1])]


def revealed(texts):
    """Return the true times that texts name: of the event, and of its arrival."""
    truths = {"event": DAY, "arrival": datetime.now(UTC).date()}
    days = {day for text in texts for day in times_in(text)}
    return {
        name
        for name, truth in truths.items()
        if any(abs(day - truth) <= NEAR for day in days)
    }


def test_the_search_finds_the_times_in_what_is_restricted(run):
    """Else its silence about the rest would mean nothing."""
    notes = [t for m in read_topic(run.settings, NOTES.name) for t in texts_of(m)]
    audit = [t for m in read_topic(run.settings, PHI_AUDIT.name) for t in texts_of(m)]

    assert revealed(notes) == {"event", "arrival"}
    assert revealed(audit) == {"arrival"}
    ways = [str(int(time.time() * unit)) for unit in EPOCHS.values()]
    ways += [f"{datetime.now(UTC):{form}}" for _, form in FORMS]
    assert [revealed([f"x {way}"]) for way in ways] == ([{"arrival"}] * len(ways))


# --- what subscribers get


def test_no_published_record_tells_when(run):
    texts = [text for message in run.scrubbed for text in texts_of(message)]

    assert revealed(texts) == set()
    assert {message.timestamp()[1] for message in run.scrubbed} == {NO_TIMESTAMP}
    assert {name for message in run.scrubbed for name, _ in message.headers()} == {
        "source",
        "schema",
        "seal",
    }


def test_all_times_of_a_patient_are_shifted_alike(run):
    shifts = {}
    for message in run.scrubbed:
        note = json.loads(message.value())
        days = sorted({*times_in(note["text"]), date.fromisoformat(note["written_at"])})
        assert [day - days[0] for day in days[1:]] == (
            [timedelta(days=2)] * (len(days) - 1)
        )
        shifts.setdefault(note["patient"], set()).add((days[0] - DAY).days)

    assert [len(found) for found in shifts.values()] == [1, 1, 1]
    assert all(31 <= abs(days) <= 365 for found in shifts.values() for days in found)


def test_a_subscriber_without_librdkafka_sees_no_time_either(run):
    async def read():
        consumer = AIOKafkaConsumer(
            NOTES_SCRUBBED.name,
            bootstrap_servers=run.settings.bootstrap,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        )
        await consumer.start()
        try:
            return [(await consumer.getone()).timestamp for _ in run.scrubbed]
        finally:
            await consumer.stop()

    assert {NO_TIMESTAMP} == {*asyncio.run(asyncio.wait_for(read(), 60))}


def test_neither_names_nor_columns_nor_times_of_the_lakes_files_tell_when(
    run, tmp_path
):
    topic = NOTES_SCRUBBED.name
    due = sorted((m.partition(), m.offset()) for m in run.scrubbed)
    with example("parquet_lake", run.settings.bootstrap, topic, tmp_path) as process:
        wait_until(lambda: stored(tmp_path, topic) == due, topic, process)

    texts = []
    for file in (tmp_path / topic).rglob("*.parquet"):
        rows = pq.read_table(file, partitioning=None)
        texts += [str(file.relative_to(tmp_path)), str(file.stat().st_mtime_ns)]
        texts += [str(rows.schema.to_string()), str(pq.read_metadata(file))]
        texts += [json.dumps(row, default=str) for row in rows.to_pylist()]
    assert len(texts) > len(due)
    assert revealed(texts) == set()


def test_the_nlp_example_writes_no_time(run):
    with example("nlp_consumer", run.settings.bootstrap) as process:
        lines = [process.stdout.readline() for _ in run.scrubbed]

    assert all("aspirin" in line for line in lines)
    assert revealed(lines) == set()


@pytest.mark.skipif(not shutil.which("kcat"), reason="kcat is not installed")
def test_kcat_is_told_no_time(run):
    done = subprocess.run(
        ["kcat", "-b", run.settings.bootstrap, "-C", "-t", NOTES_SCRUBBED.name,
         "-X", "isolation.level=read_committed", "-o", "beginning", "-e", "-q",
         "-f", "%T %k %h %s\n"],
        capture_output=True, text=True, check=True, timeout=240,
    )  # fmt: skip

    assert len(run.scrubbed) == len(done.stdout.splitlines())
    assert revealed(done.stdout.splitlines()) == set()


# --- what an operator of Kafka relies on


def test_a_consumer_can_still_be_set_to_a_moment(run):
    """By the time of the transactions' markers, which no record shows."""
    consumer = Consumer(run.settings.client(**{"group.id": "by-time"}))
    hour_ago = int((time.time() - 3600) * 1000)
    wanted = [TopicPartition(NOTES_SCRUBBED.name, p, hour_ago) for p in range(4)]
    found = consumer.offsets_for_times(wanted, timeout=10)
    consumer.close()

    first = {}
    for message in run.scrubbed:
        first.setdefault(message.partition(), message.offset())
    for each in found:
        assert each.error is None
        if each.partition in first:
            assert each.offset > first[each.partition]


def test_retention_deletes_records_without_a_time(run):
    """By the markers' time as well; the broker looks for what is old every 5 s."""
    settings = run.settings
    assert check_topics(settings) == []
    partitions = {message.partition() for message in run.scrubbed}
    alter(settings, {"retention.ms": "1000"})
    try:
        wait_until(lambda: is_empty_at_the_start(settings, partitions), "retention")
    finally:
        alter(settings, NOTES_SCRUBBED.config())


def is_empty_at_the_start(settings, partitions):
    firsts = first_offsets(admin_client(settings), NOTES_SCRUBBED.name, partitions)
    return all(first > 0 for first in firsts.values())


def alter(settings, config):
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in config.items()
    ]
    resource = ConfigResource(
        ConfigResource.Type.TOPIC, NOTES_SCRUBBED.name, incremental_configs=entries
    )
    admin = admin_client(settings)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(10)
