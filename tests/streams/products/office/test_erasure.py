"""Which dead letters name a patient, and for how long topics keep them."""

from __future__ import annotations

from collections import Counter

import orjson

from streams.engine.records import Partition, Record
from streams.kafka.topics import (
    DAY_MS,
    DEAD_LETTERS,
    NOTES,
    PATIENTS,
    PHI_AUDIT,
    Stage,
)
from streams.model.audit import AuditEvent
from streams.model.patients.demographics import PatientId
from streams.products.office import erasure
from streams.products.office.erasure import Erased, Erasure, Found, Kept, kept_by

LONG = PatientId("NORTH", "770011")
RECEIVED = 1_795_000_000_000


class Topics(Erasure):
    """An erasure that reads records of the test."""

    def __init__(self, letters, sources, *patients):
        self._patients = {each.key: each for each in patients}
        self._counts = {NOTES.name: 2}
        self._published = None
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
        self.headers = lambda: list(record.headers.items())
        self.timestamp = lambda: (1, record.timestamp_ms)
        self.error = lambda: None
        self.leader_epoch = lambda: record.leader_epoch


def letter(offset, *, key=None, value=True):
    body = {
        "source": {"topic": NOTES.name, "partition": 1, "offset": offset},
        "sealed": {"ciphertext": "AAAA"},
    }
    own = f"{NOTES.name}/1/{offset}/0".encode()
    place = Partition(DEAD_LETTERS.name, 0)
    content = orjson.dumps(body) if value else None
    headers = {"received": b"%d" % RECEIVED}
    return Record(place, offset, own if key is None else key, content, headers)


def source(offset, text, at=0):
    headers = {"received": b"%d" % RECEIVED}
    return Record(Partition(NOTES.name, 1), offset, b"k", text, headers, at)


def test_letters_are_attributed_by_the_source_of_their_original():
    topics = Topics(
        [
            letter(3),
            letter(4),
            letter(5),  # its source is gone
            letter(6, key=b"shared"),  # of another program
            letter(7),
            letter(7, value=False),  # erased already
        ],
        [
            source(3, b"PID|1||770011^^^NORTH"),
            source(4, b"PID|1||990022^^^NORTH"),
            source(6, b"PID|1||770011^^^NORTH"),
            source(7, b"PID|1||770011^^^NORTH"),
        ],
        LONG,
    )

    letters, unjudged = topics._letters()

    assert [each.source for each in letters] == [(NOTES.name, 1, 3)]
    assert unjudged == 2


def test_a_letter_of_a_topic_that_was_made_anew_is_not_that_of_the_record_there_now():
    """It has the place of the original, and came at another time."""
    other = source(3, b"PID|1||770011^^^NORTH", at=1)
    now = letter(3, key=b"notes/1/3/1")

    letters, unjudged = Topics([letter(3), now], [other], LONG)._letters()

    assert [each.key for each in letters] == [now.key]
    assert unjudged == 1


def test_what_a_short_identifier_cannot_judge_is_not_done():
    short = PatientId("", "77")
    unclear = source(1, b"<id extension='77'/>")

    letters, unjudged = Topics([letter(1)], [unclear], short)._letters()

    assert (letters, unjudged) == ([], 1)
    left = Found(
        identifiers=1, rows=(), held=(), letters=(), unjudged=unjudged,
        updates=(), unread=0, raw={},
    )  # fmt: skip
    assert not Erased(Counter(), left, is_carried_out=True).is_done
    assert not left.is_unknown


def test_what_is_no_letter_can_not_be_judged():
    broken = Record(Partition(DEAD_LETTERS.name, 0), 1, b"k", b"{")

    assert Topics([broken], [], LONG)._letters() == ([], 1)


def test_audit_events_of_an_erasure_say_when_the_original_came():
    """As those of its processing do."""
    topics = Topics([letter(1)], [source(1, b"PID|1||770011^^^NORTH")], LONG)
    [found], _ = topics._letters()
    everything = Found(
        identifiers=1,
        rows=(("patients", 0, 7),),
        held=(),
        letters=(found,),
        unjudged=0,
        updates=(),
        unread=0,
        raw={},
        received={found.source: found.received},
    )
    event = AuditEvent(stage=Stage.SCRUB, outcome="erased", at_ms=1)

    outputs = list(topics._outputs(everything, event))

    events = {e.headers["source"]: e for e in outputs if e.topic == PHI_AUDIT.name}
    event = events[b"notes/1/1"]
    assert event.headers["received"] == b"%d" % RECEIVED
    assert event.headers["outcome"] == b"erased"


class Admin:
    def describe_configs(self, resources):
        return {}


def test_topics_keep_records_until_their_segment_goes(monkeypatch):
    monkeypatch.setattr(erasure, "admin_client", lambda _settings: Admin())

    kept = kept_by(None, [NOTES, PATIENTS, DEAD_LETTERS])

    assert kept == {
        NOTES.name: Kept(8 * DAY_MS, None),
        PATIENTS.name: Kept(None, DAY_MS),
        DEAD_LETTERS.name: Kept(8 * DAY_MS, DAY_MS),
    }
