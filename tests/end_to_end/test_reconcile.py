"""The auditor must see what the engine would hide: it is fed faults on purpose."""

from __future__ import annotations

import io
import json
import re

import pytest
from rich.console import Console

from streams.cli.reconcile import verdict_table
from streams.kafka.client import admin_client
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import HL7_RAW, HL7_SCRUBBED, NOTES, PATIENT_UPDATES
from streams.operations.reconcile import Auditor, Conclusion, Result, TopicVerdict
from tests.brokers import wait_until
from tests.commands import phistream
from tests.stages import Stages


@pytest.fixture
def stages(settings):
    return Stages(settings)


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
            "faults",
        )
        if getattr(verdict, name)
    }


def verdict_on(topic, settings):
    by_topic = {each.topic: each for each in Auditor(settings).verdicts()}
    return by_topic[topic.name]


def test_sees_every_kind_of_fault(stages, settings):
    notes = stages.routed(8)
    for note in notes:
        if note.offset != 2:  # offset 2 has no audit event
            stages.write(stages.audit(note, "scrubbed", 1))
    stages.write(stages.scrubbed(notes[1]))  # before its elder
    stages.write(stages.scrubbed(notes[0]))
    stages.write(stages.scrubbed(notes[2]))
    for _ in range(2):
        stages.write(stages.scrubbed(notes[4]))  # 3 has none, 4 has two
    stages.write(stages.letter(notes[5])[0])
    stages.write(stages.scrubbed(notes[6]))
    stages.write(stages.audit(notes[6], "scrubbed", 1))  # 6 has two audit events
    stages.commit_all()
    stages.commit(NOTES.name, 7)  # 7 is not due yet

    found = verdict_on(NOTES, settings)

    # Outputs that were written apart from their audit events are not what these hold.
    altered = found.faults.pop("altered")
    assert (altered, found.faults.pop("offsets_set_back")) == (3, 1)
    assert counts(found) == {
        "inputs": 8,
        "missing": 3,
        "doubled": 2,
        "out_of_order": 1,
    }
    assert {
        "notes[0]@2 missing",
        "notes[0]@3 missing",
        "notes[0]@4 doubled",
        "notes[0]@6 doubled",
        "notes[0]@0 out of order",
    } <= set(found.examples)


def test_a_held_note_is_not_missing_and_its_release_is_its_output(stages, settings):
    notes = stages.routed(4)
    for note in notes:
        stages.hold(note)
    stages.write(stages.audit(notes[1], "discarded", policy="wait"))
    [released] = stages.release(notes[2])  # offset 4
    stages.scrub(released)
    stages.release(notes[3])  # offset 5, not processed yet
    stages.commit_all()
    stages.commit(NOTES.name, 5)

    found = verdict_on(NOTES, settings)

    assert found.is_sound, found.examples
    assert (
        found.inputs,
        found.scrubbed,
        found.no_note,
        found.held,
        found.pending,
    ) == (6, 3, 1, 1, 1)


def test_a_held_note_without_its_row_is_missing(stages, settings):
    waiting, gone = stages.routed(2)
    stages.hold(waiting)
    stages.write(stages.audit(gone, "held", policy="wait"))
    stages.commit_all()

    found = verdict_on(NOTES, settings)

    assert (found.held, found.missing, found.examples) == (1, 1, ["notes[0]@1 missing"])


def test_a_held_note_that_is_discarded_and_published_is_doubled(stages, settings):
    notes = stages.routed(2)
    for note in notes:
        stages.hold(note)
    stages.write(stages.audit(notes[0], "discarded", policy="wait"))
    stages.write(stages.again(notes[0]))
    stages.write(stages.again(notes[1]))
    stages.write(stages.again(notes[1]))
    stages.commit(NOTES.name, 2)

    assert verdict_on(NOTES, settings).doubled == 2


@pytest.mark.parametrize(("policy", "out_of_order"), [("wait", 1), ("hold", 0)])
def test_order_is_that_of_the_first_records_within_a_policy(
    stages, settings, policy, out_of_order
):
    first, second = stages.routed(2)
    stages.hold(first)
    stages.write(
        stages.scrubbed(second), stages.audit(second, "scrubbed", 1, policy=policy)
    )  # overtakes
    [again] = stages.release(first)
    stages.write(
        stages.scrubbed(again), stages.audit(again, "scrubbed", 1, policy="wait")
    )
    stages.commit_all()

    found = verdict_on(NOTES, settings)

    assert (out_of_order, 0, 0) == (found.out_of_order, found.missing, found.doubled)


def test_an_intake_record_owes_what_its_audit_event_says(stages, settings):
    admission, message, bad = (stages.message() for _ in range(3))
    stages.write(stages.audit(admission, "routed"))
    stages.write(stages.note(message))  # one of two notes
    stages.write(stages.audit(message, "routed", 2))
    stages.write(*stages.letter(bad))
    stages.commit_all()

    found = verdict_on(HL7_RAW, settings)

    assert counts(found) == {"inputs": 3, "no_note": 1, "missing": 1}


def test_an_update_owes_nothing_but_a_dead_letter_for_its_audit_event(stages, settings):
    updates = [stages.produce(PATIENT_UPDATES.name, b"{}") for _ in range(6)]
    letters = [stages.letter(each) for each in updates]
    stages.write(*letters[1])
    stages.write(letters[2][1])  # no dead letter
    for _ in range(2):
        stages.write(*letters[3])
    stages.write(letters[4][0])  # no audit event
    stages.commit_all()
    stages.commit(PATIENT_UPDATES.name, 5)

    found = verdict_on(PATIENT_UPDATES, settings)

    assert counts(found) == {
        "inputs": 6, "no_note": 1, "pending": 1, "missing": 1, "doubled": 2
    }  # fmt: skip
    assert set(found.examples) == {
        "patient.updates[0]@2 missing",
        "patient.updates[0]@3 doubled",
        "patient.updates[0]@4 doubled",
    }


