"""The auditor must see what the engine would hide: it is fed faults on purpose."""

from __future__ import annotations

import io
import json
import re

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from rich.console import Console

from streams.cli.reconcile import verdict_table
from streams.cluster.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PHI_AUDIT,
)
from streams.operations.reconcile import Auditor, Verdict
from tests.commands import phistream


class Faults:
    """Writes inputs and outputs by hand, as a broken engine would."""

    def __init__(self, settings):
        self._settings = settings
        self._producer = Producer(settings.client())

    def inputs(self, topic, count):
        for n in range(count):
            self._producer.produce(topic, key=b"k", value=b"%d" % n, partition=0)
        self._producer.flush()

    def output(self, topic, origin, offset, *, outputs=None, key=b"p", outcome=None):
        headers = {"source": f"{origin}/0/{offset}".encode()}
        if outputs is not None:
            headers["outputs"] = str(outputs).encode()
        if outcome is not None:
            headers["outcome"] = outcome
        self._producer.produce(topic, key=key, value=b"{}", headers=headers)
        self._producer.flush()

    def commit(self, stage, topic, offset):
        group = f"{self._settings.group}-{stage}"
        consumer = Consumer(self._settings.client(**{"group.id": group}))
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
        consumer.close()


@pytest.fixture
def faults(settings):
    return Faults(settings)


def counts(verdict):
    return {
        name: getattr(verdict, name)
        for name in (
            "inputs",
            "no_note",
            "pending",
            "missing",
            "doubled",
            "out_of_order",
        )
        if getattr(verdict, name)
    }


def test_sees_every_kind_of_fault(faults, settings):
    faults.inputs(NOTES.name, 8)
    for offset in range(8):
        if offset != 2:  # offset 2 has no audit event
            faults.output(PHI_AUDIT.name, NOTES.name, offset, outputs=1)
    faults.output(NOTES_SCRUBBED.name, NOTES.name, 1)  # before its elder
    faults.output(NOTES_SCRUBBED.name, NOTES.name, 0)
    faults.output(NOTES_SCRUBBED.name, NOTES.name, 2)
    faults.output(NOTES_SCRUBBED.name, NOTES.name, 4)  # 3 has none
    faults.output(NOTES_SCRUBBED.name, NOTES.name, 4)  # 4 twice
    faults.output(DEAD_LETTERS.name, NOTES.name, 5)
    faults.output(NOTES_SCRUBBED.name, NOTES.name, 6)
    faults.output(PHI_AUDIT.name, NOTES.name, 6, outputs=1)  # 6 has two audits
    faults.commit("scrub", NOTES.name, 7)  # 7 is not due yet

    by_topic = {each.topic: each for each in Auditor(settings).verdicts()}

    assert {
        "inputs": 8,
        "pending": 1,
        "missing": 2,
        "doubled": 2,
        "out_of_order": 1,
    } == counts(by_topic["notes"])
    assert {
        "notes[0]@2 missing",
        "notes[0]@3 missing",
        "notes[0]@4 doubled",
        "notes[0]@6 doubled",
        "notes[0]@0 out of order",
    } == set(by_topic["notes"].examples)


class Late(Faults):
    """Writes what becomes of held notes."""

    def audit(self, offset, *, outcome="", policy="wait"):
        self.with_headers(
            PHI_AUDIT.name, offset, outputs="0" if outcome else "1",
            outcome=outcome, unknown_patient=policy,
        )  # fmt: skip

    def again(self, first):
        self.with_headers(NOTES.name, first, held=f"{first}/time")

    def with_headers(self, topic, origin, **headers):
        headers = {name: value.encode() for name, value in headers.items() if value}
        headers["source"] = f"notes/0/{origin}".encode()
        self._producer.produce(topic, key=b"k", headers=headers, partition=0)
        self._producer.flush()


@pytest.fixture
def late(settings):
    return Late(settings)


def notes_verdict(settings):
    [found] = [v for v in Auditor(settings).verdicts() if v.topic == NOTES.name]
    return found


def test_a_held_note_is_not_missing_and_its_release_is_its_output(late, settings):
    late.inputs(NOTES.name, 4)
    for offset in range(4):
        late.audit(offset, outcome="held")
    late.audit(1, outcome="discarded")
    late.again(2)  # offset 4
    late.audit(4)
    late.output(NOTES_SCRUBBED.name, NOTES.name, 4)
    late.again(3)  # offset 5, not processed yet
    late.commit("scrub", NOTES.name, 5)

    found = notes_verdict(settings)

    assert found.is_sound, found.examples
    assert (6, 3, 1, 1, 1) == (
        found.inputs,
        found.scrubbed,
        found.no_note,
        found.held,
        found.pending,
    )


def test_a_held_note_that_is_discarded_and_published_is_doubled(late, settings):
    late.inputs(NOTES.name, 2)
    for offset in range(2):
        late.audit(offset, outcome="held")
    late.audit(0, outcome="discarded")
    late.again(0)
    late.again(1)
    late.again(1)
    late.commit("scrub", NOTES.name, 2)

    assert 2 == notes_verdict(settings).doubled


