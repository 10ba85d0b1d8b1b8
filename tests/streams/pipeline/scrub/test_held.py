"""Notes of patients of whom no name is known, with tables in memory."""

from __future__ import annotations

import struct

import orjson
import pytest

from deid_core import Deidentifier
from deid_core.policy import load_policy
from streams.engine.errors import CorruptState, FatalError, InvalidRecord
from streams.engine.keys.ring import PseudonymKeys
from streams.engine.observer import HeldProgress
from streams.engine.reasons import ReasonCode
from streams.engine.records import Partition, Record
from streams.kafka.partitioner import partition_of
from streams.kafka.topics import (
    DEAD_LETTERS,
    NOTES,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
)
from streams.model.held import HeldNote, prefix_of, row_key
from streams.model.notes import ClinicalNote
from streams.model.patients.demographics import (
    Demographics,
    Name,
    PatientId,
    PatientRecord,
)
from streams.model.patients.updates import HeldCommand, PatientUpdate
from streams.model.seals import Seal, Seals, audit_key
from streams.pipeline.scrub import held as held_module
from streams.pipeline.scrub.held import UnknownPatients
from streams.pipeline.scrub.outputs import ScrubOutputs
from streams.pipeline.scrub.processor import Scrub
from tests.office import OFFICE
from tests.tables import MemoryTable

PATIENT = PatientId("N", "4711-77")
OTHER = next(
    each
    for each in (PatientId("N", str(n)) for n in range(99))
    if partition_of(each.key, 2) == partition_of(PATIENT.key, 2)
)
"""Of the same partition."""
PLACE = partition_of(PATIENT.key, 2)
PARTITIONS = (0, 1)
POLICY = load_policy("safe-harbor")
WAIT = UnknownPatients("wait", {"OP": "hold", "DS": "scrub"}, 30.0)
MARKER = "Zzmarker"


class Blind:
    """A detector that finds nothing, and fails on a bad note."""

    name = "blind"
    reads_as_written = False

    def __call__(self, documents):
        if any("BAD" in each.text for each in documents):
            raise ZeroDivisionError
        return [[] for _ in documents]


class Loop:
    """Processes what is written to `notes` and `patient.updates`, as the engine does.

    Args:
        unknown: What is done with notes of unknown patients.
    """

    def __init__(self, unknown=WAIT):
        self.now = 10_000.0
        self.tables = {PATIENTS.name: MemoryTable(), NOTES_HELD.name: MemoryTable()}
        self.published = []
        self.offsets = {NOTES.name: 0, PATIENT_UPDATES.name: 0}
        self.to_read = []
        self.start(unknown)

    def start(self, unknown=WAIT):
        """Replace the worker by another that takes over its partitions."""
        self.scrub = Scrub(
            lambda: Deidentifier([Blind()], POLICY),
            self.tables[PATIENTS.name],
            self.tables[NOTES_HELD.name],
            unknown,
            ScrubOutputs(PseudonymKeys.of(b"k" * 32), preset="p", policy="safe-harbor"),
            len(PARTITIONS),
            office=OFFICE,
            max_bytes=10_000,
            clock=lambda: self.now,
        )
        self.scrub.settled(PARTITIONS)

    def note(self, name, *, note_type="", patient=PATIENT, headers=None):
        note = ClinicalNote(name, patient, note_type, "", f"{MARKER} {name}.")
        value = orjson.dumps(NOTES.schema.versioned(note.to_json()))
        return self.record(NOTES, patient.key, value, headers)

    def update(self, family="Quellwright", *, patient=PATIENT, command=None):
        names = (Name(family),) if family else ()
        record = PatientRecord(patient, "", Demographics(names=names))
        update = PatientUpdate(record, command=command)
        value = orjson.dumps(PATIENT_UPDATES.schema.versioned(update.to_json()))
        return self.record(PATIENT_UPDATES, patient.key, value)

    def command(self, **offsets):
        return self.update("", command=HeldCommand(**offsets))

    def record(self, topic, key, value, headers=None):
        offset = self.offsets[topic.name]
        self.offsets[topic.name] += 1
        place = Partition(topic.name, partition_of(key, len(PARTITIONS)))
        headers = {"received": b"0000000007000"} | (headers or {})
        return Record(place, offset, key, value, headers)

    def process(self, *records):
        """Process records in one transaction."""
        outputs = []
        for record, outcome in zip(records, self.scrub.process(records), strict=True):
            if isinstance(outcome, InvalidRecord):
                outcome = self.scrub.dead_letter(record, outcome)
            outputs += outcome
        return self.commit(outputs)

    def commit(self, outputs):
        after = {Partition(t, p): 99 for t in self.tables for p in PARTITIONS}
        self.scrub.committed(after)
        self.published += outputs
        for each in outputs:
            if each.topic == NOTES.name:
                again = self.record(NOTES, each.key, each.value, each.headers)
                self.to_read.append(again)
        return outputs

    def turn(self, seconds=0.0):
        """Let time go by; commit what is due, and process what was published again."""
        self.now += seconds
        due = [
            output for outputs in self.scrub.due({0, 1}).values() for output in outputs
        ]
        outputs = self.commit(due)
        to_read, self.to_read = self.to_read, []
        return outputs + (self.process(*to_read) if to_read else [])

    @property
    def audits(self):
        found = [each for each in self.published if each.topic == PHI_AUDIT.name]
        return [orjson.loads(each.value) for each in found]

    @property
    def scrubbed(self):
        found = [each for each in self.published if each.topic == NOTES_SCRUBBED.name]
        return [orjson.loads(each.value)["text"].split()[-1][:-1] for each in found]

    @property
    def rows(self):
        return self.tables[NOTES_HELD.name].rows[PLACE]


