"""The promise whole, on real Kafka: messages in, notes without PHI out, exactly once.

One installation for all tests of this file, the one with Kafka that `make test` runs.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from itertools import islice
from types import SimpleNamespace

import pytest

from streams.demo.broken import BROKEN_KINDS
from streams.demo.flow import read_topic
from streams.demo.ward import Ward
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_SCRUBBED,
    NOTES,
    NOTES_SCRUBBED,
    PHI_AUDIT,
)
from streams.operations.reconcile import Auditor
from streams.pipeline.files.feed import RawMessage, feed
from tests.brokers import PATIENCE
from tests.commands import phistream
from tests.conftest import settings_for, with_topics
from tests.harness import Target, drain, feed_and_drain, raw, running, values
from tests.office import original_of, private_key

pytestmark = [pytest.mark.promise, pytest.mark.timeout(600)]

WAVES, WAVE = 3, 120
"""Waves of notes under which workers are killed, and the notes of each."""
FAMILY, GIVEN, LATE = "Zzfamquist", "Zzgivena", "Zzlatecomer"
MARKERS = ("zzfam", "zzgiv", "zzlate", "77001122", "99887766")
MSH = "MSH|^~\\&|LAB|NORTH|PHI|X|202501070{n}00||{event}|C{n}|P|2.5.1\r"
PID = "PID|1||{mrn}^^^NORTH^MR||{family}^{given}||19520304|F\r"
KNOWN, UNKNOWN = "77001122", "99887766"


def admission(n, mrn, family):
    pid = PID.format(mrn=mrn, family=family, given=GIVEN)
    return RawMessage((MSH.format(n=n, event="ADT^A04") + pid).encode(), mrn.encode())


def report(n, text):
    """Return a report of the patient who is known."""
    value = (
        MSH.format(n=n, event="ORU^R01")
        + PID.format(mrn=KNOWN, family=FAMILY, given=GIVEN)
        + "OBR|1||R1|11506-3^Progress note^LN|||20250105\r"
        + f"OBX|1|TX|11506-3^Progress note^LN||{text}||||||F|||20250105\r"
    )
    return RawMessage(value.encode(), KNOWN.encode())


def waiting_note(text):
    """Return a note of the patient who is not known yet, of a type that waits."""
    value = {
        "note_id": "late-1",
        "patient": {"assigning_authority": "NORTH", "id": UNKNOWN},
        "note_type": "OP",
        "text": text,
    }
    return RawMessage(json.dumps(value).encode(), UNKNOWN.encode())


@pytest.fixture(scope="module")
def promise(module_cluster, tmp_path_factory):
    """What was fed, what was killed, and what came of it."""
    folder = tmp_path_factory.mktemp("promise")
    changes = {
        "log_level": "debug",
        "batch_records": 20,
        "rebuild_messages": True,
        "unknown_patient_types": {"OP": "wait"},
        # It is released by the demographics alone.
        "unknown_patient_seconds": 86_400,
    }
    settings = with_topics(settings_for(module_cluster, folder, **changes))
    ward = Ward(seed=11, split="test", patients=40, note_words=60)
    with running(settings, "intake", "scrub") as services:
        feed_and_drain(
            settings,
            services,
            [admission(1, KNOWN, FAMILY), *map(raw, ward.admissions())],
        )
        feed_and_drain(
            settings,
            services,
            [
                report(2, f"Ms. {FAMILY}, once Zzfamqiust, was seen on 1/5/2025."),
                waiting_note(f"Ms. {LATE} came late."),
                *(RawMessage(each.make(), b"broken") for each in BROKEN_KINDS.values()),
            ],
        )
        before = [each["text"] for each in values(settings, NOTES_SCRUBBED.name)]
        kills = _feed_under_kills(settings, services, ward)
        feed_and_drain(settings, services, [admission(3, UNKNOWN, LATE)])
    return SimpleNamespace(
        settings=settings,
        folder=folder,
        before=before,
        kills=kills,
        verdicts=list(Auditor(settings).verdicts()),
        scrubbed=values(settings, NOTES_SCRUBBED.name),
        audit=values(settings, PHI_AUDIT.name),
        dead=values(settings, DEAD_LETTERS.name),
        rebuilt=[*read_topic(settings, HL7_SCRUBBED.name)],
        logs="".join(path.read_text() for path in folder.glob("*.log")),
    )


def _feed_under_kills(settings, services, ward):
    """Feed notes in waves; kill a worker of each stage in the middle of each wave."""
    rng, kills = random.Random(7), Counter()
    notes = map(raw, ward.notes(WAVES * WAVE))
    for _ in range(WAVES):
        targets = [
            Target(settings, service, rng, kills=1, records=WAVE)
            for service in services
        ]
        feed(settings, islice(notes, WAVE))
        deadline = time.monotonic() + PATIENCE
        while not all(target.is_done for target in targets):
            for target in targets:
                if not target.is_done:
                    target.turn(None)
            assert time.monotonic() < deadline
        for target, service in zip(targets, services, strict=True):
            kills[service.stage] += target.kills
            target.close()
        drain(settings, services)
    return kills


def test_notes_are_scrubbed_by_the_record_of_the_patient(promise):
    [text] = [each["text"] for each in promise.scrubbed if "once" in each["text"]]

    expected = "Ms. [NAME:PATIENT], once [NAME:PATIENT], was seen on [DATE]."
    assert text == (f"Progress note:\n{expected}")
    assert len(promise.scrubbed) == WAVES * WAVE + 2


def test_each_message_is_processed_exactly_once_while_workers_are_killed(promise):
    assert set(+promise.kills) == {"intake", "scrub"}
    for stage, count in promise.kills.items():
        log = (promise.folder / f"{stage}.log").read_text()
        assert count == log.count(": restarted")
    assert {verdict.topic for verdict in promise.verdicts} == {
        "hl7.raw",
        "notes",
        "patient.updates",
    }
    for verdict in promise.verdicts:
        wrong = (verdict.missing, verdict.doubled, verdict.out_of_order)
        assert wrong == (0, 0, 0), verdict.examples
        assert verdict.is_sound
        assert verdict.waiting == 0


def test_a_note_waits_for_demographics_that_come_late(promise):
    [text] = [each["text"] for each in promise.scrubbed if "late" in each["text"]]

    assert [text for text in promise.before if "late" in text] == []
    assert text == "Ms. [NAME:PATIENT] came late."
    assert sum(each.get("held") == "demographics" for each in promise.audit) == 1


def test_the_message_is_rebuilt_around_its_scrubbed_note(promise):
    [message] = [
        each.value().decode() for each in promise.rebuilt if b"once" in each.value()
    ]

    rows = {row[:3]: row.split("|") for row in message.split("\r")}
    assert message.startswith("MSH|^~\\&|")
    assert "11506-3" in rows["OBX"][3]
    assert "Ms. [NAME:PATIENT], once" in rows["OBX"][5]
    sources = Counter(dict(each.headers())["source"] for each in promise.rebuilt)
    assert {1} == {*sources.values()}
    assert all(source.startswith(NOTES.name.encode()) for source in sources)


@pytest.mark.parametrize("kind", BROKEN_KINDS)
def test_a_refused_record_is_a_dead_letter_that_the_office_can_open(promise, kind):
    broken = BROKEN_KINDS[kind]
    value, key = broken.make(), private_key(promise.settings)

    codes = {
        letter["code"]
        for letter in promise.dead
        if original_of(letter, key).value == value
    }

    assert codes == {broken.code}


def test_reconcile_confirms_it(promise):
    config = promise.folder / "promise.toml"
    config.write_text(
        f'bootstrap = "{promise.settings.bootstrap}"\n'
        f'group = "{promise.settings.group}"\n'
        f'pseudonym_key_file = "{promise.settings.pseudonym_key_file}"\n'
    )

    done = phistream("reconcile", "--drained", "--config", config, text=True)

    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_published_or_logged_holds_a_marker(promise):
    texts = [promise.logs]
    for topic in (NOTES_SCRUBBED, HL7_SCRUBBED, PHI_AUDIT, DEAD_LETTERS):
        for message in read_topic(promise.settings, topic.name):
            texts += [str(message.key()), str(message.headers())]
            if topic is not DEAD_LETTERS:  # megabytes of ciphertext hold any letters
                texts.append(message.value().decode(errors="replace"))
    everything = "\n".join(texts).lower()

    assert '"level":"debug"' in promise.logs
    assert [marker for marker in MARKERS if marker in everything] == []
