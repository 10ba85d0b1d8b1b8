"""Intake's processor: what is known is remembered, also before it is read back."""

from __future__ import annotations

import orjson
import pytest

from streams.cluster.topics import NOTES, PATIENTS, PHI_AUDIT
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.engine.records import Partition, Record
from streams.intake import processor
from streams.intake.processor import Intake
from streams.patients.demographics import PatientId, PatientRecord


class MemoryTable:
    """The rows alone; the real one is tested on Kafka in tests/end_to_end."""

    def __init__(self):
        self.rows = {}
        self.incomplete = set()
        self.is_caught_up = False

    def open(self, partitions):
        self.partitions = list(partitions)

    def ready(self):
        return self.partitions if self.is_caught_up else []

    def catch_up(self, partitions):
        pass

    def get(self, partition, key):
        if key == b"N|unreadable":
            raise InvalidRecord(
                ReasonCode.PATIENT_RECORD, "patients: breaks its schema"
            )
        return self.rows.get(key)

    def drop(self):
        return []


@pytest.fixture
def table():
    return MemoryTable()


@pytest.fixture
def intake(table):
    return Intake(table, 4, max_bytes=10_000, clock=lambda: 1.5)


def adt(family, *, minute=1, mrn="1", extra=""):
    return (
        f"MSH|^~\\&|A|N|B|C|2025010108{minute:02}00||ADT^A08|M|P|2.5\r"
        f"PID|1||{mrn}^^^N^MR||{family}^Ada\r{extra}"
    ).encode()


def record(value, offset=0):
    return Record(Partition("hl7.raw", 0), offset, None, value)


def patients(outcomes):
    return [
        PatientRecord.from_json(orjson.loads(output.value))
        for outcome in outcomes
        for output in outcome
        if output.topic == PATIENTS.name
    ]


def families(names):
    return [name.family for name in names]


def test_a_later_message_of_the_same_batch_remembers_the_earlier(intake):
    outcomes = intake.process([record(adt("Alt")), record(adt("Neu", minute=2), 1)])

    last = patients(outcomes)[-1]
    assert (["Neu"], ["Alt"]) == (
        families(last.current.names),
        families(last.former.names),
    )


def test_what_is_committed_is_known_before_the_table_has_read_it_back(intake):
    intake.process([record(adt("Alt"))])
    intake.committed()

    [last] = patients(intake.process([record(adt("Neu", minute=2), 1)]))

    assert ["Alt"] == families(last.former.names)


def test_what_is_aborted_was_never_said(intake):
    intake.process([record(adt("Alt"))])
    intake.aborted()

    [last] = patients(intake.process([record(adt("Neu", minute=2), 1)]))

    assert [] == families(last.former.names)


def test_a_message_that_says_nothing_new_writes_no_patient(intake):
    intake.process([record(adt("Alt"))])

    [outcome] = intake.process([record(adt("Alt", minute=9), 1)])

    assert [PHI_AUDIT.name] == [output.topic for output in outcome]


def test_a_merge_brings_the_prior_patients_history(intake):
    intake.process([record(adt("Maiden", mrn="2"))])
    merge = adt("Alt", minute=3, extra="MRG|2^^^N^MR\r")

    survivor, prior = patients(intake.process([record(merge, 1)]))

    for each in (survivor, prior):
        names = families(each.current.names) + families(each.former.names)
        assert {"Alt", "Maiden"} == set(names)


def test_a_concurrent_update_that_left_something_out_is_repaired(intake, table):
    """Two workers wrote the same patient; the table saw that the last lacks a name."""
    [full] = patients(intake.process([record(adt("Alt"))]))
    intake.aborted()
    key = PatientId("N", "1").key
    table.rows[key] = orjson.dumps(full.to_json())
    table.incomplete.add(key)

    repaired = patients(intake.process([record(adt("Other", mrn="5"), 1)]))

    assert [full.patient, PatientId("N", "5")] == sorted(
        (each.patient for each in repaired), key=lambda each: each.id
    )
    assert set() == table.incomplete


def test_an_unreadable_record_refuses_the_message(intake):
    [outcome] = intake.process([record(adt("Alt", mrn="unreadable"))])

    assert isinstance(outcome, InvalidRecord)
    assert "patient_record" == outcome.code


def test_a_bug_of_the_decoder_is_a_dead_letter_that_shows_nothing(
    intake, monkeypatch, caplog
):
    def fail(value, max_bytes):
        raise ZeroDivisionError("ZZMARKER")

    monkeypatch.setattr(processor, "route", fail)

    [outcome] = intake.process([record(b"x")])

    assert "decoder_failed: hl7.raw: ZeroDivisionError; report it" == str(outcome)


def test_counts_what_it_gave_in_the_audit_event(intake):
    value = adt("Alt", extra="OBX|1|TX|||one\rOBX|2|NM|||5\r")

    [outcome] = intake.process([record(value, 7)])

    audit = orjson.loads(outcome[-1].value)
    assert b"1" == outcome[-1].headers["outputs"]
    assert b"hl7.raw/0/7" == outcome[-1].headers["source"]
    assert {"patients": 1, "notes": 1, "skipped": {"NM": 1}} == audit["routed"]
    assert [PATIENTS.name, NOTES.name, PHI_AUDIT.name] == [o.topic for o in outcome]


def test_partitions_wait_until_the_whole_table_has_caught_up(intake, table):
    intake.assigned([0, 2])

    before = list(intake.ready())
    table.is_caught_up = True
    after = sorted(intake.ready())

    assert ([], [0, 2], []) == (before, after, list(intake.ready()))