@pytest.fixture
def loop():
    return Loop()


def outcomes(loop):
    return [(each["outcome"], each.get("held", "")) for each in loop.audits]


def test_a_note_of_an_unknown_patient_is_held_in_the_transaction_of_its_offset(loop):
    row, audit = loop.process(loop.note("A"))

    assert (NOTES_HELD.name, PLACE) == (row.topic, row.partition)
    assert row_key(prefix_of(PATIENT.key), 0) == row.key
    assert struct.pack(">I", len(PATIENT.key)) == row.key[:4]
    held = HeldNote.decode(row.value)
    assert (
        held.policy,
        held.since_ms,
        held.until_ms,
    ) == ("wait", 10_000_000, 10_030_000)
    assert (loop.audits[0]["outcome"], loop.audits[0]["outputs"]) == ("held", 0)
    assert (audit.headers["outputs"], audit.headers["outcome"]) == (b"0", b"held")
    assert [each for each in loop.scrub.held() if each.notes] == [
        HeldProgress(PLACE, 1, 10_000_000, 10_030_000)
    ]


def test_without_the_policy_a_note_is_scrubbed_at_once():
    loop = Loop(UnknownPatients())

    loop.process(loop.note("A"))

    assert (loop.scrubbed, loop.rows) == (["A"], {})
    assert loop.audits[0]["join"] == "missing"


def test_a_note_whose_own_message_names_the_patient_is_not_held(loop):
    note = loop.note("A")
    value = orjson.loads(note.value) | {"demographics": {"names": [{"family": "Q"}]}}
    own = Record(note.partition, 0, note.key, orjson.dumps(value))

    loop.process(own)

    assert loop.scrubbed == ["A"]


def test_a_name_releases_the_note_with_its_source_and_time_of_arrival(loop):
    loop.process(loop.note("A"))
    loop.process(loop.update())

    again, *_ = loop.turn()

    assert again.headers == {
        "source": f"notes/{PLACE}/0".encode(),
        "schema": b"notes/1",
        "received": b"0000000007000",
        "held": b"0/demographics",
    }
    assert (PATIENT.key, None) == (again.key, again.partition)
    assert orjson.loads(loop.note("A").value) == orjson.loads(again.value)
    assert outcomes(loop) == [("held", ""), ("scrubbed", "demographics")]
    assert loop.audits[1]["join"] == "found"
    assert (loop.rows, loop.scrubbed) == ({}, ["A"])
    assert loop.turn(100) == []


