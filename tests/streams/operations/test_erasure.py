"""Which records name a patient, and for how long topics keep them."""

from __future__ import annotations

import base64

import orjson
import pytest

from streams.cluster.topics import DAY_MS, DEAD_LETTERS, NOTES, PATIENTS
from streams.engine.records import Partition, Record
from streams.operations import erasure
from streams.operations.erasure import Erasure, kept_ms, names
from streams.patients.demographics import PatientId

LONG, SHORT = PatientId("NORTH", "770011"), PatientId("NORTH", "77")


@pytest.mark.parametrize(
    "content",
    [
        b"PID|1||770011^^^NORTH^MR",
        b'{"patient": {"assigning_authority": "NORTH", "id": "770011"}}',
        b"PID|1||770011^^^SOUTH^MR",
        b"NORTH|770011\0null",
        "PID|1||770011".encode("utf-16-le"),
        "PID|1||770011".encode("utf-16-be"),
    ],
)
def test_a_record_with_the_identifier_as_a_word_names_the_patient(content):
    assert names(content, LONG)


@pytest.mark.parametrize(
    "content", [b"PID|1||1770011^^^NORTH", b"order 7700112", b"", b"\0"]
)
def test_a_part_of_a_longer_number_does_not(content):
    assert not names(content, LONG)


def test_a_short_identifier_counts_with_its_authority_or_as_the_key():
    assert names(b"PID|1||77^^^NORTH^MR", SHORT)
    assert not names(b"OBX|1|NM|77|mmHg", SHORT)
    assert not names(b"OBX|1|NM|77|mmHg", PatientId("", "77"))
    assert names(b"|77\0text", PatientId("", "77"))


class Topics(Erasure):
    """An erasure that reads records of the test."""

    def __init__(self, letters, sources, *patients):
        self._patients = {each.key: each for each in patients}
        self._read = {DEAD_LETTERS.name: letters, NOTES.name: sources}

    def _all(self, topic, partitions=None):
        return {p: (0, 100) for p in partitions or ()}

    def _messages(self, topic, ranges):
        for record in self._read.get(topic.name, ()):
            yield Message(record)


class Message:
    def __init__(self, record):
        self._record = record
        self.topic = lambda: record.partition.topic
        self.partition = lambda: record.partition.index
        self.offset = lambda: record.offset
        self.key = lambda: record.key
        self.value = lambda: record.value
        self.headers = list
        self.timestamp = lambda: (1, 0)
        self.error = lambda: None


def letter(offset, *, original=None, key=None, value=True):
    body = {"source": {"topic": NOTES.name, "partition": 1, "offset": offset}}
    if original is None:
        body["sealed"] = {"ciphertext": "AAAA"}
    else:
        raw = base64.b64encode(original).decode()
        body["original"] = {"key": None, "value": raw}
    own = f"{NOTES.name}/1/{offset}/0".encode()
    place = Partition(DEAD_LETTERS.name, 0)
    content = orjson.dumps(body) if value else None
    return Record(place, offset, own if key is None else key, content)


def source(offset, text):
    return Record(Partition(NOTES.name, 1), offset, b"k", text)


def test_letters_are_attributed_by_their_original_or_by_its_source():
    topics = Topics(
        [
            letter(1, original=b"PID|1||770011^^^NORTH"),
            letter(2, original=b"PID|1||990022^^^NORTH"),
            letter(3),
            letter(4),
            letter(5),  # its source is gone
            letter(6, original=b"PID|1||770011^^^NORTH", key=b"shared"),
            letter(7, original=b"PID|1||770011^^^NORTH"),
            letter(7, value=False),  # erased already
        ],
        [source(3, b"PID|1||770011^^^NORTH"), source(4, b"PID|1||990022^^^NORTH")],
        LONG,
    )

    places, stuck, sealed = topics._letters()

    assert [(NOTES.name, 1, 1), (NOTES.name, 1, 3)] == [e.source for e in places]
    assert (1, 1) == (stuck, sealed)


def test_a_letter_of_a_topic_that_was_made_anew_is_not_that_of_the_record_there_now():
    before, now = b"notes/1/3/999", b"notes/1/3/0"
    topics = Topics(
        [letter(3, key=before), letter(3, key=now)],
        [source(3, b"PID|1||770011^^^NORTH")],
        LONG,
    )

    letters, stuck, sealed = topics._letters()

    assert [now] == [each.key for each in letters]
    assert (0, 1) == (stuck, sealed)


def test_what_is_no_letter_is_passed_over():
    broken = Record(Partition(DEAD_LETTERS.name, 0), 1, b"k", b"{")

    assert ([], 0, 0) == Topics([broken], [], LONG)._letters()


class Admin:
    def describe_configs(self, resources):
        return {}


def test_topics_keep_records_until_their_segment_goes(monkeypatch):
    monkeypatch.setattr(erasure, "admin_client", lambda _settings: Admin())

    kept = kept_ms(None, [NOTES, PATIENTS, DEAD_LETTERS])

    assert {
        NOTES.name: 8 * DAY_MS,
        PATIENTS.name: DAY_MS,
        DEAD_LETTERS.name: DAY_MS,
    } == kept
