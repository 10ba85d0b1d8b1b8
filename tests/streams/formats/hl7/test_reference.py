"""What intake reads of a message is what it reads of it through python-hl7."""

import json
import random
from itertools import chain
from pathlib import Path

import hl7
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.demo.ward import Ward
from streams.engine.errors import InvalidRecord
from streams.formats.hl7 import message
from streams.formats.hl7.field_rules import Rules
from streams.formats.hl7.framing import messages_of
from streams.formats.hl7.message import Field, parse, parse_by_python_hl7
from streams.formats.hl7.reader import WANTED, Hl7Reader
from streams.pipeline.intake.route import route
from tests.sampling import examples

FOLDER = Path(__file__).parents[5] / "shared/data/hl7"
corpus = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="no messages beside the repository"
)

MUTANTS = 2
"""Of each message of the corpus."""
RULES = Rules()
ALL = {name: range(1, 60) for name in WANTED}
MARKS = ("|", "^", "~", "\\", "&", "#", "\r", "\n", " ", '""', "é", "\x1c", "\u2003")
ESCAPES = (
    r"\F\ ", r"\S\ ", r"\T\ ", r"\R\ ", r"\E\ ", r"\H\ ", r"\N\ ", r"\X0D0A\ ",
    r"\XC3AB\ ", r"\XEB\ ", r"\X5E\ ", r"\C2842\ ", r"\M2541AB\ ", r"\.br\ ",
    r"\.sp3\ ", r"\.in+4\ ", r"\Zlocal\ ", r"\ ", r"\\ ", r"\.br",
)  # fmt: skip
HEADS = (
    "MSH|^~\\&", "MSH|^~\\", "MSH|^~\\&#", "MSH&^~\\", "MSH#*!?%", "MSH^~|\\&",
    "MSH|~^\\&", "MSH|^~\\|", "MSH|^^\\&", "MSH||", "MSH|^~\\&|\rMSH|^~\\&", "MSH",
)  # fmt: skip
RICH = "\r".join(
    (
        "MSH|^~\\&|APP|HOSP^1.2^ISO|||20240301093000||ADT^A01|C1|P|2.5.1",
        "EVN|A08|20240301",
        'PID|1|""|4711^^^WARD&1.2&ISO^MR~0815^^^""^PI~ ||Example&von&Muster^Edith^Q~'
        "^^|Sample^Mary|19480229|F||| 1 Row ^^Nowhere^ZZ||555-0100~^NET^X^e@example",
        "NK1|1|Example^Emil~Example^Emil|SPO|1 Row|555-0101",
        "PV1|1||4W^12^A^General||||77^Healer^Hanna|77^Healer^Hanna",
        "OBR|1|P1|F1|11506-3^Note|||20240228080000|||||||||||||||||||||||||7&Reader&R",
        r"OBX|1|FT|1^History||Seen\.br\in \T\ clinic~twice~~\X0D\~ end ||||||F",
        'OBX|2|NM|2^Weight||70\nOBX|3|TX|1^History||""',
        "NTE|1||a~b^c&d  ",
    )
)


def read(parse, text, wanted):
    """Return all that can be read of a message, or its reason code."""
    try:
        segments = parse(text, wanted)
    except InvalidRecord as error:
        return error.code
    return [
        (each.name, [(n, each.repetitions(n), each.lines(n)) for n in each.fields])
        for each in segments
    ]


def routed(value, parse):
    try:
        return route(value, reader=Hl7Reader(RULES, parse))
    except InvalidRecord as error:
        return error.code, error.reason


def assert_agrees(value):
    """Compare the content of a record, and all fields that its segments have."""
    assert routed(value, parse_by_python_hl7) == routed(value, parse)
    try:
        texts = messages_of(value)
    except InvalidRecord:
        return
    for text in texts:
        assert read(parse_by_python_hl7, text, ALL) == read(parse, text, ALL)


def mutated(text, rng):
    """Return a message with one to eight changes."""
    for _ in range(rng.randint(1, 8)):
        text = rng.choice(CHANGES)(text, rng) or "M"
    return text


def cut(text, rng):
    at = rng.randrange(len(text))
    return text[:at] + text[at + rng.randint(1, 6) :]


def doubled(text, rng):
    at = rng.randrange(len(text))
    return text[:at] + text[at : at + rng.randint(1, 6)] + text[at:]


def swapped(text, rng):
    at = rng.randrange(len(text))
    return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]


def inserted(text, rng):
    at = rng.randrange(len(text))
    new = rng.choice(MARKS) * rng.randint(1, 3)
    if rng.random() < 0.4:
        new = rng.choice(ESCAPES).strip()
    return text[:at] + new + text[at:]


def shuffled(text, rng):
    lines = text.split("\r")
    rng.shuffle(lines)
    return "\r".join(lines)


def dropped(text, rng):
    lines = text.split("\r")
    lines.pop(rng.randrange(len(lines)))
    return "\r".join(lines)


