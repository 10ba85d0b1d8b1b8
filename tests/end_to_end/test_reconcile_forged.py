"""Whoever may write to topics, or delete from them, can't blind or break the audit."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace

import orjson
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from streams.engine.records import Output, Partition, Record
from streams.kafka.client import admin_client
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    HL7_SCRUBBED,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PHI_AUDIT,
)
from streams.model.outputs import SOURCE, erased_rows, source_header
from streams.model.seals import Seals, audit_key
from streams.operations.reconcile import Auditor
from tests.brokers import wait_until
from tests.commands import phistream
from tests.conftest import has_leaders
from tests.stages import Stages

OUTPUTS = 18
HOUR = 3_600_000


@pytest.fixture
def stages(settings):
    return Stages(settings)


def found(settings, **options):
    """Return what is wrong: faults by topic, and missing or doubled inputs."""
    auditor = Auditor(settings, **options)
    wrong = {}
    for each in auditor.verdicts():
        said = dict(each.faults)
        for name in ("missing", "doubled", "out_of_order"):
            if count := getattr(each, name):
                said[name] = count
        if said:
            wrong[each.topic] = said
    return wrong


def reconcile(settings, tmp_path, *options):
    """Run the command as a person does."""
    config = tmp_path / "reconcile.toml"
    config.write_text(
        f'bootstrap = "{settings.bootstrap}"\ngroup = "{settings.group}"\n'
        f'pseudonym_key_file = "{settings.pseudonym_key_file}"\n'
    )
    done = phistream("reconcile", "--config", config, *options, text=True)
    assert "Traceback" not in done.stderr
    return done


def delete_groups(settings):
    admin = admin_client(settings)
    groups = [f"{settings.group}-{stage}" for stage in ("intake", "scrub")]
    for each in admin.delete_consumer_groups(groups).values():
        each.result(30)


# --- the ways of the issue


def test_what_both_stages_write_is_sound(stages, settings, tmp_path):
    stages.done()

    assert found(settings) == {}
    done = reconcile(settings, tmp_path, "--drained")
    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert "not checked" not in done.stdout


@pytest.mark.parametrize("has_seal", [True, False])
def test_null_values_with_the_right_header_replace_no_output(
    stages, settings, tmp_path, has_seal
):
    stages.done(OUTPUTS)
    gone = stages.delete(NOTES_SCRUBBED.name)
    if not has_seal:
        gone = [replace(each, headers={SOURCE: each.headers[SOURCE]}) for each in gone]

    stages.put_back(gone, value=None)

    expected = {
        NOTES.name: {"missing": OUTPUTS},
        NOTES_SCRUBBED.name: {"null_value": OUTPUTS},
    }
    assert len(gone) == OUTPUTS
    assert expected == found(settings)
    assert expected == found(settings, keys=[])
    assert reconcile(settings, tmp_path).returncode == 1


def test_a_senders_header_source_replaces_no_output(stages, settings, tmp_path):
    notes = stages.done(OUTPUTS)
    stages.delete(NOTES_SCRUBBED.name)

    for note in notes:
        message = stages.message({SOURCE: source_header(note)})
        stages.write(stages.audit(message, "routed"))
    stages.commit_all()

    assert found(settings) == {NOTES.name: {"missing": OUTPUTS}}
    assert found(settings, keys=[]) == {NOTES.name: {"missing": OUTPUTS}}
    assert reconcile(settings, tmp_path).returncode == 1


def test_offsets_that_are_gone_do_not_make_outputs_pending(stages, settings, tmp_path):
    stages.done(OUTPUTS)
    stages.delete(NOTES_SCRUBBED.name)
    delete_groups(settings)

    assert found(settings) == {
        HL7_RAW.name: {"offsets_gone": 1},
        NOTES.name: {"offsets_gone": 1, "missing": OUTPUTS},
        PATIENT_UPDATES.name: {"offsets_gone": 1},
    }
    done = reconcile(settings, tmp_path)
    assert done.returncode == 1
    assert "no committed offset" in done.stdout


HEADERS = (
    {"source": b"notes/0/5"},
    {"source": b"PATIENT SMITH"},
    {"outputs": b"many"},
    {"source": b"\xff\xfe", "outputs": b"-1", "seal": b"\x00", "held": b"0/time"},
)


def test_a_senders_own_headers_do_no_harm(stages, settings, tmp_path):
    stages.done(7)
    for headers in HEADERS:
        stages.scrub(*stages.routed(1, **headers))
        stages.produce(PATIENT_UPDATES.name, b"{}", headers=headers)
    stages.commit_all()

    assert found(settings) == {}
    assert found(settings, keys=[]) == {}
    done = reconcile(settings, tmp_path)
    assert (done.returncode, "SMITH" in done.stdout + done.stderr) == (0, False)


MALFORMED = (
    (PHI_AUDIT, b"{}", {"source": b"PATIENT SMITH", "outputs": b"many"}),
    (PHI_AUDIT, b"\xff", {"source": b"notes/0/1", "outputs": b"1"}),
    (PHI_AUDIT, b'{"source": {"topic": "notes"}}', {}),
    (PHI_AUDIT, b'{"source": 1, "outputs": "many"}', {}),
    (NOTES, b"SMITH", {"source": b"PATIENT SMITH"}),
    (NOTES, b"SMITH", {}),
    (NOTES, b"SMITH", {"source": b"notes/0/1"}),
    (NOTES_SCRUBBED, b"SMITH", {"source": b"notes/0/1"}),
    (HL7_SCRUBBED, b"MSH|", {"source": b"notes/99999999999/1"}),
    (HL7_SCRUBBED, b"MSH|", {"source": b"notes/77/1"}),
    (DEAD_LETTERS, b'{"source": {"topic": "SMITH"}}', {}),
)


def test_a_malformed_mark_is_a_finding(stages, settings, tmp_path):
    stages.done(2)
    for topic, value, headers in MALFORMED:
        stages.produce(topic.name, value, headers=headers)
    stages.produce(PHI_AUDIT.name, b"{}", headers={"seal": b"SMITH"})

    wrong = found(settings)

    assert wrong == {
        NOTES.name: {"malformed": 3},
        NOTES_SCRUBBED.name: {"malformed": 1},
        HL7_SCRUBBED.name: {"malformed": 2},
        PHI_AUDIT.name: {"malformed": 4, "forged": 1},
        DEAD_LETTERS.name: {"malformed": 1},
    }
    done = reconcile(settings, tmp_path)
    assert (done.returncode, "SMITH" in done.stdout + done.stderr) == (1, False)
    assert "hl7.scrubbed[0]@0 malformed: its header source names no" in done.stdout


# --- outputs that are not what the stages wrote


def test_outputs_that_have_changed_places_are_forged(stages, settings):
    stages.done(2)
    one, other = stages.delete(NOTES_SCRUBBED.name)

    stages.put_back([replace(one, value=other.value), replace(other, value=one.value)])

    assert found(settings) == {
        NOTES.name: {"missing": 2},
        NOTES_SCRUBBED.name: {"forged": 2},
    }
    # Their seals tell even those who have no key to check them.
    assert found(settings, keys=[])[NOTES_SCRUBBED.name] == {"altered": 2}


def test_without_a_key_a_changed_text_is_not_found_and_the_auditor_says_so(
    stages, settings
):
    stages.done(1)
    [output] = stages.delete(NOTES_SCRUBBED.name)

    stages.put_back([output], value=output.value.replace(b"[NAME]", b"Mabelle"))

    auditor = Auditor(settings, keys=[])
    assert all(each.is_sound for each in auditor.verdicts())
    assert "forged, changed or replaced are not found" in auditor.not_checked[0]
    assert found(settings)[NOTES_SCRUBBED.name] == {"forged": 1}


@pytest.mark.parametrize(
    "change",
    [
        {"key": b"1" * 32},
        {"headers": {}},
        {"value": b'{"source": {"topic": "notes", "partition": 0, "offset": 0}}'},
    ],
)
def test_an_output_that_was_changed_is_found(stages, settings, change):
    stages.done(3)
    first, *others = stages.delete(NOTES_SCRUBBED.name)

    stages.put_back([first], **change)
    stages.put_back(others)

    kind = "unsealed" if "headers" in change else "forged"
    assert found(settings) == {
        NOTES.name: {"missing": 1},
        NOTES_SCRUBBED.name: {kind: 1},
    }


def test_an_output_of_an_aborted_transaction_replaces_none(stages, settings):
    [note] = stages.done(1)
    stages.delete(NOTES_SCRUBBED.name)

    # The same input under another policy: its seal fits, but no audit event holds it.
    stages.write(stages.scrubbed(note, text="Mabelle"))

    assert found(settings) == {NOTES.name: {"altered": 1}}


def test_a_copy_of_an_output_doubles_it(stages, settings):
    stages.done(3)
    _first, second, _third = stages.read(NOTES_SCRUBBED.name)

    stages.put_back([second])

    wrong = found(settings)
    assert wrong[NOTES.name] == {"doubled": 1, "out_of_order": 1}


def test_outputs_that_are_put_back_unchanged_are_sound(stages, settings):
    stages.done(3)

    stages.put_back(stages.delete(NOTES_SCRUBBED.name))

    assert found(settings) == {}


def test_a_seal_of_another_key_is_not_believed_until_the_key_is_given(
    stages, settings, tmp_path
):
    stages.done(2)
    other = secrets.token_bytes(32)
    stages.seals = Seals(audit_key(other))
    stages.scrub(*stages.routed(1))
    stages.commit_all()
    keys = [audit_key(settings.pseudonym_key()), audit_key(other)]

    wrong = found(settings)

    assert wrong[PHI_AUDIT.name] == {"unknown_key": 2}
    assert wrong[NOTES_SCRUBBED.name] == {"unknown_key": 1}
    assert found(settings, keys=keys) == {}
    file = tmp_path / "other.key"
    file.write_bytes(other)
    file.chmod(0o600)
    options = [("--key-file", each) for each in (settings.pseudonym_key_file, file)]
    done = reconcile(settings, tmp_path, *(part for each in options for part in each))
    assert done.returncode == 0
    assert reconcile(settings, tmp_path).returncode == 1


@pytest.mark.parametrize("outcome", ["discarded", "held", "repeated"])
def test_an_audit_event_of_another_program_hides_no_missing_output(
    stages, settings, outcome
):
    [note] = stages.done(1)
    stages.delete(NOTES_SCRUBBED.name)
    audits = [
        each
        for each in stages.delete(PHI_AUDIT.name)
        if b'"scrubbed"' not in each.value
    ]
    stages.put_back(audits)
    stages.seals = Seals(audit_key(b"o" * 32))

    stages.write(stages.audit(note, outcome))

    wrong = found(settings)
    assert wrong[PHI_AUDIT.name] == {"unknown_key": 1}
    stages.delete(PHI_AUDIT.name)
    stages.put_back(audits)
    plain = stages.audit(note, outcome)
    stages.produce(plain.topic, plain.value, headers=plain.headers)
    assert found(settings)[PHI_AUDIT.name] == {"unsealed": 1}


def test_records_without_a_seal_are_not_believed(stages, settings):
    message = stages.message()
    for each in (stages.note(message), stages.audit(message, "routed", 1)):
        stages.produce(each.topic, each.value, key=each.key, headers=each.headers)
    stages.commit(HL7_RAW.name, 1)

    assert found(settings) == {
        HL7_RAW.name: {"missing": 1},
        NOTES.name: {"unsealed": 1},
        PHI_AUDIT.name: {"unsealed": 1},
    }


def test_audit_events_of_inputs_that_are_gone_are_not_judged(stages, settings):
    """After a rotation the events of a year have other seals."""
    other = secrets.token_bytes(32)
    own, stages.seals = stages.seals, Seals(audit_key(other))
    stages.done(2)
    for topic in (HL7_RAW, NOTES, NOTES_SCRUBBED):
        stages.delete(topic.name)
    plain = stages.audit(stages.routed(1)[0], "scrubbed", 1)
    stages.seals = own
    for topic in (HL7_RAW, NOTES):
        stages.delete(topic.name)
    stages.produce(PHI_AUDIT.name, plain.value, headers=plain.headers)
    stages.done(1)

    auditor = Auditor(settings)

    assert all(each.is_sound for each in auditor.verdicts())
    assert "6 audit events without a seal of a given key" in auditor.not_checked[0]


def test_an_update_of_intake_that_is_gone_is_missing(stages, settings):
    message = stages.message()
    stages.write(stages.update(message), stages.audit(message, "routed"))
    stages.commit_all()
    assert found(settings) == {}
    [update] = stages.delete(PATIENT_UPDATES.name)

    # A feeder may write to the topic, but not as intake.
    stages.put_back([update], value=b"{}")
    stages.commit_all()

    assert found(settings) == {HL7_RAW.name: {"missing": 1}}


def test_a_rebuilt_message_is_judged_by_its_seal(stages, settings):
    [note] = stages.routed(1)
    headers = {SOURCE: source_header(note), "format": b"hl7"}
    rebuilt = Output(HL7_SCRUBBED.name, b"k", b"MSH|", headers, source=note)
    stages.write(rebuilt, stages.audit(note, "scrubbed", 1))
    stages.commit_all()
    assert found(settings) == {}
    gone = stages.delete(HL7_SCRUBBED.name)

    stages.put_back(gone, value=b"MSH|^~\\&|SMITH")

    assert found(settings) == {
        NOTES.name: {"missing": 1},
        HL7_SCRUBBED.name: {"forged": 1},
    }


def test_a_note_that_was_replayed_is_an_input_and_replaces_no_output(stages, settings):
    [note] = stages.done(1)
    stages.delete(NOTES_SCRUBBED.name)
    stages.mark("dead.letters/0/0")

    replayed = stages.replayed("dead.letters/0/0", note)
    stages.scrub(replayed)
    stages.commit_all()

    assert found(settings) == {NOTES.name: {"missing": 1}}
    auditor = Auditor(settings)
    assert auditor.verdicts()[1].scrubbed == 1
    assert auditor.not_checked == ["1 records of notes are said to be replayed"]


def test_a_note_that_no_replay_has_written_or_two_notes_of_one_are_found(
    stages, settings
):
    [note] = stages.done(1)
    stages.mark("dead.letters/0/0")
    replays = [
        stages.replayed(letter, note)
        for letter in ("dead.letters/0/0", "dead.letters/0/0", "SMITH")
    ]
    stages.scrub(*replays)
    stages.commit_all()

    assert found(settings) == {NOTES.name: {"not_replayed": 2}}


def test_the_audit_event_of_a_replay_confirms_it_when_its_mark_is_gone(
    stages, settings
):
    [note] = stages.done(1)
    replay = stages.replayed("dead.letters/0/3", note)
    stages.scrub(replay)
    stages.commit_all()
    letter = Record(Partition(DEAD_LETTERS.name, 0), 3, None, None)
    stages.erased(letter, outcome="replayed")

    assert found(settings) == {}


# --- erasures, which have no seal


def letters_of(stages, count):
    notes = stages.routed(count)
    for note in notes:
        stages.write(*stages.letter(note))
    stages.commit_all()
    return notes


def test_a_dead_letter_that_was_erased_is_not_missing(stages, settings):
    gone, still_there = letters_of(stages, 2)
    gone_letter, *others = stages.delete(DEAD_LETTERS.name)
    stages.put_back(others)
    assert found(settings) == {NOTES.name: {"missing": 1}}

    for each in (gone, still_there):
        stages.erased(each)

    assert found(settings) == {}
    assert Auditor(settings).verdicts()[1].no_note == 2
    stages.put_back([gone_letter, gone_letter])
    assert found(settings) == {NOTES.name: {"doubled": 1}}


def test_a_forged_erasure_hides_no_missing_output(stages, settings):
    note, *_others = stages.done(2)
    stages.delete(NOTES_SCRUBBED.name)

    for each in (note, replace(note, partition=Partition(HL7_RAW.name, 0))):
        stages.erased(each)

    assert found(settings) == {NOTES.name: {"missing": 2}}


def test_a_forged_erasure_hides_no_doubled_output(stages, settings):
    [note] = stages.done(1)
    stages.put_back(stages.read(NOTES_SCRUBBED.name))

    stages.erased(note)

    assert found(settings) == {NOTES.name: {"doubled": 1}}


def test_a_forged_erasure_hides_no_altered_output(stages, settings):
    [note] = stages.done(1)
    stages.delete(NOTES_SCRUBBED.name)
    stages.write(stages.scrubbed(note, text="Mabelle"))

    stages.erased(note)

    assert found(settings) == {NOTES.name: {"altered": 1}}


def test_an_erasure_that_scrub_has_not_read_yet_moves_no_offsets(stages, settings):
    """It names updates and held notes that are pending."""
    stages.done(2)
    updates = [stages.produce(PATIENT_UPDATES.name, b"{}") for _ in range(2)]
    for each in updates:
        stages.erased(each)
    stages.erased(stages.routed(1)[0])
    stages.commit(HL7_RAW.name, 3)

    assert found(settings) == {}
    by_topic = {each.topic: each for each in Auditor(settings).verdicts()}
    assert by_topic[PATIENT_UPDATES.name].pending == 2
    assert by_topic[NOTES.name].pending == 1


ERASED = [NOTES_SCRUBBED, HL7_SCRUBBED, PHI_AUDIT]


def unknown(settings, topic):
    """Return how many seals of a topic an auditor with another key can't check."""
    wrong = found(settings, keys=[secrets.token_bytes(32)])
    return wrong.get(topic.name, {}).get("unknown_key", 0)