def test_a_released_note_leaves_no_text_behind_until_it_is_processed(loop):
    loop.process(loop.note("A"))
    loop.process(loop.update())

    loop.commit(
        [each for outputs in loop.scrub.due({0, 1}).values() for each in outputs]
    )

    [value] = loop.rows.values()
    assert b"demographics" in value
    assert MARKER.encode() not in value


def test_an_update_without_a_name_releases_nothing(loop):
    loop.process(loop.note("A"))
    loop.process(loop.update(""))

    assert loop.turn() == []


def test_time_releases_a_note_that_waits_but_none_that_is_held(loop):
    loop.process(loop.note("A"), loop.note("B", note_type="OP"))

    assert loop.turn(29.9) == []
    loop.turn(0.2)

    assert outcomes(loop) == [("held", ""), ("held", ""), ("scrubbed", "time")]
    assert loop.scrubbed == ["A"]
    loop.process(loop.update())
    loop.turn()
    assert loop.scrubbed == ["A", "B"]


def test_the_policy_depends_on_the_type_and_policies_do_not_wait_for_each_other(loop):
    loop.process(
        loop.note("A"), loop.note("B", note_type="OP"), loop.note("C", note_type="DS")
    )
    loop.turn(31)

    assert loop.scrubbed == ["C", "A"]
    assert {
        each.headers.get("unknown_patient")
        for each in loop.published
        if each.topic == PHI_AUDIT.name
    } == {b"wait", b"hold", None}


def test_a_later_note_waits_behind_an_earlier_one_although_a_name_is_known(loop):
    loop.process(loop.note("A"))
    loop.process(loop.update(), loop.note("B"))

    loop.turn()

    assert loop.scrubbed == ["A", "B"]
    assert loop.rows == {}


def test_a_note_behind_a_released_one_is_published_again_at_once(loop):
    loop.process(loop.note("A"))
    loop.process(loop.update())
    loop.commit(
        [each for outputs in loop.scrub.due({0, 1}).values() for each in outputs]
    )

    again, row, audit = loop.process(loop.note("B"))

    assert (NOTES.name, b"2/demographics") == (again.topic, again.headers["held"])
    assert (NOTES_HELD.name, PHI_AUDIT.name) == (row.topic, audit.topic)
    loop.turn()
    assert (loop.scrubbed, loop.rows) == (["A", "B"], {})


def test_a_note_that_follows_a_released_one_in_one_batch_is_scrubbed(loop):
    loop.process(loop.note("A"))
    loop.process(loop.update())
    loop.commit(
        [each for outputs in loop.scrub.due({0, 1}).values() for each in outputs]
    )
    [again] = loop.to_read

    loop.process(again, loop.note("B"))

    assert (loop.scrubbed, loop.rows) == (["A", "B"], {})


def test_a_note_does_not_overtake_when_the_clock_goes_back(loop):
    loop.process(loop.note("A"))
    loop.now -= 3600
    loop.process(loop.note("B"))

    loop.turn(31)

    assert loop.scrubbed == ["A", "B"]


def test_patients_whose_keys_begin_alike_are_not_confused():
    loop = Loop()
    alike = PatientId("N", PATIENT.id + "0")
    loop.process(loop.note("A"), loop.note("B", patient=alike))
    loop.process(loop.update(patient=alike))

    loop.turn()

    assert loop.scrubbed == ["B"]


@pytest.mark.parametrize(
    "header",
    [b"0/demographics", b"0/operator", b"7/time", b"zz", b"", b"0/time\n"],
)
def test_a_header_without_a_released_row_is_not_believed(loop, header):
    loop.process(loop.note("A"))
    loop.process(loop.note("F", headers={"held": header}))

    assert outcomes(loop) == [("held", ""), ("held", "")]
    assert len(loop.rows) == 2


def test_a_released_note_is_believed_once(loop):
    loop.process(loop.note("A"))
    loop.process(loop.update())
    loop.commit(
        [each for outputs in loop.scrub.due({0, 1}).values() for each in outputs]
    )
    [again] = loop.to_read
    copy = loop.record(NOTES, again.key, again.value, again.headers)

    loop.process(again, copy)

    released = [each for each in outcomes(loop) if each[1]]
    assert len(released) == 1
    assert loop.rows == {}


