from __future__ import annotations

import codecs
import re
from datetime import UTC, datetime

import hl7
import pytest

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.hl7.acknowledgement import (
    Header,
    Refusal,
    Verdict,
    acknowledgement,
    code_for,
)
from streams.formats.hl7.framing import MAX_HEADER_BYTES

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
LAB = "MSH|^~\\&|LAB^1.2.3^ISO|NORTH|PHI^9|STREAM|20260304||ORU^R01^ORU_R01|ID-7|P|{}"


def message(version="2.5.1", rest="", encoding="utf-8"):
    return (LAB.format(version) + rest + "\rPID|1||ZZMARKER\r").encode(encoding)


def answer(value, refusal=None):
    header = Header.of(value)
    verdict = refusal.verdict if refusal else Verdict.ACCEPTED
    code = code_for(header, verdict)
    return acknowledgement(header, code, refusal, NOW)


def fields(line, separator="|"):
    return ["", *line.split(separator)]


def test_an_answer_is_the_header_turned_round():
    msh, msa, end = answer(message()).decode().split("\r")

    own = re.sub(r"\|[0-9a-f]{20}\|", "|OWN|", msh)
    assert own == (
        "MSH|^~\\&|PHI^9|STREAM|LAB^1.2.3^ISO|NORTH|20260304050607||ACK^R01^ACK|OWN"
        "|P|2.5.1"
    )
    assert (msa, end) == ("MSA|AA|ID-7", "")


def test_an_answer_is_read_by_another_library():
    parsed = hl7.parse(answer(message(), Refusal.NOT_STORED).decode())

    assert [str(parsed["MSA"][0][n]) for n in (1, 2)] == ["AE", "ID-7"]
    assert str(parsed["ERR"][0][3][0][0]) == "207"


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("2.1", "ACK"),
        ("2.2", "ACK^R01"),
        ("2.3", "ACK^R01"),
        ("2.3.1", "ACK^R01^ACK"),
        ("2.8", "ACK^R01^ACK"),
        ("2.5.1^USA", "ACK^R01^ACK"),
    ],
)
def test_msh_9_and_12_are_those_of_the_version(version, kind):
    msh = fields(answer(message(version)).decode().split("\r")[0])

    assert (kind, version.split("^")[0]) == (msh[9], msh[12])


@pytest.mark.parametrize(
    ("version", "is_in_msa", "is_in_err"),
    [("2.3", True, False), ("2.5", True, True), ("2.7", False, True)],
)
def test_a_reason_is_where_the_version_has_it(version, is_in_msa, is_in_err):
    _, msa, *rest = answer(message(version), Refusal.TOO_LARGE).decode().split("\r")

    assert is_in_msa == ("larger" in msa)
    assert is_in_err == any(each.startswith("ERR|||207^") for each in rest)


@pytest.mark.parametrize("refusal", Refusal)
def test_every_refusal_has_a_code_and_a_reason_without_delimiters(refusal):
    _, msa, *_ = answer(message("2.4"), refusal).decode().split("\r")

    wanted = refusal in (Refusal.TOO_LARGE, Refusal.NOT_STORED)
    assert ("AE" if wanted else "AR") == fields(msa)[2]
    assert re.fullmatch(r"[\w ]+", fields(msa)[4])


def test_delimiters_and_character_set_of_the_message_are_kept():
    value = (
        "MSH#*~\\&#LÄB*1#NÖRD#B#C#1##ADT*A01#É1#P#2.3######8859/1\rPID#1\r"
    ).encode("iso8859-1")
    found = answer(value).decode("iso8859-1")

    assert found.startswith("MSH#*~\\&#B#C#LÄB*1#NÖRD#")
    assert "#ACK*A01#" in found
    assert "#P#2.3######8859/1\rMSA#AA#É1\r" in found


def test_a_character_of_two_bytes_one_of_which_looks_like_a_delimiter_is_whole():
    name = "\u529f"  # in Big-5 0xA5 0x5C, and 0x5C is a backslash
    value = message(rest="||||||BIG-5").replace(b"NORTH", name.encode("big5"))
    header = Header.of(value)

    assert header.sender.facility == (name, "")
    assert name in answer(value).decode("big5")


