"""The wire format: five bytes before JSON that is written, and taken off again."""

import struct

import orjson
import pytest
from confluent_kafka import Message
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.errors import InvalidRecord, RegistryUnreachable
from streams.engine.records import Output, Partition, Record
from streams.kafka.client import record_of, value_of
from streams.kafka.topics import (
    DEAD_LETTERS,
    FRAMED,
    HL7_RAW,
    HL7_SCRUBBED,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
    TOPICS,
)
from streams.kafka.wire_format import (
    FRAMED_NAMES,
    InputFormat,
    WireFormat,
    header,
    split,
    without_header,
)
from streams.model.outputs import SOURCE
from streams.model.seals import SEAL, Seals, audit_key
from streams.operations.counts.counters import UNREADABLE, counts_of
from streams.operations.doctor.values import broken_rule
from streams.operations.reconcile.marks import Marks, Untrusted
from streams.operations.reconcile.verdict import Fault
from streams.pipeline.intake.processor import Intake
from tests.office import OFFICE

JSON = b'{"a":1}'
HEADER = b"\0\0\0\0\7"
MSH = b"MSH|^~\\&|LAB|NORTH|PHI|X|20250107||ADT^A04|C1|P|2.5.1\rPID|1||77^^^NORTH^MR"
OFF = InputFormat()
KNOWING = InputFormat(lambda schema_id: schema_id == 7)
BROKEN = [b"\0", b"\0\0\0\0", b"\0\0\0\0\7", b"\0\0\0\0\0" + JSON]
BROKEN_NAMES = ["first byte", "cut header", "nothing follows", "id 0"]


def test_the_header_is_a_zero_byte_and_four_bytes_big_endian():
    assert header(0x01020304) == b"\0\x01\x02\x03\x04"
    assert header(2**32 - 1) == b"\0\xff\xff\xff\xff"


@pytest.mark.parametrize("wrong", [0, -1, 2**32])
def test_an_id_that_no_registry_gives_has_no_header(wrong):
    with pytest.raises(ValueError, match="1 to 4294967295"):
        header(wrong)


@given(st.integers(1, 2**32 - 1), st.binary(max_size=20))
def test_what_gets_a_header_is_read_without_it(number, rest):
    value = b"{" + rest
    topic = NOTES_SCRUBBED.name
    framed = WireFormat({topic: number}).value_of(Output(topic, b"k", value))

    assert struct.unpack_from(">BI", framed) == (0, number)
    assert split(framed) == (number, value)
    assert split(value) == (None, value)
    assert value == without_header(topic, framed) == without_header(topic, value)
    assert value == InputFormat(lambda each: each == number).accepted(framed, "hl7.raw")


def test_only_json_of_topics_with_an_id_gets_a_header():
    wire_format = WireFormat(dict.fromkeys(FRAMED_NAMES, 7))

    for topic in FRAMED:
        assert wire_format.value_of(Output(topic.name, b"k", JSON)) == HEADER + JSON
    for value in (MSH, b"\xef\xbb\xbfMSH|", b"<ClinicalDocument/>", None, b""):
        output = Output(HL7_SCRUBBED.name, b"k", value)
        assert value == wire_format.value_of(output)
    assert wire_format.value_of(Output(NOTES.name, b"k", JSON)) == JSON
    assert WireFormat({}).value_of(Output(PHI_AUDIT.name, b"k", JSON)) == JSON


def test_the_topics_with_the_wire_format_are_those_for_subscribers():
    assert FRAMED == (NOTES_SCRUBBED, HL7_SCRUBBED, PHI_AUDIT)
    assert {topic.name for topic in FRAMED} == FRAMED_NAMES


# --- values of other programs


@pytest.mark.parametrize("value", BROKEN, ids=BROKEN_NAMES)
def test_a_broken_header_is_refused_by_name(value):
    with pytest.raises(InvalidRecord, match=r"unsupported: t: .*zero byte"):
        KNOWING.accepted(value, "t")


def test_without_a_registry_the_wire_format_is_refused_by_name():
    with pytest.raises(InvalidRecord, match=r"unsupported: t: .*schema_registry\.url"):
        OFF.accepted(HEADER + JSON, "t")


def test_an_id_that_the_registry_does_not_know_is_refused_by_name():
    with pytest.raises(InvalidRecord, match=r"unsupported: t: .*does not know the id"):
        KNOWING.accepted(header(8) + JSON, "t")


def test_only_a_zero_byte_begins_a_header():
    """Another magic byte is part of the value, which its reader then refuses."""
    for value in (b"\x01\0\0\0\7" + JSON, MSH, JSON, b""):
        for input_format in (OFF, KNOWING):
            assert value == input_format.accepted(value, "t")


def outcome(value, wire_format):
    records = [Record(Partition(HL7_RAW.name, 0), 1, None, value)]
    intake = Intake(max_bytes=10_000, office=OFFICE, wire_format=wire_format)
    [found] = intake.process(records)
    return found


def test_intake_reads_messages_and_events_with_a_header_if_a_registry_is_set():
    event = orjson.dumps(
        {
            "note_id": "N",
            "patient": {"assigning_authority": "A", "id": "1"},
            "text": "Seen today.",
        }
    )
    for value in (MSH, event):
        plain = outcome(value, OFF)
        framed = outcome(HEADER + value, KNOWING)
        assert [each.topic for each in plain] == [each.topic for each in framed]
        assert [each.value for each in plain[:-1]] == [e.value for e in framed[:-1]]


