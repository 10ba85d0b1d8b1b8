"""Intake with a memory: what counts as repeated, and what it leaves in its table."""

from __future__ import annotations

import itertools

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.errors import CorruptState, FatalError, InvalidRecord
from streams.engine.keys.ring import PseudonymKey, PseudonymKeys
from streams.engine.reasons import ReasonCode
from streams.engine.records import Partition, Record
from streams.kafka.partitioner import partition_of
from streams.kafka.topics import (
    MESSAGES_SEEN,
    NOTES,
    PATIENT_UPDATES,
    PHI_AUDIT,
    TOPICS,
)
from streams.kafka.wire_format import InputFormat, header
from streams.pipeline.intake.deduplicating import DeduplicatingIntake
from streams.pipeline.intake.seen import (
    CLOCKS_DIFFER_MS,
    MAX_CONTENTS,
    SWEPT_AT_LEAST,
    Digests,
)
from tests.office import OFFICE
from tests.tables import MemoryTable

PARTITIONS = 4
WINDOW = 60_000
LONG_AFTER = WINDOW + CLOCKS_DIFFER_MS + 1_000
T0 = 1_741_946_400_000
KEY = b"0" * 32


def place_of(sender):
    return partition_of(sender.encode(), PARTITIONS)


class Loop:
    """Intake, a table, and records one after the other."""

    def __init__(self, window=WINDOW, keys=None, wire_format=None):
        self.table = MemoryTable()
        self.intake = DeduplicatingIntake(
            self.table,
            keys or PseudonymKeys.of(KEY),
            window_ms=window,
            partitions=PARTITIONS,
            max_bytes=100_000,
            office=OFFICE,
            rebuilds=False,
            wire_format=wire_format,
            clock=lambda: 1.5,
        )
        self.offsets = itertools.count()

    def record(self, value, *, at=0, sender="A|N", offset=None, partition=None):
        place = place_of(sender) if partition is None else partition
        at_offset = next(self.offsets) if offset is None else offset
        return Record(Partition("hl7.raw", place), at_offset, None, value, {}, T0 + at)

    def batch(self, *records, commit=True):
        """Process records in a transaction; return what the audit events say."""
        outcomes = self.intake.process(records)
        self.outputs = [
            output
            for each in outcomes
            if not isinstance(each, InvalidRecord)
            for output in each
        ]
        if commit:
            self.intake.committed(
                {Partition(MESSAGES_SEEN.name, p): 1 for p in range(PARTITIONS)}
            )
        else:
            self.intake.aborted()
        return [said(each) for each in outcomes]

    def send(self, value, **how):
        [found] = self.batch(self.record(value, **how))
        return found


def said(outcome):
    if isinstance(outcome, InvalidRecord):
        return str(outcome.code)
    [audit] = [o for o in outcome if o.topic == PHI_AUDIT.name]
    event = orjson.loads(audit.value)
    routed = event["routed"]
    notes = sum(o.topic == NOTES.name for o in outcome)
    updates = sum(o.topic == PATIENT_UPDATES.name for o in outcome)
    assert notes == routed["notes"] == event["outputs"]
    assert updates == routed["patients"]
    assert audit.headers.get("outcome") == (
        b"repeated" if event["outcome"] == "repeated" else None
    )
    return (
        event["outcome"],
        notes,
        routed.get("repeated", 0),
        routed.get("conflicts", 0),
    )


NEW = ("routed", 1, 0, 0)
REPEATED = ("repeated", 0, 1, 0)
CONFLICT = ("routed", 1, 0, 1)


def oru(control_id="M1", *, text="one", sender="A|N", mrn="1"):
    return (
        f"MSH|^~\\&|{sender}|B|C|20250101080100||ORU^R01|{control_id}|P|2.5\r"
        f"PID|1||{mrn}^^^N^MR||Alt^Ada\rOBR|1|||L^Lab\rOBX|1|TX|||{text}\r"
    ).encode()


@pytest.fixture
def loop():
    return Loop()


def test_a_message_that_is_sent_again_gives_only_an_audit_event(loop):
    assert loop.send(oru()) == NEW
    assert loop.send(oru(), at=WINDOW) == REPEATED

    assert {o.topic for o in loop.outputs} == {PHI_AUDIT.name, MESSAGES_SEEN.name}