@pytest.mark.parametrize("is_processed", [True, False])
def test_a_released_note_that_becomes_a_dead_letter_leaves_no_row(loop, is_processed):
    loop.process(loop.note("BAD"))
    loop.process(loop.update())
    loop.commit(
        [each for outputs in loop.scrub.due({0, 1}).values() for each in outputs]
    )
    [again], loop.to_read = loop.to_read, []

    if is_processed:
        outputs = loop.process(again)
    else:
        error = InvalidRecord(ReasonCode.POISON, "of the test")
        outputs = loop.commit(loop.scrub.dead_letter(again, error))

    assert [each.topic for each in outputs] == [
        DEAD_LETTERS.name,
        PHI_AUDIT.name,
        NOTES_HELD.name,
    ]
    assert loop.rows == {}


# --- transactions


def test_what_is_aborted_is_held_when_it_is_read_again(loop):
    note = loop.note("A")
    loop.scrub.process([note])
    loop.scrub.aborted()
    assert loop.scrub.due({0, 1}) == {}
    assert [each for each in loop.scrub.held() if each.notes] == []

    loop.process(note)
    loop.turn(31)

    assert (loop.scrubbed, loop.rows) == (["A"], {})


@pytest.mark.parametrize("seconds", [0, 31])
def test_a_release_that_is_aborted_is_repeated(loop, seconds):
    loop.process(loop.note("A"), loop.note("B"))
    if not seconds:
        loop.process(loop.update())
    loop.now += seconds
    first = loop.scrub.due({0, 1})
    loop.scrub.aborted()

    assert first == loop.scrub.due({0, 1})
    loop.scrub.aborted()
    loop.turn()

    assert loop.scrubbed == ["A", "B"]


def test_a_release_of_unknown_outcome_is_read_from_the_changelog(loop):
    loop.process(loop.note("A"))
    loop.process(loop.update())
    [outputs] = loop.scrub.due({0, 1}).values()
    loop.scrub.aborted()
    # It was committed, and the table has read it.
    row = next(each for each in outputs if each.topic == NOTES_HELD.name)
    loop.tables[NOTES_HELD.name].write(PLACE, {row.key: row.value}, 9)
    loop.scrub.reread()

    assert loop.scrub.due({0, 1}) == {}
    assert [each for each in loop.scrub.held() if each.notes] == []


def test_another_worker_releases_what_the_first_has_held(loop):
    loop.process(loop.note("A"), loop.note("B", note_type="OP"))
    loop.process(loop.note("C", patient=OTHER), loop.update(patient=OTHER))

    loop.start()
    loop.turn()
    assert loop.scrubbed == ["C"]
    loop.start()
    loop.turn(31)

    assert loop.scrubbed == ["C", "A"]


def test_a_revoked_partition_is_not_released_here(loop):
    loop.process(loop.note("A"))
    loop.scrub.revoked([PLACE])

    assert loop.turn(31) == []


def test_an_interrupted_call_leaves_nothing_behind(loop):
    loop.process(loop.note("A"))
    loop.scrub.process([loop.note("B")])
    loop.scrub.aborted()
    loop.scrub.rebuild()

    loop.turn(31)

    assert loop.scrubbed == ["A"]


def test_a_row_that_was_not_written_stops_the_worker(loop):
    loop.scrub.process([loop.note("A")])

    with pytest.raises(FatalError, match=r"notes\.held"):
        loop.scrub.committed({})


def test_a_damaged_table_of_patients_loses_no_held_note(loop, monkeypatch):
    """Its rows were not written after the commit: they are read from the changelog."""
    patients, held = loop.tables.values()

    def damaged(*_arguments):
        patients.is_damaged = True
        raise CorruptState("of the test")

    [[row, _audit]] = loop.scrub.process([loop.note("A")])
    loop.scrub.process([loop.update("", patient=OTHER)])
    with monkeypatch.context() as patch:
        patch.setattr(patients, "write", damaged)
        with pytest.raises(CorruptState):
            loop.commit([])
    loop.scrub.aborted()
    changelog = {row.key: row.value}
    monkeypatch.setattr(held, "open", lambda _all: held.write(PLACE, changelog, 9))

    assert loop.scrub.drop_state() == [*PARTITIONS]

    assert loop.scrub.due({0, 1}) == {}
    loop.scrub.settled(PARTITIONS)
    loop.turn(31)
    assert loop.scrubbed == ["A"]