@pytest.mark.parametrize(("policy", "out_of_order"), [("wait", 1), ("hold", 0)])
def test_order_is_that_of_the_first_records_within_a_policy(
    late, settings, policy, out_of_order
):
    late.inputs(NOTES.name, 2)
    late.audit(0, outcome="held")
    late.audit(1, policy=policy)
    late.output(NOTES_SCRUBBED.name, NOTES.name, 1)  # overtakes
    late.again(0)  # offset 2
    late.audit(2)
    late.output(NOTES_SCRUBBED.name, NOTES.name, 2)
    late.commit("scrub", NOTES.name, 3)

    found = notes_verdict(settings)

    assert (out_of_order, 0, 0) == (found.out_of_order, found.missing, found.doubled)


def test_an_intake_record_owes_what_its_audit_event_says(faults, settings):
    faults.inputs(HL7_RAW.name, 3)
    faults.output(PHI_AUDIT.name, HL7_RAW.name, 0, outputs=0)  # an ADT
    faults.output(PHI_AUDIT.name, HL7_RAW.name, 1, outputs=2)
    faults.output(NOTES.name, HL7_RAW.name, 1)  # one of two notes
    faults.output(PHI_AUDIT.name, HL7_RAW.name, 2, outputs=1)
    faults.output(DEAD_LETTERS.name, HL7_RAW.name, 2, key=None)
    faults.commit("intake", HL7_RAW.name, 3)

    by_topic = {each.topic: each for each in Auditor(settings).verdicts()}

    assert {"inputs": 3, "no_note": 1, "missing": 1} == counts(by_topic["hl7.raw"])


def test_an_update_owes_nothing_but_a_dead_letter_for_its_audit_event(faults, settings):
    faults.inputs(PATIENT_UPDATES.name, 6)
    for offset in (1, 2, 3, 3):
        faults.output(PHI_AUDIT.name, PATIENT_UPDATES.name, offset, outputs=1)
    for offset in (1, 3, 3, 4):  # 2 has none, 3 has two of both, 4 has no audit event
        faults.output(DEAD_LETTERS.name, PATIENT_UPDATES.name, offset)
    faults.commit("scrub", PATIENT_UPDATES.name, 5)

    by_topic = {each.topic: each for each in Auditor(settings).verdicts()}

    updates = by_topic["patient.updates"]
    assert {
        "inputs": 6, "no_note": 1, "pending": 1, "missing": 1, "doubled": 2
    } == counts(updates)  # fmt: skip
    assert {
        "patient.updates[0]@2 missing",
        "patient.updates[0]@3 doubled",
        "patient.updates[0]@4 doubled",
    } == set(updates.examples)


def test_updates_of_a_message_are_no_notes_but_keep_its_order(faults, settings):
    faults.inputs(HL7_RAW.name, 2)
    for offset in (0, 1):
        faults.output(PHI_AUDIT.name, HL7_RAW.name, offset, outputs=0)
    for offset in (1, 0):
        faults.output(PATIENT_UPDATES.name, HL7_RAW.name, offset)
    faults.output(PATIENT_UPDATES.name, PATIENT_UPDATES.name, 0)  # forwarded
    faults.commit("intake", HL7_RAW.name, 2)

    by_topic = {each.topic: each for each in Auditor(settings).verdicts()}

    raw, updates = by_topic["hl7.raw"], by_topic["patient.updates"]
    assert {"inputs": 2, "no_note": 2, "out_of_order": 1} == counts(raw)
    assert {"inputs": 3, "pending": 3} == counts(updates)


def test_the_columns_of_a_sound_topic_add_up_to_its_inputs(faults, settings):
    faults.inputs(HL7_RAW.name, 6)
    for offset, outputs in enumerate((0, 2, 1, 0, 1)):
        outcome = b"repeated" if offset == 3 else None
        faults.output(
            PHI_AUDIT.name, HL7_RAW.name, offset, outputs=outputs, outcome=outcome
        )
    for offset in (1, 1, 4):
        faults.output(NOTES.name, HL7_RAW.name, offset)
    faults.output(DEAD_LETTERS.name, HL7_RAW.name, 2, key=None)
    faults.commit("intake", HL7_RAW.name, 5)

    [raw] = [each for each in Auditor(settings).verdicts() if each.topic == "hl7.raw"]

    assert raw.is_sound
    parts = (raw.scrubbed, raw.dead_letters, raw.no_note, raw.repeated, raw.pending)
    assert (6, (2, 1, 1, 1, 1)) == (raw.inputs, parts)
    table = Console(width=80, record=True, file=io.StringIO())
    table.print(verdict_table([raw, Verdict("notes", 2_202_005, 1_754_000, 43_000)]))
    told = table.export_text()
    assert "2,202,005 1,754,000" in told
    assert "…" not in told
    assert re.search(r"hl7.raw\W+6\W+2\W+1\W+1\W+1\W+0\W+1\W+0", told)


def test_the_command_exits_1_and_speaks_json(faults, settings, tmp_path):
    faults.inputs(NOTES.name, 1)
    faults.commit("scrub", NOTES.name, 1)
    config = tmp_path / "c.toml"
    config.write_text(f'bootstrap = "{settings.bootstrap}"\ngroup = "{settings.group}"')

    done = phistream("reconcile", "--json", "--config", config)

    body = json.loads(done.stdout)
    assert (1, False) == (done.returncode, body["sound"])
    assert 1 == sum(topic["missing"] for topic in body["topics"])
