"""Which dead letters can be replayed, and where to; a broker is asked elsewhere."""

from __future__ import annotations

import re
from dataclasses import replace

import orjson
import pytest

from streams.engine.errors import InvalidRecord, RetriableError
from streams.engine.reasons import ReasonCode
from streams.engine.records import Partition, Record
from streams.kafka.client import MAX_MESSAGE_BYTES
from streams.kafka.topics import DEAD_LETTERS, HL7_RAW, NOTES, Stage
from streams.model.audit import dead_letter
from streams.model.outputs import erased_letter
from streams.products.office.dead_letters import (
    DeadLetters,
    Replay,
    Replayed,
    Selection,
    _again,
    is_replayed,
    to_replay,
)
from tests.office import OFFICE, PRIVATE

KEYS = {OFFICE.id: PRIVATE}
MESSAGE = b"MSH|^~\\&|ZZLAB|NORTH|||20260101||ADT^A01|1|P|2.5\r"


class Letters(DeadLetters):
    """Letters of the test, in partition 0."""

    def __init__(self, *records):
        self._found = [
            replace(each, partition=Partition(DEAD_LETTERS.name, 0), offset=n)
            for n, each in enumerate(records)
        ]
        self._counts = {topic.name: 4 for topic in (HL7_RAW, NOTES, DEAD_LETTERS)}

    def ranges(self, topic):
        return {0: (0, len(self._found))}

    def _records(self, topic, ranges):
        yield from self._found

    def replayable(self, marks=()):
        done = Replayed()
        selection = Selection()
        found = [*to_replay(self, dict(marks), KEYS, selection, done)]
        return found, done


def original(number=0, *, topic=NOTES, partition=1, key=b"k", value=b"v"):
    return Record(Partition(topic.name, partition), number, key, value, {}, 5)


def letter(record, code=ReasonCode.SCHEMA, at_ms=1):
    error = InvalidRecord(code, "why")
    output = dead_letter(Stage.SCRUB, record, error, 1, OFFICE)[0]
    place = Partition(DEAD_LETTERS.name, 0)
    return Record(place, 0, output.key, output.value, {}, at_ms)


def null_of(record):
    output = erased_letter(record.key, 0)
    return replace(record, value=output.value)


def test_only_a_null_value_behind_a_letter_hides_it():
    one, other = letter(original(1)), letter(original(2))

    found, _done = Letters(one, null_of(other), null_of(one), other).replayable()

    assert [each.source_offset for each, _original in found] == [2]


def test_a_mark_is_of_one_letter_alone_even_if_topics_are_made_anew():
    before, now = letter(original(), at_ms=1), letter(original(), at_ms=2)
    [(first, _original)], _done = Letters(before).replayable()
    marks = {first.place: first.identity}

    assert is_replayed(first, marks)
    assert Letters(before).replayable(marks)[1].before == 1
    assert len(Letters(now).replayable(marks)[0]) == 1


@pytest.mark.parametrize(
    ("record", "code", "why"),
    [
        (original(partition=4), ReasonCode.SCHEMA, "notes has no partition 4 any more"),
        (original(partition=2**40), ReasonCode.SCHEMA, "has no partition"),
        (
            original(value=bytes(MAX_MESSAGE_BYTES - 500), key=b"k" * 400),
            ReasonCode.SCHEMA,
            "too large|more than a client",
        ),
        (
            original(topic=HL7_RAW, value=b"ZZVALUE"),
            ReasonCode.WRONG_PARTITION,
            "feed --by-sender",
        ),
        (original(key=None), ReasonCode.WRONG_PARTITION, "can't be found"),
    ],
)
def test_a_letter_that_can_not_be_written_back_is_named_and_the_others_go(
    record, code, why
):
    good = letter(original(7))

    found, done = Letters(letter(record, code), good).replayable()

    assert [each.source_offset for each, _original in found] == [7]
    [(place, said)] = done.unreadable
    assert place == "dead.letters/0/0"
    assert re.search(why, said)
    assert "ZZ" not in said


def test_a_message_in_a_wrong_partition_goes_to_that_of_its_sender():
    """Where repeated messages are to be found: its own key may be any."""
    record = original(topic=HL7_RAW, key=b"any", value=MESSAGE)
    wrong = letter(record, ReasonCode.WRONG_PARTITION)
    [(found, opened)], _done = Letters(wrong).replayable()

    output = _again(found, opened)

    assert (
        output.partition,
        output.grouped_by,
        output.key,
    ) == (None, b"ZZLAB|NORTH", b"any")


class Refusing:
    """A producer whose broker refuses transactions that hold a value."""

    def __init__(self):
        self.open, self.written = [], []

    def begin(self):
        self.open = []

    def produce(self, output):
        self.open.append(output)

    def commit(self):
        if any(each.value == b"refused" for each in self.open):
            raise RetriableError("commit: MSG_SIZE_TOO_LARGE")
        self.written += self.open

    def abort(self):
        self.open = []


def test_a_letter_that_the_cluster_refuses_does_not_keep_the_others_back():
    values = (b"1", b"refused", b"3")
    letters = Letters(*(letter(original(n, value=v)) for n, v in enumerate(values)))
    replay = Replay.__new__(Replay)
    replay._keys, replay._actor, replay._clock = KEYS, "x", lambda: 1.0
    replay._letters, replay._marks = letters, {}
    replay._producer = producer = Refusing()

    done = replay.run(Selection())

    assert done.unreadable == [
        ("dead.letters/0/1", "the cluster refuses it: commit: MSG_SIZE_TOO_LARGE")
    ]
    assert done.counts.total() == 2
    returned = [e.value for e in producer.written if e.topic == NOTES.name]
    assert returned == [b"1", b"3"]
    marks = [e.key for e in producer.written if e.topic == "dead.letters.replayed"]
    assert marks == [b"dead.letters/0/0", b"dead.letters/0/2"]
    assert {
        orjson.loads(each.value)["written_ms"]
        for each in producer.written
        if each.topic == "dead.letters.replayed"
    } == {1}