@pytest.mark.parametrize("topic", ERASED, ids=lambda topic: topic.name)
def test_a_null_value_of_a_sealed_erasure_is_taken_and_replaces_no_output(
    stages, settings, topic
):
    stages.done(2)
    before = unknown(settings, topic)
    null = stages.seals.sealed_alone(erased_rows(topic, "0" * 32))
    stages.produce(null.topic, None, key=null.key, headers=null.headers)

    auditor = Auditor(settings)
    assert all(each.is_sound for each in auditor.verdicts())
    said = "1 null values erase published records of patients"
    assert auditor.not_checked == [said]
    assert found(settings, keys=[]) == {}
    assert unknown(settings, topic) == (1 + before)
    stages.delete(NOTES_SCRUBBED.name)
    assert found(settings)[NOTES.name] == {"missing": 2}


@pytest.mark.parametrize("topic", ERASED, ids=lambda topic: topic.name)
def test_a_null_value_that_an_erasure_has_not_sealed_is_a_finding(
    stages, settings, topic
):
    stages.done(2)
    null = stages.seals.sealed_alone(erased_rows(topic, "0" * 32))
    bare = {name: raw for name, raw in null.headers.items() if name != "seal"}
    other = Seals(secrets.token_bytes(32)).sealed_alone(erased_rows(topic, "0" * 32))
    for key, headers in (
        (null.key, {}),  # of a tool that deletes by key
        (null.key, bare),
        (b"1" * 32, null.headers),  # of another patient
        (null.key, other.headers),
    ):
        stages.produce(topic.name, None, key=key, headers=headers)
    own = stages.read(NOTES_SCRUBBED.name)[0].headers
    stages.produce(topic.name, None, headers=own)

    wrong = {"null_value": 3, "forged": 1, "unknown_key": 1}
    assert found(settings) == {topic.name: wrong}
    assert found(settings, keys=[]) == {topic.name: {"null_value": 3}}