def test_updates_of_a_message_are_no_notes_but_keep_its_order(stages, settings):
    one, other = stages.message(), stages.message()
    [second] = stages.write(stages.update(other), stages.audit(other, "routed"))
    stages.write(stages.update(one), stages.audit(one, "routed"))
    stages.write(stages.update(second))  # forwarded
    stages.commit(HL7_RAW.name, 2)
    stages.commit(NOTES.name, 0)
    stages.commit(PATIENT_UPDATES.name, 1)

    raw = verdict_on(HL7_RAW, settings)
    updates = verdict_on(PATIENT_UPDATES, settings)

    assert counts(raw) == {"inputs": 2, "no_note": 2, "out_of_order": 1}
    assert (updates.inputs, updates.uncommitted, updates.pending) == (3, 0, 2)
    assert updates.is_sound


def test_the_columns_of_a_sound_topic_add_up_to_its_inputs(stages, settings):
    messages = [stages.message() for _ in range(6)]
    stages.write(stages.audit(messages[0], "routed"))
    both = [stages.note(messages[1]), stages.note(messages[1], "another")]
    stages.write(*both, stages.audit(messages[1], "routed", 2))
    stages.write(*stages.letter(messages[2]))
    stages.write(stages.audit(messages[3], "repeated"))
    stages.write(stages.note(messages[4]), stages.audit(messages[4], "routed", 1))
    stages.commit(HL7_RAW.name, 5)

    raw = verdict_on(HL7_RAW, settings)

    assert raw.is_sound
    parts = (raw.scrubbed, raw.dead_letters, raw.no_note, raw.repeated, raw.pending)
    assert (raw.inputs, parts) == (6, (2, 1, 1, 1, 1))
    table = Console(width=80, record=True, file=io.StringIO())
    table.print(
        verdict_table([raw, TopicVerdict("notes", 2_202_005, 1_754_000, 43_000)])
    )
    told = table.export_text()
    assert "2,202,005 1,754,000" in told
    assert "…" not in told
    assert re.search(r"hl7.raw\W+6\W+2\W+1\W+1\W+1\W+0\W+1\W+0", told)


def test_the_command_exits_1_and_speaks_json(stages, settings, tmp_path):
    stages.routed(1)
    stages.commit_all()
    config = tmp_path / "c.toml"
    config.write_text(f'bootstrap = "{settings.bootstrap}"\ngroup = "{settings.group}"')

    done = phistream("reconcile", "--json", "--config", config)

    body = json.loads(done.stdout)
    assert (done.returncode, body["sound"]) == (1, False)
    assert body["result"] == "fails"
    assert sum(topic["missing"] for topic in body["topics"]) == 1
    assert "no key was given" in body["not_checked"][0]


def test_topics_that_are_missing_are_no_pass(cluster, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text(f'bootstrap = "{cluster.bootstrap}"')

    done = phistream("reconcile", "--config", config, text=True)
    as_json = phistream("reconcile", "--json", "--config", config, text=True)
    listed = phistream("topics", "list", "--config", config, text=True)

    last = done.stdout.splitlines()[-1]
    assert (done.returncode, as_json.returncode) == (3, 3)
    assert last.startswith("reconcile could not check hl7.raw, notes, patient.updates,")
    assert last.endswith("0 inputs; seals not checked: no key was given")
    body = json.loads(as_json.stdout)
    assert (body["result"], body["sound"]) == ("could not check", False)
    assert "not in the cluster, or hidden from this user: hl7.raw" in listed.stdout


def test_one_topic_that_is_missing_is_named(stages, settings):
    stages.done()
    admin, name = admin_client(settings), HL7_SCRUBBED.name
    admin.delete_topics([name])[name].result(30)
    wait_until(lambda: name not in partition_counts(admin))
    auditor = Auditor(settings)

    conclusion = auditor.conclusion(auditor.verdicts())

    assert Result.COULD_NOT_CHECK is conclusion.result
    assert conclusion.line.startswith("reconcile could not check hl7.scrubbed: missing")


@pytest.mark.parametrize(
    ("verdicts", "options", "line"),
    [
        (
            [TopicVerdict("notes", inputs=1200, pending=34)],
            {},
            "passes: nothing missing, doubled or forged, in order; 1,200 inputs; "
            "34 still on their way",
        ),
        (
            [TopicVerdict("notes", inputs=3, pending=1)],
            {"is_drained": True, "has_key": False},
            "fails: 1 not processed; 3 inputs; seals not checked: no key was given",
        ),
        (
            [
                TopicVerdict("hl7.raw", inputs=3, missing=2),
                TopicVerdict("notes", inputs=2, faults={"forged": 5, "unsealed": 1}),
            ],
            {},
            "fails: 2 missing, 5 forged, 1 unsealed; 5 inputs",
        ),
        (
            [TopicVerdict("notes", inputs=2, doubled=1)],
            {"unread": ["hl7.raw"]},
            "could not check hl7.raw: missing, or hidden from this user; "
            "of the others: 1 doubled; 2 inputs",
        ),
    ],
)
def test_every_verdict_ends_with_one_line(verdicts, options, line):
    assert Conclusion(verdicts, **options).line == (f"reconcile {line}")