def test_many_notes_are_released_a_part_at_a_time(loop, monkeypatch):
    monkeypatch.setattr(held_module, "RELEASED_AT_ONCE", 3)
    loop.process(*(loop.note(f"A{n}") for n in range(7)))
    loop.process(loop.update())

    sizes = []
    while outputs := loop.turn():
        sizes.append(sum(each.topic == NOTES_SCRUBBED.name for each in outputs))

    assert sizes == [3, 3, 1]
    assert [f"A{n}" for n in range(7)] == loop.scrubbed


def test_an_unreadable_row_is_ignored_and_says_nothing(loop, caplog):
    loop.rows[b"x"] = b"{}"
    loop.rows[row_key(prefix_of(PATIENT.key), 5)] = f'{{"{MARKER}": 1}}'.encode()
    loop.start()

    loop.process(loop.note("A"))
    loop.turn(31)

    assert loop.scrubbed == ["A"]
    assert "notes.held" in caplog.text
    assert MARKER not in caplog.text


# --- the operator


def test_an_operator_releases_some_notes_and_discards_others(loop):
    loop.process(*(loop.note(name, note_type="OP") for name in "ABC"))
    loop.process(loop.command(release=(1, 2), discard=(0,)))

    loop.turn()

    assert loop.scrubbed == ["B", "C"]
    discarded = next(each for each in loop.audits if each["outcome"] == "discarded")
    assert discarded["source"] == {"topic": "notes", "partition": PLACE, "offset": 0}
    assert loop.audits[0]["note_id"] == discarded["note_id"]
    assert (loop.rows, loop.tables[PATIENTS.name].rows[PLACE]) == ({}, {})
    assert loop.audits[-1]["held"] == "operator"


def test_what_is_released_or_discarded_has_the_digest_of_the_note_that_was_held(loop):
    seals = Seals(audit_key(b"k" * 32))
    notes = [loop.note(name, note_type="OP") for name in "AB"]
    loop.process(*notes)

    outputs = seals.sealed(loop.process(loop.command(release=(1,), discard=(0,))))

    inputs = {
        each.topic: Seal.read(each.headers["seal"]).input
        for each in outputs
        if each.topic in (NOTES.name, PHI_AUDIT.name)
    }
    held, released = map(seals.of_input, notes)
    assert inputs == {PHI_AUDIT.name: held, NOTES.name: released}


def test_no_command_lets_a_note_overtake_another_of_its_patient(loop):
    loop.process(loop.note("A", note_type="OP"), loop.note("B", note_type="OP"))

    assert loop.process(loop.command(release=(1,))) == []
    loop.process(loop.command(release=(0, 1)))
    loop.turn()

    assert loop.scrubbed == ["A", "B"]


def test_a_command_on_what_is_gone_does_nothing(loop):
    loop.process(loop.note("A"))
    loop.turn(31)

    assert loop.process(loop.command(release=(0, 7), discard=(0, 9))) == []
    assert loop.scrubbed == ["A"]


def test_an_update_may_carry_a_command(loop):
    loop.process(loop.note("A", note_type="OP"))
    loop.process(loop.update(command=HeldCommand(discard=(0,))))

    assert loop.rows == {}
    assert loop.tables[PATIENTS.name].rows[PLACE] != {}


def test_no_value_of_a_note_is_in_a_repr(loop):
    row, _ = loop.process(loop.note("A", note_type="OP"))

    loop.scrub.process([loop.note("B", note_type="OP")])
    [*parts] = loop.scrub._held._parts.values()
    assert any(part.patients for part in parts)
    shown = repr([HeldNote.decode(row.value), row, loop.command(), parts])
    assert MARKER not in shown
    assert PATIENT.id not in shown