# --- keys


@pytest.mark.parametrize("is_altered", [False, True])
def test_a_held_note_may_be_released_under_the_next_key(stages, settings, is_altered):
    [note] = stages.routed(1)
    stages.hold(note)
    other = secrets.token_bytes(32)
    keys = [audit_key(settings.pseudonym_key()), audit_key(other)]
    stages.seals = Seals(keys[1])
    text = replace(note, value=note.value + b" ") if is_altered else note

    [released] = stages.release(text)
    stages.scrub(released)
    stages.commit_all()

    expected = {NOTES.name: {"altered": 1}} if is_altered else {}
    assert expected == found(settings, keys=keys)
    assert found(settings, keys=[]) == {}


def test_numbers_that_no_stage_writes_are_findings(stages, settings):
    [note] = stages.done(1)
    event = orjson.loads(stages.audit(note, "scrubbed", 1).value)
    for changes in (
        {"outputs": 2**31},
        {"outputs": 10**17},
        {"digests": {"key_id": "SMITH", "input": "0" * 32, "outputs": {}}},
    ):
        stages.produce(PHI_AUDIT.name, orjson.dumps(event | changes))
    most = orjson.dumps(event | {"outputs": 2**31 - 1})
    for _ in range(2):
        stages.produce(PHI_AUDIT.name, most)

    assert found(settings) == {PHI_AUDIT.name: {"malformed": 3, "unsealed": 2}}
    # They count without a key, and overflow nothing.
    assert found(settings, keys=[])[NOTES.name] == {"doubled": 1}