def test_a_repetition_in_the_same_transaction_is_found(loop):
    first, second = loop.record(oru()), loop.record(oru())

    assert loop.batch(first, second) == [NEW, REPEATED]


def test_rows_of_an_aborted_transaction_are_not_believed(loop):
    record = loop.record(oru())

    assert loop.batch(record, commit=False) == [NEW]
    assert loop.batch(record) == [NEW]
    assert loop.send(oru()) == REPEATED


def test_a_group_that_was_set_back_gives_the_same_outcomes_again(loop):
    records = [loop.record(oru(), at=n) for n in range(3)]
    records.append(loop.record(oru(text="two"), at=4))
    outcomes = loop.batch(*records)

    assert outcomes == [NEW, REPEATED, REPEATED, CONFLICT]
    assert outcomes == loop.batch(*records)


def test_after_the_window_it_is_a_message_like_any_other(loop):
    loop.send(oru())

    assert loop.send(oru(), at=WINDOW + 1) == NEW


def test_a_repetition_begins_the_window_again(loop):
    loop.send(oru())
    loop.send(oru(), at=WINDOW)

    assert loop.send(oru(), at=2 * WINDOW) == REPEATED


def test_a_record_with_an_earlier_time_is_a_repetition_too(loop):
    loop.send(oru(), at=WINDOW)

    assert loop.send(oru(), at=0) == REPEATED
    assert loop.send(oru(), at=2 * WINDOW) == REPEATED


def test_other_content_under_the_control_id_is_processed_and_counted(loop):
    loop.send(oru())

    assert loop.send(oru(text="two")) == CONFLICT
    assert loop.send(oru()) == REPEATED
    assert loop.send(oru(text="two")) == REPEATED


def test_a_sender_that_uses_one_control_id_for_all_keeps_its_row_bounded(loop):
    for n in range(MAX_CONTENTS + 5):
        loop.send(oru(text=f"n{n}"), at=n)

    [value] = loop.table.rows[place_of("A|N")].values()
    assert len(orjson.loads(value)["seen"]) == MAX_CONTENTS
    assert loop.send(oru(text=f"n{MAX_CONTENTS + 4}")) == REPEATED
    assert loop.send(oru(text="n0")) == CONFLICT


@pytest.mark.parametrize("sender", ["A|M", "A^1|N", "A|N^1.2^ISO", "A|", "|N"])
def test_the_same_control_id_of_another_sender_is_another_message(loop, sender):
    loop.send(oru())
    value = oru().replace(b"|A|N|", f"|{sender}|".encode())

    assert loop.send(value, sender=sender) == NEW
    assert loop.send(value, sender=sender) == REPEATED


def test_messages_without_a_control_id_are_never_repetitions(loop):
    assert loop.send(oru("")) == NEW
    assert loop.send(oru("")) == NEW


def test_framing_and_line_ends_make_no_other_message(loop):
    loop.send(oru())

    assert loop.send(b"\x0b" + oru().replace(b"\r", b"\r\n") + b"\x1c\r") == REPEATED


def test_the_wire_format_makes_no_other_message():
    loop = Loop(wire_format=InputFormat(lambda _schema_id: True))
    loop.send(oru())

    assert loop.send(header(7) + oru()) == REPEATED


def test_json_notes_are_never_repetitions(loop):
    event = {
        "note_id": "N-1",
        "patient": {"assigning_authority": "N", "id": "1"},
        "text": "one",
    }

    for partition in (0, 1, 1):
        assert loop.send(orjson.dumps(event), partition=partition) == NEW


def test_each_message_of_a_batch_is_judged_alone(loop):
    loop.send(oru("M1"))
    batch = b"FHS|^~\\&|A|N\rBHS|^~\\&|A|N\r" + oru("M1") + oru("M2") + oru("M2")

    assert loop.send(batch) == ("routed", 1, 2, 0)
    assert loop.send(batch) == ("repeated", 0, 3, 0)


def test_a_message_of_a_batch_keeps_the_id_of_its_note(loop):
    """The place in the record is part of the id."""
    batch = oru("M1") + oru("M2", text="two")
    alone, other = Loop(), Loop()
    alone.send(batch)
    other.send(oru("M1"))
    other.send(batch)

    def ids(loop):
        return [
            orjson.loads(o.value)["note_id"]
            for o in loop.outputs
            if o.topic == NOTES.name
        ]

    assert ids(alone)[1:] == ids(other)


