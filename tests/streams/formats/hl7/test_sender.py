"""The key of a sender's records on hl7.raw."""

from __future__ import annotations

import pytest

from streams.formats.hl7.sender import Header, header_of, sender_key

MESSAGE = "MSH|^~\\&|LAB^1.2.3^ISO|NORTH|C|D|20250101||ORU^R01|M7|P|2.5\rPID|1"


def test_a_sender_is_msh_3_and_msh_4_with_all_components():
    assert Header(b"LAB^1.2.3^ISO|NORTH", "M7") == header_of(MESSAGE)


@pytest.mark.parametrize(
    "message",
    ["MSH", "MSH|", "MSH|^~\\&", "MSH|^~\\&||", "MSH|^~\\&|||C|D|20250101||ADT^A01"],
)
def test_a_header_that_ends_early_has_empty_fields(message):
    assert Header(b"|", "") == header_of(message)


def test_an_other_separator_gives_the_same_key():
    assert header_of(MESSAGE) == header_of(MESSAGE.replace("|", "#"))


@pytest.mark.parametrize(
    "value",
    [
        MESSAGE.encode(),
        b"\xef\xbb\xbf" + MESSAGE.encode(),
        b"\x0b" + MESSAGE.encode() + b"\x1c\r",
        b"FHS|^~\\&\rBHS|^~\\&\r" + MESSAGE.encode() + b"\rMSH|^~\\&|OTHER|X",
        MESSAGE.encode("utf-16"),
    ],
)
def test_the_key_of_a_record_is_the_sender_of_its_first_message(value):
    assert sender_key(value) == b"LAB^1.2.3^ISO|NORTH"


def test_the_key_is_utf_8_whatever_the_message_is_in():
    latin = MESSAGE.replace("NORTH", "S\xdcD").replace("|2.5", "|2.5||||||8859/1")

    assert "LAB^1.2.3^ISO|S\xdcD".encode() == sender_key(latin.encode("latin-1"))


@pytest.mark.parametrize("value", [None, b"", b"{}", b"PID|1", b"MSH|^~\\&|\xff|"])
def test_what_is_no_message_has_no_sender(value):
    assert sender_key(value) is None