@pytest.mark.parametrize(
    ("value", "wire_format"),
    [
        (HEADER + MSH, OFF),
        (HEADER[:4], KNOWING),
        (header(8) + MSH, KNOWING),
        (b"\x01" + HEADER[1:] + MSH, KNOWING),
        (HEADER + HEADER + MSH, KNOWING),
    ],
    ids=["no registry", "cut header", "unknown id", "another magic byte", "two"],
)
def test_intake_refuses_other_headers(value, wire_format):
    found = outcome(value, wire_format)

    assert isinstance(found, InvalidRecord)


def test_a_registry_that_is_away_makes_no_dead_letter():
    def is_known(_schema_id):
        raise RegistryUnreachable("away")

    with pytest.raises(RegistryUnreachable, match="away"):
        outcome(HEADER + MSH, InputFormat(is_known))


def test_a_null_value_is_refused_as_before():
    assert outcome(None, KNOWING).code == "null_value"


# --- our readers


def message(topic, value, headers=()):
    return Message(
        topic=topic, partition=2, offset=17, key=b"k", value=value, headers=[*headers]
    )


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_readers_see_no_header_on_our_topics_and_that_of_others_as_it_is(topic):
    framed = message(topic.name, HEADER + JSON)
    expected = JSON if topic in FRAMED else HEADER + JSON

    assert expected == value_of(framed) == record_of(framed).value
    assert value_of(message(topic.name, JSON)) == JSON
    assert value_of(message(topic.name, None)) is None


@pytest.mark.parametrize("value", BROKEN, ids=BROKEN_NAMES)
def test_a_broken_header_on_our_topics_is_no_json(value):
    for topic in FRAMED:
        assert value == value_of(message(topic.name, value))
    assert counts_of(PHI_AUDIT.name, value, {}, 0) == UNREADABLE
    assert broken_rule(PHI_AUDIT, message(PHI_AUDIT.name, value)) == "not JSON"


def test_watch_and_status_count_audit_events_with_and_without_a_header():
    event = orjson.dumps({"stage": "scrub", "outcome": "dead_letter", "code": "schema"})
    plain = counts_of(PHI_AUDIT.name, event, {}, 0)

    assert plain != UNREADABLE
    assert plain == counts_of(PHI_AUDIT.name, HEADER + event, {}, 0)
    assert counts_of(DEAD_LETTERS.name, HEADER + event, {}, 0) == UNREADABLE


def test_doctor_checks_what_follows_the_header():
    update = orjson.dumps({"patient": {"assigning_authority": "A", "id": "1"}})

    for value in (update, HEADER + update):
        assert broken_rule(PATIENT_UPDATES, message("patient.updates", value)) == ""
    assert broken_rule(PHI_AUDIT, message("phi.audit", HEADER + update)) != ""
    assert broken_rule(PATIENTS, message("patients", HEADER + update)) == "not JSON"


KEY = audit_key(b"0123456789abcdef" * 4)
NOTE = orjson.dumps(
    {"text": "x", "source": {"topic": "notes", "partition": 2, "offset": 3}}
)


def sealed(topic, value):
    """Return the output of a note, as the engine has it before it is written."""
    source = Record(Partition(NOTES.name, 2), 3, b"k", b"{}")
    headers = {SOURCE: b"notes/2/3"}
    [found] = Seals(KEY).sealed([Output(topic, b"k", value, headers, source=source)])
    return found


def written(output, schema_id):
    value = WireFormat({output.topic: schema_id}).value_of(output)
    return message(output.topic, value, output.headers.items())


@pytest.mark.parametrize("topic", ["notes.scrubbed", "hl7.scrubbed"])
def test_seals_are_of_the_json_whatever_id_is_before_it(topic):
    output = sealed(topic, NOTE)
    plain = message(topic, output.value, output.headers.items())

    marks = [Marks([KEY]).read(each) for each in (plain, written(output, 7))]

    assert marks[0] == marks[1] == Marks([KEY]).read(written(output, 8))
    assert marks[0].seal is not None
    assert marks[0].is_known_key


def test_an_audit_event_has_the_digest_of_the_json_without_header():
    source = Record(Partition(NOTES.name, 2), 3, b"k", b"{}")
    note = Output(NOTES_SCRUBBED.name, b"k", NOTE, source=source)
    facts = {"source": {"topic": "notes", "partition": 2, "offset": 3}}
    facts |= {"outcome": "scrubbed", "outputs": 1, "at_ms": 1}
    event = Output(PHI_AUDIT.name, b"k", orjson.dumps(facts), source=source)
    note, event = Seals(KEY).sealed([note, event])

    marks = Marks([KEY])
    digests = marks.read(written(event, 9)).event.digests

    assert digests.outputs == {
        NOTES_SCRUBBED.name: [marks.read(written(note, 7)).seal.own.hex()]
    }


@pytest.mark.parametrize("topic", ["notes.scrubbed", "hl7.scrubbed"])
def test_a_change_behind_the_header_is_found(topic):
    output = sealed(topic, NOTE)
    forged = HEADER + output.value.replace(b'"x"', b'"y"')
    assert SEAL in output.headers

    for value in (forged, HEADER + HEADER + output.value, b"\1" + HEADER[1:] + NOTE):
        with pytest.raises(Untrusted) as caught:
            Marks([KEY]).read(message(topic, value, output.headers.items()))
        assert Fault.FORGED is caught.value.fault


def test_the_digest_of_an_input_is_of_what_was_received():
    """Including its header: what a dead letter holds, and its replay returns."""
    key, values = b"k", (HEADER + MSH, MSH)
    records = [Record(Partition(HL7_RAW.name, 2), 17, key, each) for each in values]
    read = record_of(message(HL7_RAW.name, HEADER + MSH))
    framed, plain = (Seals(KEY).of_input(each) for each in records)

    assert framed == Marks([KEY]).of_input(read, Seals(KEY).key_id)
    assert framed != plain