def truncated(text, rng):
    return text[: rng.randrange(len(text))]


def beheaded(text, rng):
    """Declare other delimiters, which the segments use or not."""
    head = rng.choice(HEADS)
    if len(head) > 7 and rng.random() < 0.5:
        text = text.translate(str.maketrans("|^~\\&", (head[3:] + "&#")[:5]))
    return head + text[8:]


def emptied(text, rng):
    fields = text.split("|")
    fields[rng.randrange(len(fields))] = rng.choice(("", " ", '""', '"" ', "~", "^&"))
    return "|".join(fields)


CHANGES = (
    cut, doubled, swapped, inserted, inserted, inserted, shuffled, dropped, truncated,
    beheaded, emptied, emptied,
)  # fmt: skip


@given(st.randoms(use_true_random=False))
@settings(max_examples=examples(500))
def test_a_mutated_message_is_read_as_by_python_hl7(rng):
    assert_agrees(mutated(RICH, rng).encode())


@given(
    st.lists(st.sampled_from((*MARKS, *(e.strip() for e in ESCAPES), "a", "b c", "1")))
)
@settings(max_examples=examples(500))
def test_a_field_of_any_marks_is_read_as_by_python_hl7(parts):
    text = "".join(each for each in parts if each != "\r")

    assert_agrees(f"{RICH}\rNTE|1||{text}|x\rOBX|1|TX|{text}||{text}".encode())
    assert_agrees(f"{RICH}\rPID|1|{text}|{text}||{text}\rNTE|1||{text}".encode())


@pytest.mark.parametrize("head", HEADS)
def test_any_delimiters_are_read_as_by_python_hl7(head):
    for body in (RICH[8:], RICH[8:].translate(str.maketrans("|^~\\&", "#*!?%"))):
        assert_agrees((head + body).encode())


def test_the_wards_messages_are_read_as_by_python_hl7():
    ward = Ward(seed=5, patients=40, note_words=60)

    for each in (*ward.admissions(), *ward.messages(200)):
        if each.value is not None:
            assert_agrees(each.value)


def test_a_mutated_message_differs_often_enough_from_an_invalid_one():
    """The tests above would pass as well if nothing could be read."""
    rng = random.Random(1)
    values = [mutated(RICH, rng).encode() for _ in range(300)]

    valid = sum(not isinstance(routed(value, parse), tuple) for value in values)

    assert 100 < valid < 290


def test_python_hl7_reads_only_what_cannot_be_split_here(monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(message, "parse_by_python_hl7", refuse)

    assert parse(RICH, ALL)
    with pytest.raises(AssertionError):
        parse("MSH&^~\\&APP", ALL)


@corpus
def test_every_real_message_is_read_as_by_python_hl7():
    with (FOLDER / "messages.jsonl").open() as lines:
        values = [json.loads(line)["message"].encode() for line in lines]
    values += [
        each.read_bytes() for each in (FOLDER / "raw").rglob("*") if each.is_file()
    ]

    for value in values:
        assert_agrees(value)

    assert len(values) > 1500


@corpus
def test_real_messages_when_mutated_are_read_as_by_python_hl7():
    rng = random.Random(7)
    with (FOLDER / "messages.jsonl").open() as lines:
        texts = [json.loads(line)["message"] for line in lines]

    for text in texts:
        for _ in range(MUTANTS):
            assert_agrees(mutated(text, rng).encode())


def test_python_hl7_finds_the_same_fields_in_a_whole_message():
    """The reference above splits messages into fields as the fast path does."""
    assert fields_that_agree(f"{RICH}\rNTE|1|| |\rZZZ|1\rPIDX|1\rNTE") > 30


@corpus
def test_python_hl7_finds_the_same_fields_in_real_messages():
    with (FOLDER / "messages.jsonl").open() as lines:
        values = [json.loads(line)["message"].encode() for line in lines]

    count = sum(map(fields_that_agree, chain.from_iterable(map(readable, values))))

    assert count > 20_000


def fields_that_agree(text):
    """Compare the fields with those of python-hl7's own parse; return their number."""
    delimiters = message.delimiters_of(text)
    whole = [each for each in hl7.parse(text) if str(each[0]) in WANTED]
    count = 0
    for segment, reference in zip(parse(text, WANTED), whole, strict=True):
        filled = {n for n, each in enumerate(reference) if n and str(each)}
        assert filled.intersection(WANTED[segment.name]) == segment.fields.keys()
        for number in segment.fields:
            expected = Field("", delimiters)
            expected.split_as(reference[number])
            assert expected.repetitions == segment.repetitions(number)
            count += 1
    return count


def readable(value):
    """Return the messages of a record, none if one is invalid."""
    try:
        texts = messages_of(value)
        for text in texts:
            parse(text, WANTED)
    except InvalidRecord:
        return []
    return texts