# --- inputs and offsets


def test_a_topic_that_was_created_again_is_found_by_its_records(stages, settings):
    stages.done(3)
    admin = admin_client(settings)
    admin.delete_topics([HL7_RAW.name])[HL7_RAW.name].result(30)

    def create():
        topic = NewTopic(HL7_RAW.name, settings.partitions)
        future = admin.create_topics([topic])[HL7_RAW.name]
        return future.exception(30) is None

    wait_until(create)
    wait_until(lambda: has_leaders(admin, HL7_RAW.name))
    for text in (b"MSH|new", b"MSH|1"):
        stages.produce(HL7_RAW.name, text)

    wrong = found(settings)

    # The third input of before is behind the end, the second is the same as before;
    # with the topic Kafka has deleted the offsets.
    assert wrong[HL7_RAW.name] == {"altered": 1, "offsets_gone": 1}


def test_an_offset_beyond_the_end_is_found(stages, settings):
    stages.done(3)

    stages.commit(HL7_RAW.name, 99)

    assert found(settings) == {HL7_RAW.name: {"offsets_ahead": 1}}


def test_a_group_that_was_set_back_is_found(stages, settings):
    stages.done(3)

    stages.commit(NOTES.name, 0)

    assert found(settings) == {NOTES.name: {"offsets_set_back": 1}}