@pytest.mark.parametrize("place", ["MSH-9", "MSH-11", "MSH-12", "MSH-18", "MSH-21"])
def test_nothing_else_of_the_message_is_in_an_answer(place):
    parts = message().decode().split("\r")[0].split("|")
    number = int(place.split("-")[1])
    parts += [""] * (22 - len(parts))
    parts[number - 1] = "ZZ^ZZMARKER" if number == 9 else "ZZMARKER"
    value = "|".join(parts).encode() + b"\rPID|1||ZZMARKER\r"

    assert b"ZZMARKER" not in answer(value)
    assert b"ZZMARKER" not in answer(value, Refusal.UNKNOWN_SENDER)
    assert "ZZMARKER" not in repr(Header.of(value))


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"", ReasonCode.BAD_MSH),
        (b"PID|1", ReasonCode.BAD_MSH),
        (b"FHS|^~\\&\rMSH|^~\\&|A", ReasonCode.BAD_MSH),
        (b"MSH", ReasonCode.BAD_MSH),
        (b"MSH|||A|B|C|D|1||ADT^A01|1|P|2.3", ReasonCode.BAD_MSH),
        (b"MSH|^^\\&|A|B|C|D|1||ADT^A01|1|P|2.3", ReasonCode.BAD_MSH),
        (b"MSH|^~\\&|A|B|C|D|1||||P|2.3", ReasonCode.BAD_MSH),
        (message() + message(), ReasonCode.BAD_MSH),
        (message() + b"\x1c" + message(), ReasonCode.BAD_MSH),
        (message() + b"\r\x1c" + message(), ReasonCode.BAD_MSH),
        (message() + codecs.BOM_UTF8 + message(), ReasonCode.BAD_MSH),
        (message(rest="\x1c"), ReasonCode.BAD_MSH),
        (message(rest="|" * MAX_HEADER_BYTES), ReasonCode.BAD_MSH),
        (message().replace(b"LAB", b"L\xc4B"), ReasonCode.UNDECODABLE),
        (message().decode().encode("utf-16"), ReasonCode.BAD_MSH),
    ],
)
def test_what_is_not_one_readable_message_has_no_header(value, code):
    with pytest.raises(InvalidRecord) as caught:
        Header.of(value)

    assert code is caught.value.code


def test_what_cannot_be_read_is_answered_without_any_of_it():
    found = acknowledgement(None, "AR", Refusal.BAD_MSH, NOW).decode()

    assert found.startswith("MSH|^~\\&|||||20260304050607||ACK|")
    assert "\rMSA|AR||MSH is missing or cannot be read\r" in found


@pytest.mark.parametrize(
    ("accept", "application", "codes"),
    [
        ("", "", ("AA", "AE", "AR")),
        ("AL", "", ("CA", "CE", "CR")),
        ("AL", "AL", ("CA", "CE", "CR")),
        ("NE", "AL", ("AA", "AE", "AR")),
        ("NE", "NE", (None, None, None)),
        ("", "NE", (None, None, None)),
        ("ER", "NE", (None, "CE", "CR")),
        ("SU", "NE", ("CA", None, None)),
        ("ER", "AL", ("AA", "CE", "CR")),
        ("?", "", ("CA", "CE", "CR")),
    ],
)
def test_enhanced_mode_answers_what_is_asked_for(accept, application, codes):
    header = Header.of(message(rest=f"|||{accept}|{application}"))

    assert codes == tuple(code_for(header, verdict) for verdict in Verdict)


@pytest.mark.parametrize("rest", ["", "|||AL|AL"])
def test_an_answer_gets_no_answer(rest):
    value = message(rest=rest).replace(b"ORU^R01^ORU_R01", b"ACK^R01")

    assert code_for(Header.of(value), Verdict.ACCEPTED) is None


def test_senders_have_different_keys_and_a_sender_always_the_same():
    def key(application, facility):
        value = f"MSH|^~\\&|{application}|{facility}|C|D|1||ADT^A01|1|P|2.3\r"
        return Header.of(value.encode()).key

    assert key("LAB^1.2.3^ISO", "NORTH") == b"LAB^1.2.3^ISO|NORTH"
    names = [("A", "B"), ("A^B", ""), ("", "A^B"), ("A", "^B")]
    assert len(names) == len({key(*each) for each in names})
