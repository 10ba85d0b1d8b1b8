import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.errors import InvalidRecord
from streams.formats.hl7.message import Delimiters, parse, part, unescape

USUAL = Delimiters("|", "^", "~", "\\", "&")
WANTED = {
    "MSH": (3, 9, 10),
    "PID": (3, 5),
    "ZZZ": (1,),
}
MSH = "MSH|^~\\&|APP|||||||ID"


def segments_of(*lines):
    return parse("\r".join(lines), WANTED)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (r"a\F\b\S\c\T\d\R\e\E\f", r"a|b^c&d~e\f"),
        (r"one\.br\two", "one\ntwo"),
        (r"one\.sp3\two", "one\n\n\ntwo"),
        (r"one\.sp\two", "one\ntwo"),
        (r"one\.sk2\two", "one  two"),
        (r"\.in+4\one\.ce\two\.nf\ ", "one\ntwo "),
        (r"\H\loud\N\ plain", "loud plain"),
        (r"one\X0D\two\X0D0A\three", "one\ntwo\nthree"),
        (r"Zo\XC3AB\ ", "Zoë "),
        (r"Zo\XEB\ ", "Zoë "),
        (r"\C2842\\M2541AB\text", "text"),
        (r"\E\F\E\ ", r"\F\ "),
    ],
)
def test_escape_sequences_become_what_they_mean(raw, text):
    assert text == unescape(raw, USUAL)


@pytest.mark.parametrize(
    "raw",
    [
        r"a \ b",
        r"C:\temp\new\file",
        r"either \ or \ neither",
        r"\Q\ ",
        r"\X0\ ",
        r"\XYZ\ ",
        r"\Zlocal\ ",
        r"\.xx\ ",
        "\\",
        "\\\\",
    ],
)
def test_what_is_no_escape_sequence_stays(raw):
    assert raw == unescape(raw, USUAL)


def test_a_stray_escape_character_does_not_hide_a_sequence():
    assert unescape(r"a \ b\.br\c \ d", USUAL) == "a \\ b\nc \\ d"


@given(st.text(alphabet="ab|^~\\&\n é"))
def test_unescaping_undoes_escaping(text):
    codes = {"\\": "E", "|": "F", "^": "S", "~": "R", "&": "T"}
    escaped = "".join(f"\\{codes[c]}\\" if c in codes else c for c in text)

    assert text == unescape(escaped, USUAL)


@given(st.text(alphabet=st.characters(exclude_characters="\\")))
def test_text_without_the_escape_character_stays(text):
    assert text == unescape(text, USUAL)


def test_reads_components_subcomponents_and_repetitions_by_number():
    _, pid = segments_of(MSH, "PID|1||a^b^^X&Y~c||d")

    first, second = pid.repetitions(3)

    assert (
        part(first, 1),
        part(first, 2),
        part(first, 4),
        part(first, 4, 2),
    ) == ("a", "b", "X", "Y")
    assert (part(second, 1), part(second, 9)) == ("c", "")
    assert pid.value(5) == "d"


def test_msh_fields_are_counted_from_the_separator():
    (msh,) = segments_of(MSH)

    assert (msh.value(3), msh.value(10)) == ("APP", "ID")


def test_a_field_that_is_not_wanted_or_not_there_is_empty():
    _, pid = segments_of(MSH, "PID|1|two")

    assert (pid.value(2), pid.repetitions(3), pid.lines(99)) == ("", (), ())


def test_a_null_says_nothing():
    _, pid = segments_of(MSH, 'PID|||""~a^""||""')

    assert list(pid.repetitions(3)) == [(("a",), ("",))]
    assert pid.lines(5) == ("",)


def test_lines_keep_separators_that_were_not_escaped():
    _, pid = segments_of(MSH, r"PID|||||5^5 & 6~x\T\y")

    assert pid.lines(5) == ("5^5 & 6", "x&y")


def test_equal_fields_of_several_segments_are_all_read():
    found = segments_of(MSH, "PID|||a", "PID|||a||a", "PID|||b")

    assert [each.value(3) for each in found[1:]] == ["a", "a", "b"]


def test_leaves_segments_that_are_not_wanted():
    found = segments_of(MSH, "ZZ1|x", "PIDX|x", "PID^x", "PID", "ZZZ|y")

    assert [each.name for each in found] == ["MSH", "PID", "ZZZ"]


@pytest.mark.parametrize(
    ("msh", "pid"),
    [
        ("MSH|^~\\&|A", "PID|||a^b&c~d"),
        ("MSH|^~\\&#|A", "PID|||a^b&c~d"),
        ("MSH|^~\\|A", "PID|||a^b&c~d"),
        ("MSH#*!?%#A", "PID###a*b%c!d"),
        ("MSH^~|\\&^A", "PID^^^a~b&c|d"),
        ("MSH|^~\\&", "PID|||a^b&c~d"),
    ],
)
def test_takes_the_delimiters_that_msh_declares(msh, pid):
    segment = segments_of(msh, pid)[1]

    assert list(segment.repetitions(3)) == [(("a",), ("b", "c")), (("d",),)]


@pytest.mark.parametrize(
    "msh",
    [
        "MSH",
        "MSHA^~\\&|",
        "MSH |^~\\&",
        "MSH||A",
        "MSH|^|A",
        "MSH|~\\&|A",
        "MSH|^~\\\\&|A",
        "MSH|^^\\&|A",
        "MSH|ABCD|A",
        "MSH|^~ &|A",
        "MSH^~\\&|A^",
    ],
)
def test_refuses_delimiters_that_cannot_be_told(msh):
    with pytest.raises(InvalidRecord) as caught:
        segments_of(msh, "PID|||ZZMARKER")

    assert caught.value.code == "bad_msh"
    assert "MSH-" in caught.value.reason
    assert "ZZMARKER" not in caught.value.reason


def test_a_segment_does_not_show_its_fields():
    assert "ZZMARKER" not in repr(segments_of(MSH, "PID|||ZZMARKER"))