def test_a_dead_letter_is_not_seen_so_that_it_can_be_sent_again(loop):
    bad = oru("M1") + oru("M2").replace(b"PID|1||1^^^N^MR", b"PID|1||")

    assert loop.send(bad) == "no_patient"
    assert not any(loop.table.rows.values())
    assert loop.send(oru("M1")) == NEW


@pytest.mark.parametrize("sender", ["A|N", "LAB|S"])
def test_a_message_in_another_partition_than_its_senders_is_refused(loop, sender):
    value = oru().replace(b"|A|N|", f"|{sender}|".encode())
    found = [loop.send(value, partition=each) for each in range(PARTITIONS)]

    assert found.pop(place_of(sender)) == NEW
    assert found == ["wrong_partition"] * (PARTITIONS - 1)


def test_a_batch_of_senders_of_other_partitions_is_refused(loop):
    other = next(
        s for s in map("S{}|N".format, range(99)) if place_of(s) != place_of("A|N")
    )
    value = oru("M1") + oru("M2").replace(b"|A|N|", f"|{other}|".encode())

    assert loop.send(value) == ReasonCode.WRONG_PARTITION


def test_no_key_value_or_header_shows_a_sender_a_control_id_or_a_text(loop):
    loop.send(oru("ZZCONTROL", sender="ZZAPP|ZZFAC"), sender="ZZAPP|ZZFAC")

    [row] = [o for o in loop.outputs if o.topic == MESSAGES_SEEN.name]
    shown = repr((row.key, row.value, row.headers, row))
    assert "ZZ" not in shown
    assert len(row.key) == 16
    assert place_of("ZZAPP|ZZFAC") == row.partition


def test_every_row_keeps_its_schema(loop):
    for text in ("one", "two"):
        loop.send(oru(text=text))
        topics = {topic.name: topic for topic in TOPICS}
        for output in loop.outputs:
            topics[output.topic].schema.check_strictly(orjson.loads(output.value))


def test_digests_depend_on_the_key():
    one, other = Digests(KEY), Digests(b"1" * 32)

    assert one.of_content("x") != other.of_content("x")
    assert one.of_control_id(b"s", "1") != other.of_control_id(b"s", "1")
    assert one.of_control_id(b"s", "1") != one.of_control_id(b"s", "2")


@pytest.mark.parametrize(
    "value",
    [b"", b"{}", b'{"seen": 1}', b'{"seen": [{"content": "x"}]}', b"[]",
     b'{"seen":[{"content":"x","at_ms":"1","offset":1,"ordinal":0}]}'],
)  # fmt: skip
def test_an_unreadable_row_hides_no_message(loop, value, caplog):
    loop.send(oru())
    rows = loop.table.rows[place_of("A|N")]
    rows.update(dict.fromkeys(rows, value))

    assert loop.send(oru()) == NEW
    assert "messages.seen" in caplog.text
    assert loop.send(oru()) == REPEATED


def test_rows_older_than_the_window_are_deleted_with_later_messages(loop):
    for n in range(50):
        loop.send(oru(f"M{n}"), at=n)
    rows = loop.table.rows[place_of("A|N")]
    assert len(rows) == 50

    for n in range(10):
        loop.send(oru(f"L{n}"), at=LONG_AFTER + n)

    assert len(rows) == 10
    assert loop.send(oru("L3"), at=LONG_AFTER + 50) == REPEATED


def test_deletions_are_bounded_in_a_batch(loop):
    for n in range(200):
        loop.send(oru(f"M{n}"), at=n)
    loop.table.scanned.clear()

    loop.send(oru("L"), at=LONG_AFTER)

    deleted = [o for o in loop.outputs if o.value is None]
    assert SWEPT_AT_LEAST <= len(deleted) <= SWEPT_AT_LEAST + 2
    assert len(loop.table.scanned) <= SWEPT_AT_LEAST + 2


def test_batches_of_many_messages_delete_as_many(loop):
    for hour in range(20):
        batch = b"".join(oru(f"M{hour}-{n}") for n in range(100))
        loop.send(batch, at=hour * LONG_AFTER)

    assert len(loop.table.rows[place_of("A|N")]) <= 200


def test_a_row_that_the_batch_changes_is_not_deleted(loop):
    loop.send(oru())

    assert loop.send(oru(), at=2 * WINDOW) == NEW
    assert loop.send(oru(), at=2 * WINDOW) == REPEATED


