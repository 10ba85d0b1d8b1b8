"""Which records name a patient."""

from __future__ import annotations

import json

import pytest

from streams.kafka.wire_format import header
from streams.model.patients.demographics import PatientId
from streams.products.office.naming import content_of, is_sure, names

LONG, SHORT = PatientId("NORTH", "770011"), PatientId("NORTH", "77")
UMLAUT, ESCAPED = PatientId("NORTH", "M\u00fcl 1234"), PatientId("NORTH", "A&B123")


def named(value, patient):
    return names(content_of(b"some key", value), patient)


@pytest.mark.parametrize(
    "value",
    [
        b"PID|1||770011^^^NORTH^MR",
        b'{"patient": {"assigning_authority": "NORTH", "id": "770011"}}',
        b'{"id": 770011}',
        b"PID|1||770011^^^SOUTH^MR",
        "PID|1||770011".encode("utf-16-le"),
        "PID|1||770011".encode("utf-16-be"),
        "\ufeffPID|1||770011".encode("utf-16-be"),
        b"\x0b" + "PID|1||770011".encode("utf-16-le"),
        json.dumps({"text": "MRN\n770011 seen"}).encode(),
        json.dumps({"text": "MRN\t770011\r\n"}).encode(),
        json.dumps({"message": json.dumps({"text": "MRN\n770011"})}).encode(),
        json.dumps({"text": "MRN\n770011 seen"}).encode()[:-2],
        rb"OBX|1|TX|||MRN\.br\770011\.br\seen",
        "PID|1||A\u00e9 770011".encode("latin-1"),
    ],
)
def test_a_record_with_the_identifier_as_a_word_names_the_patient(value):
    assert named(value, LONG)


def test_the_key_alone_names_the_patient():
    assert names(content_of(LONG.key, None), LONG)
    assert names(content_of(b"|77", b"text"), PatientId("", "77"))


@pytest.mark.parametrize(
    "value",
    [
        b"PID|1||1770011^^^NORTH",
        b"order 7700112",
        b"",
        b"\0",
        b"\xff",
        "PID|1||1770011^^^NORTH".encode("utf-16-le"),
        "PID|1||7700112^^^NORTH".encode("utf-16-be"),
    ],
)
def test_a_part_of_a_longer_number_does_not(value):
    assert not named(value, LONG)


@pytest.mark.parametrize(
    "value",
    [
        "PID|1||M\u00fcl 1234^^^NORTH".encode(),
        "PID|1||M\u00fcl 1234^^^NORTH".encode("latin-1"),
        json.dumps({"id": "M\u00fcl 1234", "of": "NORTH"}).encode(),
        b'<id extension="M&#252;l 1234" root="NORTH"/>',
    ],
)
def test_an_identifier_is_found_in_each_way_to_write_it(value):
    assert named(value, UMLAUT)


@pytest.mark.parametrize(
    "value",
    [
        rb"PID|1||A\T\B123^^^NORTH",
        json.dumps({"raw": "PID|1||A\\T\\B123^^^NORTH"}).encode(),
        b"MSH|^~#&|\rPID|1||A#T#B123^^^NORTH",
        b"<id>A&amp;B123</id>",
    ],
)
def test_escapes_of_the_formats_are_resolved(value):
    assert named(value, ESCAPED)


def test_a_short_identifier_counts_with_its_authority_or_where_identifiers_lie():
    assert named(b"PID|1||77^^^NORTH^MR", SHORT)
    assert not named(b"OBX|1|NM|77|mmHg", SHORT)
    without = PatientId("", "77")
    assert not named(b"OBX|1|NM|77|mmHg", without)
    assert named(b"MSH|^~\\&|\rPID|1||12^^^X~77^^^^MR", without)
    assert named(b"MRG|77^^^^MR", without)
    assert not named(b"PID|1||77^^^SOUTH^MR", without)
    assert named(b'{"patient": [{"id": "77", "assigning_authority": ""}]}', without)
    assert named(b'{"identifier": [{"value": "77"}]}', without)
    assert not named(b'{"identifier": [{"value": "77", "system": "S"}]}', without)


@pytest.mark.parametrize("patient", [SHORT, PatientId("", "77")])
@pytest.mark.parametrize("before", [header(7), b"\xef\xbb\xbf", b""])
@pytest.mark.parametrize("key", [b"k", b"\0\1bin\xff", b"{\0"])
def test_a_short_identifier_is_found_behind_what_precedes_a_value(patient, before, key):
    event = {
        "patient": {"assigning_authority": patient.assigning_authority, "id": "77"}
    }
    value = json.dumps(event).encode()
    segments = f"MSH|^~\\&|\rPID|||77^^^{patient.assigning_authority}\r".encode()
    nested = json.dumps({"body": value.decode()}).encode()

    for each in (value, segments, nested):
        assert names(content_of(key, before + each), patient)


def test_a_short_identifier_in_what_is_neither_hl7_nor_json_is_not_judged():
    assert named(b"<id extension='77'/>", SHORT) is None
    assert named(b'{"id": "77"', SHORT) is None
    assert named(b"OBX|1|NM|77|mmHg", SHORT) is None
    assert names(content_of(b"77", b"text"), SHORT) is None
    assert named(b"MSH|^~\\&|\rOBX|1|NM|77|mmHg", SHORT) is False
    assert named(b'{"text": "77 mmHg"}', SHORT) is False
    assert named(b"<id extension='177'/>", SHORT) is False


def test_an_identifier_that_is_too_short_is_not_sure():
    assert [is_sure(LONG), is_sure(SHORT)] == [True, False]
