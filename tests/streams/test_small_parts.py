"""Outputs, pseudonyms and logs: what leaves the house shows no value."""

from __future__ import annotations

import base64
import logging
import sys
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

import schemas
from streams.engine.errors import FatalError, InvalidRecord
from streams.engine.log import JsonLines
from streams.engine.reasons import ReasonCode
from streams.engine.records import Output, Partition, Record
from streams.kafka.topics import ALL_TOPICS, DEAD_LETTERS, NOTES_SCRUBBED, Stage
from streams.model.audit import AuditEvent, dead_letter
from streams.model.outputs import encoded, erased_letter
from streams.pipeline.publish import Pseudonyms
from tests.office import OFFICE, in_base64, original_of

RECORD = Record(Partition("hl7.raw", 2), 9, b"ZZKEY", b"ZZVALUE", {"h": b"ZZHEAD"}, 5)


def test_an_output_that_breaks_its_schema_is_our_bug_and_stops():
    with pytest.raises(FatalError, match="breaks its schema") as caught:
        encoded(NOTES_SCRUBBED, b"k", {"text": "ZZVALUE"}, RECORD)

    assert "ZZVALUE" not in str(caught.value)


def test_a_dead_letter_holds_the_record_byte_for_byte():
    error = InvalidRecord(ReasonCode.NO_PATIENT, "PID-3: why")

    letter, _audit = dead_letter(Stage.INTAKE, RECORD, error, 1, OFFICE)

    assert original_of(letter.value) == RECORD
    assert letter.key == b"hl7.raw/2/9/5"
    clear = (letter.key, letter.value, str(letter.headers).encode())
    values = (b"ZZKEY", b"ZZVALUE", b"ZZHEAD")
    # The value is a ciphertext in base64: two or three letters would be met by chance.
    hidden = [each for value in values for each in (value, *in_base64(value))]
    assert not [each for each in hidden if each in b" ".join(clear)]
    others = [base64.b64encode(b"?" * n + b"ZZVALUE?") for n in range(3)]
    assert all(map(bytes.__contains__, others, in_base64(b"ZZVALUE")))


def test_each_dead_letter_has_a_key_of_its_own_by_which_it_can_be_erased():
    """The topic is compacted: a key that two letters share would delete one of them."""
    error = InvalidRecord(ReasonCode.NO_PATIENT, "PID-3: why")
    records = [replace(RECORD, offset=n, key=b"ZZKEY") for n in (9, 10)]
    # The topic was deleted and made again: another record at the same position.
    records.append(replace(records[0], timestamp_ms=6))

    letters = [dead_letter(Stage.INTAKE, each, error, 1, OFFICE)[0] for each in records]

    keys = [b"hl7.raw/2/9/5", b"hl7.raw/2/10/5", b"hl7.raw/2/9/6"]
    assert keys == [each.key for each in letters]
    # Letters of a partition stay in the order of their originals.
    assert {each.grouped_by for each in letters} == {b"hl7.raw/2"}
    erased = [erased_letter(each, 7) for each in keys]
    assert keys == [each.key for each in erased]
    assert {(each.partition, each.value) for each in erased} == {(7, None)}
    assert DEAD_LETTERS.config()["cleanup.policy"] == "compact,delete"


def test_headers_and_keys_of_audit_events_show_positions_and_a_time_alone():
    event = AuditEvent(
        stage=Stage.INTAKE, outputs=1, outcome="dead_letter", code="c", at_ms=1
    ).output(RECORD)

    assert event.key == b"hl7.raw/2/9"
    assert event.headers == {
        "source": b"hl7.raw/2/9",
        "schema": b"phi.audit/1",
        "outputs": b"1",
        "received": b"0000000000005",
    }


def test_what_subscribers_get_has_no_time_and_restricted_topics_have():
    example = Path(schemas.__file__).parent / "notes.scrubbed/examples/valid"
    value = orjson.loads((example / "nothing_found.json").read_bytes())

    scrubbed = encoded(NOTES_SCRUBBED, b"k", value, RECORD)
    error = InvalidRecord(ReasonCode.NO_PATIENT, "PID-3: why")
    letter, _audit = dead_letter(Stage.INTAKE, RECORD, error, 1, OFFICE)

    assert ({"source", "schema"}, True) == ({*scrubbed.headers}, scrubbed.timeless)
    assert ("received" in letter.headers, letter.timeless) == (True, False)
    assert NOTES_SCRUBBED.config()["message.timestamp.type"] == "CreateTime"
    # All that is for subscribers is timeless; the others' readers may know when.
    published = {"notes.scrubbed", "hl7.scrubbed"}
    assert published == {t.name for t in ALL_TOPICS if t.timeless}
    assert published == {t.name for t in ALL_TOPICS if "subscribers" in t.readers}


def test_records_and_outputs_hide_their_values():
    shown = repr(RECORD) + str(RECORD) + repr(Output("t", b"ZZKEY", b"ZZVALUE"))

    assert "ZZ" not in shown
    assert str(RECORD) == "hl7.raw[2]@9"


def test_pseudonyms_are_stable_keyed_and_of_one_kind():
    one, other = Pseudonyms(b"k" * 32), Pseudonyms(b"j" * 32)

    assert one.patient(b"A|1") == Pseudonyms(b"k" * 32).patient(b"A|1")
    assert one.patient(b"A|1") != other.patient(b"A|1")
    assert one.patient(b"A|1") != one.patient(b"A|2")
    assert one.note(b"A|1", "n") != one.note(b"A|2", "n")
    assert one.key_id != other.key_id
    assert "k" * 32 not in repr(one)


def test_a_logged_exception_shows_places_and_no_text():
    try:
        int("ZZVALUE")
    except ValueError:
        info = sys.exc_info()
    record = logging.LogRecord("x", logging.ERROR, "f", 1, "what", (), info)

    line = orjson.loads(JsonLines().format(record))

    assert line["exception"] == "ValueError"
    assert "test_small_parts.py" in line["places"]
    assert "ZZVALUE" not in str(line)


def test_every_topic_says_who_may_read_it():
    assert all(topic.readers and topic.key and topic.value_form for topic in ALL_TOPICS)
    free = {
        "notes.scrubbed",
        "hl7.scrubbed",
        "messages.seen",
        "phi.audit",
        "dead.letters.replayed",
        "watch.audit",
        "watch.dead",
    }
    assert free == {topic.name for topic in ALL_TOPICS if not topic.phi}