def test_inputs_that_were_deleted_before_they_were_processed_are_found(
    stages, settings
):
    stages.done(3)
    for _ in range(4):
        stages.message()

    stages.delete(HL7_RAW.name)

    assert found(settings) == {HL7_RAW.name: {"deleted_unread": 1}}


def test_a_group_that_never_began_is_told_from_a_pending_one(
    stages, settings, tmp_path
):
    for _ in range(3):
        stages.message()

    auditor = Auditor(settings)
    raw = auditor.verdicts()[0]

    assert (raw.inputs, raw.uncommitted, raw.pending) == (3, 3, 0)
    assert raw.is_sound
    assert "without a committed offset" in " ".join(auditor.not_checked)
    assert reconcile(settings, tmp_path).returncode == 0
    assert reconcile(settings, tmp_path, "--drained").returncode == 1
    stages.commit(HL7_RAW.name, 0)
    raw = Auditor(settings).verdicts()[0]
    assert (raw.uncommitted, raw.pending) == (0, 3)


def test_what_retention_has_deleted_is_expired_and_not_missing(stages, settings):
    stages.now -= (NOTES_SCRUBBED.retention_days + 1) * 86_400_000
    stages.done(3)
    stages.now += (NOTES_SCRUBBED.retention_days + 1) * 86_400_000
    stages.scrub(*stages.routed(1))
    stages.commit_all()

    stages.delete(NOTES_SCRUBBED.name)

    auditor = Auditor(settings)
    notes = auditor.verdicts()[1]
    assert (notes.expired, notes.missing, notes.inputs) == (3, 1, 4)
    assert "retention has deleted what 3 records gave" in " ".join(auditor.not_checked)


