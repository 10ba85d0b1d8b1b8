"""Intake's processor: a pure function of each message."""

from __future__ import annotations

import orjson
import pytest

from streams.engine.records import Partition, Record
from streams.kafka.topics import NOTES, PATIENT_UPDATES, PHI_AUDIT, TOPICS
from streams.model.patients.demographics import PatientId
from streams.model.patients.updates import decode_update
from streams.pipeline.intake import processor
from streams.pipeline.intake.processor import Intake
from tests.office import OFFICE


@pytest.fixture
def intake():
    return Intake(max_bytes=10_000, office=OFFICE, clock=lambda: 1.5)


def adt(family, *, minute=1, mrn="1", extra=""):
    return (
        f"MSH|^~\\&|A|N|B|C|2025010108{minute:02}00||ADT^A08|M|P|2.5\r"
        f"PID|1||{mrn}^^^N^MR||{family}^Ada\r{extra}"
    ).encode()


def record(value, offset=0):
    return Record(Partition("hl7.raw", 0), offset, None, value)


def test_writes_what_the_message_says_under_each_of_its_identifiers(intake):
    merge = adt("Alt", extra="MRG|2^^^N^MR\r")

    [outcome] = intake.process([record(merge)])

    updates = [o for o in outcome if o.topic == PATIENT_UPDATES.name]
    said = {o.key: decode_update(o.value).record for o in updates}
    assert {key: each.merged for key, each in said.items()} == {
        b"N|1": (PatientId("N", "2"),),
        b"N|2": (PatientId("N", "1"),),
    }
    assert {
        tuple(name.family for name in each.current.names) for each in said.values()
    } == {("Alt",)}
    assert all(o.headers["source"] == b"hl7.raw/0/0" for o in updates)


def test_every_output_keeps_its_schema(intake):
    value = adt("Alt", extra="OBX|1|TX|||one\rMRG|2^^^N^MR\r")

    [outcome] = intake.process([record(value)])

    topics = {topic.name: topic for topic in TOPICS}
    for output in outcome:
        topics[output.topic].schema.check_strictly(orjson.loads(output.value))


def test_a_bug_of_the_decoder_is_a_dead_letter_that_shows_nothing(
    intake, monkeypatch, caplog
):
    def fail(value, **_options):
        raise ZeroDivisionError("ZZMARKER")

    monkeypatch.setattr(processor, "route", fail)

    [outcome] = intake.process([record(b"x")])

    assert str(outcome) == "decoder_failed: hl7.raw: ZeroDivisionError; report it"


def test_counts_what_it_gave_in_the_audit_event(intake):
    value = adt("Alt", extra="OBX|1|TX|||one\rOBX|2|NM|||5\r")

    [outcome] = intake.process([record(value, 7)])

    audit = orjson.loads(outcome[-1].value)
    assert outcome[-1].headers["outputs"] == b"1"
    assert outcome[-1].headers["source"] == b"hl7.raw/0/7"
    assert audit["routed"] == {"patients": 1, "notes": 1, "skipped": {"NM": 1}}
    assert [o.topic for o in outcome] == [
        PATIENT_UPDATES.name,
        NOTES.name,
        PHI_AUDIT.name,
    ]


def test_partitions_flow_at_once_and_need_no_state(intake):
    intake.assigned([0, 2])

    assert list(intake.ready()) == [0, 2]
    assert list(intake.ready()) == []
    assert list(intake.settled([2])) == [2]
