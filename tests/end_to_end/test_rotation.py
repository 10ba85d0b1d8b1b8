"""A key is changed in the midst of a stream, on real Kafka."""

from __future__ import annotations

import secrets
import signal
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer

from streams.demo.flow import read_topic
from streams.demo.ward import Ward
from streams.engine.keys.files import write_private
from streams.engine.settings import KeySettings
from streams.kafka.client import PRODUCER
from streams.kafka.topics import HL7_RAW, HL7_SCRUBBED, NOTES_SCRUBBED, PHI_AUDIT
from streams.operations.reconcile import Auditor
from streams.pipeline.publish import Pseudonyms
from tests.harness import drain, running, values, worker_processes

pytestmark = pytest.mark.timeout(900)

MINUTE = 60_000
NOTES_FED = 400


@pytest.mark.parametrize("seed", [3])
def test_a_rotation_loses_nothing_and_each_output_says_its_key(settings, seed):
    """Messages from before and after it, in one backlog; workers are killed."""
    now = int(time.time() * 1000)
    start = now - 30 * MINUTE
    new = settings.state_dir.parent / "new.key"
    write_private(new, secrets.token_hex(32).encode())
    settings = settings.model_copy(
        update={
            "preset": "lexical",
            "policy": "surrogate",
            "log_level": "debug",
            "rebuild_messages": True,
            "batch_records": 40,
            "pseudonym_key_file": None,
            "pseudonym_keys": (
                KeySettings(source=f"file:{settings.pseudonym_key_file}"),
                KeySettings(
                    source=f"file:{new}",
                    start=datetime.fromtimestamp(start / 1000, UTC),
                ),
            ),
        }
    )
    old_key, new_key = settings.key_ring()
    ward = Ward(seed=seed, patients=30)
    messages = [*ward.admissions(), *ward.notes(NOTES_FED)]
    first = now - 60 * MINUTE
    step = 60 * MINUTE // len(messages)
    producer = Producer(settings.client(**PRODUCER))
    for n, each in enumerate(messages):
        key = None if each.patient is None else b"%d" % each.patient
        producer.produce(HL7_RAW.name, each.value, key, timestamp=first + n * step)
    assert producer.flush(60) == 0

    with running(settings, "intake", "scrub") as (intake, scrub):
        for _ in range(2):
            _wait_for_more(settings, scrub)
            for worker in worker_processes(scrub):
                worker.send_signal(signal.SIGKILL)
        drain(settings, [intake, scrub])
        logs = "".join(Path(each.log.name).read_text() for each in (intake, scrub))

    for each in Auditor(settings).verdicts():
        assert each.is_sound, each.examples
        assert not each.pending
    by_key = {each.id: Pseudonyms(each.value) for each in (old_key, new_key)}
    expected = _expected_keys(settings, start, old_key.id, new_key.id)
    published = values(settings, NOTES_SCRUBBED.name)
    assert len(published) >= NOTES_FED
    for each in published:
        place = each["source"]["partition"], each["source"]["offset"]
        assert expected[place] == each["key_id"]
    assert {each["key_id"] for each in published} == {old_key.id, new_key.id}
    for message in read_topic(settings, HL7_SCRUBBED.name):
        key_id = dict(message.headers())["key_id"].decode()
        assert key_id in by_key
    _assert_pseudonyms_fit(settings, by_key)
    everything = logs + str([*values(settings, PHI_AUDIT.name), *published])
    for each in (old_key, new_key):
        assert each.value.decode() not in everything


def _expected_keys(settings, start, old, new):
    """Return the key of each note by its place, from the time of its message alone."""
    return {
        (m.partition(), m.offset()): new
        if int(dict(m.headers())["received"]) >= start
        else old
        for m in read_topic(settings, "notes")
    }


def _assert_pseudonyms_fit(settings, by_key):
    """Each patient has one pseudonym a key, that of the key which the event names."""
    keys = {(m.partition(), m.offset()): m.key() for m in read_topic(settings, "notes")}
    seen = Counter()
    for event in values(settings, PHI_AUDIT.name):
        if event["outcome"] != "scrubbed":
            continue
        source = event["source"]
        patient = keys[source["partition"], source["offset"]]
        assert by_key[event["key_id"]].patient(patient) == event["patient"]
        seen[event["key_id"]] += 1
    assert {*by_key} == {*seen}


def _wait_for_more(settings, service):
    before = found = len(values(settings, NOTES_SCRUBBED.name))
    deadline = time.monotonic() + 240
    while found <= before and found < NOTES_FED:  # all may be done already
        found = len(values(settings, NOTES_SCRUBBED.name))
        service.check()
        assert time.monotonic() < deadline
        time.sleep(0.05)