def test_one_record_of_the_past_or_far_ahead_deletes_no_recent_row(loop):
    loop.send(oru("M1"), at=0)
    late, usual = loop.record(oru("M2"), at=50 * WINDOW), loop.record(oru("M3"), at=1)
    loop.batch(late, usual)
    loop.send(oru("M4"), at=-50 * WINDOW)

    assert loop.send(oru("M1"), at=2) == REPEATED


@pytest.mark.parametrize("at", [-T0, -T0 - 1, -LONG_AFTER])
def test_a_sender_without_times_or_with_old_ones_keeps_no_row_of_others(loop, at):
    """And nothing is deleted within the window of the others."""
    step, count = WINDOW // 5, 1000
    for n in range(count):
        usual = loop.record(oru(f"M{n}"), at=n * step)
        loop.batch(loop.record(oru(f"O{n}"), at=at), usual)

    rows = loop.table.rows[place_of("A|N")]
    assert len(rows) <= 2 * (LONG_AFTER // step)
    assert loop.send(oru(f"M{count - 5}"), at=count * step) == REPEATED


def test_a_record_an_hour_ahead_has_no_row_within_the_window_deleted(loop):
    loop.send(oru("M1"), at=0)
    for n in range(50):
        loop.send(oru(f"F{n}"), at=WINDOW + CLOCKS_DIFFER_MS)

    assert loop.send(oru("M1"), at=WINDOW) == REPEATED


def test_damage_undoes_the_batch_and_is_no_dead_letter(loop):
    loop.table.trouble = CorruptState("table: damaged")

    with pytest.raises(CorruptState):
        loop.send(oru())


def test_a_changed_row_without_its_record_stops_the_stage(loop):
    loop.intake.process([loop.record(oru())])

    with pytest.raises(FatalError):
        loop.intake.committed({})


SENT = st.lists(
    st.tuples(
        st.sampled_from(["M1", "M2"]),
        st.sampled_from(["one", "two"]),
        st.integers(0, 3 * WINDOW),
        st.booleans(),
    ),
    max_size=30,
)


@given(SENT, st.lists(st.booleans(), min_size=30, max_size=30))
def test_batches_and_aborts_change_no_outcome(sent, commits):
    """Whatever the transactions, outcomes are those of one record after the other."""
    sent = sorted(sent, key=lambda each: each[2])
    plain, batched = Loop(), Loop()
    expected = [
        plain.send(oru(control_id, text=text), at=at)
        for control_id, text, at, _ends in sent
    ]
    found, batch = [], []
    for (control_id, text, at, ends), commits_first in zip(sent, commits, strict=False):
        batch.append(batched.record(oru(control_id, text=text), at=at))
        if ends:
            if not commits_first:
                batched.batch(*batch, commit=False)
            found += batched.batch(*batch)
            batch = []
    found += batched.batch(*batch)

    assert expected == found


# --- keys that are changed


def rotated(at):
    """Return two keys, the second in force from a moment on."""
    return PseudonymKeys([PseudonymKey(KEY), PseudonymKey(b"n" * 32, T0 + at)])


@pytest.mark.parametrize("order", [(0, 60), (60, 0)], ids=["later", "earlier"])
def test_a_repetition_is_found_on_both_sides_of_a_rotation(order):
    """The first copy has one key, the second the other, whichever comes first."""
    loop = Loop(keys=rotated(30))
    first, second = order

    assert loop.send(oru("M1"), at=first) == NEW
    assert loop.send(oru("M1"), at=second) == REPEATED
    assert loop.send(oru("M1"), at=second + 1) == REPEATED
    assert loop.send(oru("M2"), at=second) == NEW


def test_another_content_is_a_conflict_on_both_sides_of_a_rotation():
    loop = Loop(keys=rotated(30))
    loop.send(oru("M1", text="one"), at=0)

    assert loop.send(oru("M1", text="two"), at=60) == ("routed", 1, 0, 1)


def test_rows_of_two_keys_share_no_byte():
    loop = Loop(keys=rotated(30))
    loop.send(oru("M1"), at=0)
    loop.send(oru("M1"), at=60)

    [old, new] = loop.table.rows[place_of("A|N")].items()
    contents = [orjson.loads(value)["seen"][0]["content"] for _key, value in (old, new)]
    assert old[0] != new[0]
    assert contents[0] != contents[1]