def set_retention(settings, topic, ms):
    entry = ConfigEntry(
        "retention.ms", str(ms), incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(
        ResourceType.TOPIC, topic.name, incremental_configs=[entry]
    )
    admin = admin_client(settings)
    admin.incremental_alter_configs([resource])[resource].result(30)


def test_a_shorter_retention_of_another_topic_excuses_no_missing_note(stages, settings):
    stages.now -= 2 * HOUR
    stages.done(3)
    letters_of(stages, 1)
    stages.delete(DEAD_LETTERS.name)
    stages.delete(NOTES_SCRUBBED.name)

    set_retention(settings, DEAD_LETTERS, HOUR)
    wait_until(lambda: Auditor(settings).verdicts()[1].expired == 1)

    assert found(settings) == {NOTES.name: {"missing": 3}}


def test_an_input_without_an_event_is_expired_only_by_the_retention_of_events(
    stages, settings
):
    notes = stages.routed(3)
    stages.commit_all()
    stages.delete(PHI_AUDIT.name)
    stages.scrub(notes[1])
    for topic in (NOTES_SCRUBBED, DEAD_LETTERS, PATIENT_UPDATES):
        set_retention(settings, topic, 1)
    stages.delete(NOTES_SCRUBBED.name)
    wait_until(lambda: Auditor(settings).verdicts()[1].expired == 1)

    wrong = found(settings)

    assert wrong == {HL7_RAW.name: {"missing": 3}, NOTES.name: {"missing": 2}}
    set_retention(settings, PHI_AUDIT, 1)
    wait_until(lambda: Auditor(settings).verdicts()[0].expired == 3)
    assert found(settings) == {}


def test_outputs_show_what_was_processed_when_audit_events_and_offsets_are_gone(
    stages, settings
):
    stages.done(3)
    gone = stages.delete(NOTES_SCRUBBED.name)
    stages.delete(PHI_AUDIT.name)
    stages.put_back(gone[:2])
    delete_groups(settings)

    wrong = found(settings)

    assert wrong[HL7_RAW.name] == {"offsets_gone": 1, "missing": 3}
    assert wrong[NOTES.name] == {"offsets_gone": 1, "missing": 2}
    assert wrong[PHI_AUDIT.name] == {"audit_gone": 1}


def test_audit_events_that_were_deleted_before_their_time_are_a_finding(
    stages, settings
):
    """Even if nothing else is left that shows what was processed."""
    stages.write(stages.audit(stages.message(), "routed"))
    assert found(settings)[HL7_RAW.name] == {"offsets_gone": 1}

    stages.delete(PHI_AUDIT.name)

    assert found(settings) == {PHI_AUDIT.name: {"audit_gone": 1}}
    set_retention(settings, PHI_AUDIT, 1)
    wait_until(lambda: found(settings) == {})


def in_a_transaction(settings, *outputs):
    """Write outputs in a transaction, and return its producer; it is still open."""
    producer = Producer(settings.client(**{"transactional.id": secrets.token_hex(4)}))
    producer.init_transactions(30)
    producer.begin_transaction()
    for each in outputs:
        headers = dict(each.headers)
        producer.produce(each.topic, each.value, each.key, 0, headers=headers)
    producer.flush(30)
    return producer


def test_outputs_in_an_open_or_aborted_transaction_are_told_from_missing_ones(
    stages, settings
):
    settings = settings.model_copy(update={"transaction_seconds": 1})
    note, lost = stages.routed(2)
    output, audit = stages.seals.sealed(
        [stages.scrubbed(note), stages.audit(note, "scrubbed", 1)]
    )
    stages.write(stages.audit(lost, "scrubbed", 1))
    stages.produce(PHI_AUDIT.name, audit.value, key=audit.key, headers=audit.headers)
    stages.commit_all()
    producer = in_a_transaction(settings, output)

    *_, notes, _updates, scrubbed = Auditor(settings).verdicts()

    assert scrubbed.faults == {"open_transaction": 1}
    assert notes.missing == 2
    assert "notes[0]@1 missing" in notes.examples
    [said] = [each for each in notes.examples if each.startswith("notes[0]@0")]
    assert "the transaction of notes.scrubbed[0]@0 is open" in said

    producer.abort_transaction(30)
    verdicts = Auditor(settings).verdicts()

    assert {e.topic: e.missing for e in verdicts if e.missing} == {NOTES.name: 2}
    [said] = [e for e in verdicts[1].examples if e.startswith("notes[0]@0")]
    assert said.endswith("was aborted")
    assert all(not each.faults for each in verdicts)


def test_the_audit_event_of_an_aborted_or_compacted_input_is_a_finding(
    stages, settings
):
    stages.done(1)
    lost = stages.note(stages.message())
    producer = in_a_transaction(settings, *stages.seals.sealed([lost]))
    producer.abort_transaction(30)
    ghost = replace(stages.routed(1)[0], offset=1)
    stages.write(stages.audit(ghost, "held"))
    for topic, offset in ((NOTES, 2), (HL7_RAW, 1)):
        stages.commit(topic.name, offset)

    notes = Auditor(settings).verdicts()[1]

    assert notes.faults == {"no_input": 1}
    assert "aborted" in notes.examples[-1]
    compact = ConfigEntry(
        "cleanup.policy", "compact", incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(
        ResourceType.TOPIC, NOTES.name, incremental_configs=[compact]
    )
    admin = admin_client(settings)
    admin.incremental_alter_configs([resource])[resource].result(30)
    wait_until(lambda: "compacted" in Auditor(settings).verdicts()[1].examples[-1])


def test_the_audit_key_alone_verifies(stages, settings, tmp_path):
    stages.done(2)
    made = phistream(
        "key", tmp_path / "audit", "--for-audit", settings.pseudonym_key_file
    )

    done = reconcile(
        settings, tmp_path, "--key-file", tmp_path / "audit", "--json", "--drained"
    )

    assert (made.returncode, done.returncode) == (0, 0)
    assert json.loads(done.stdout)["not_checked"] == []
