import codecs
import time

import pytest

from streams.engine.errors import InvalidRecord
from streams.formats.hl7.framing import messages_of

MSH = "MSH|^~\\&|A|B||||||1|P|2.5"
WITH_CHARSET = "MSH|^~\\&|A|B||||||1|P|2.5||||||{}"


def code_of(value):
    with pytest.raises(InvalidRecord) as caught:
        messages_of(value)
    return caught.value.code


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_takes_every_line_end(end):
    value = end.join([MSH, "PID|1", "OBX|1", ""]).encode()

    assert messages_of(value) == [f"{MSH}\rPID|1\rOBX|1"]


def test_takes_off_the_frame_of_mllp():
    value = f"\x0b{MSH}\rPID|1\r\x1c\r".encode()

    assert messages_of(value) == [f"{MSH}\rPID|1"]


def test_parts_several_frames():
    value = f"\x0b{MSH}\rPID|1\x1c\r\x0b{MSH}\rPID|2\x1c\r".encode()

    assert messages_of(value) == [f"{MSH}\rPID|1", f"{MSH}\rPID|2"]


def test_parts_the_messages_of_a_batch_and_leaves_its_envelope():
    lines = ["FHS|^~\\&", "BHS|^~\\&", MSH, "PID|1", MSH, "PID|2", "BTS|2", "FTS"]

    assert messages_of("\r".join(lines).encode()) == [f"{MSH}\rPID|1", f"{MSH}\rPID|2"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("8859/1", "UNICODE UTF-8"), ("8859/1", "8859/5"), ("8859/5", "8859/1")],
)
def test_refuses_a_batch_in_several_character_sets(first, second):
    one, other = (WITH_CHARSET.format(each) for each in (first, second))
    text = f"{other}\rPID|Zo\xeb".encode()

    assert code_of(f"{one}\rPID|1\r".encode() + text) == "undecodable"
    assert messages_of(f"{one}\rPID|1\r{other}".encode()) == [f"{one}\rPID|1", other]


def test_a_byte_order_mark_counts_more_than_what_messages_name():
    one, other = (WITH_CHARSET.format(each) for each in ("8859/1", "8859/5"))
    text = f"{one}\rPID|Zoë\r{other}\rPID|Zoë"

    assert len(messages_of(codecs.BOM_UTF8 + text.encode())) == 2


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_a_byte_order_mark_names_the_character_set(mark, encoding):
    text = f"{MSH}\rPID|Zoë"

    assert messages_of(mark + text.encode(encoding)) == [text]


@pytest.mark.parametrize(
    ("named", "codec"),
    [
        ("", "utf-8"),
        ("ASCII", "utf-8"),
        ("8859/1", "latin-1"),
        ("8859/15", "iso8859-15"),
        ("unicode utf-8", "utf-8"),
        ("8859/1~UNICODE UTF-8", "latin-1"),
        ("NOT IN THE TABLE", "utf-8"),
    ],
)
def test_msh_18_names_the_character_set(named, codec):
    text = f"{WITH_CHARSET.format(named)}\rPID|Zoë"

    assert messages_of(text.encode(codec)) == [text]


@pytest.mark.parametrize("named", ["", "UNICODE UTF-8", "NOT IN THE TABLE"])
def test_refuses_bytes_that_are_not_of_the_character_set(named):
    assert (
        code_of(f"{WITH_CHARSET.format(named)}\rPID|Zoë".encode("latin-1"))
        == "undecodable"
    )


@pytest.mark.parametrize(
    "value", [b"", b"\r\n", b"PID|1\rMSH|^~\\&|", b"FHS|^~\\&\rFTS|0", b"MS", b"MSH"]
)
def test_refuses_what_holds_no_message(value):
    assert code_of(value) == "bad_msh"


@pytest.mark.parametrize(
    "line", ["went home.", "MSH2 intact, MLH1 lost", "BTS is on", "Pidgin"]
)
def test_a_line_that_begins_no_segment_continues_the_last(line):
    value = f"{MSH}\rOBX|1|TX|||Seen,\n{line}||F\rNTE|1".encode()

    assert messages_of(value) == [f"{MSH}\rOBX|1|TX|||Seen,\n{line}||F\rNTE|1"]


def test_lines_that_continue_a_segment_take_no_long_time():
    start = time.process_time()
    [found] = messages_of(f"{MSH}\rNTE|1||a".encode() + b"\nx" * 1_000_000)

    assert found.endswith("a" + "\nx" * 1_000_000)
    assert time.process_time() - start < 5
