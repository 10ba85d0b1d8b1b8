"""The audit of the faults finds what is wrong, on topics where nothing else is."""

from __future__ import annotations

import re
import time
from collections import Counter
from types import SimpleNamespace

import orjson
import pytest
from confluent_kafka import Message

from deid_core import Document, KnownIdentifiers, PersonName
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    HL7_SCRUBBED,
    NOTES_SCRUBBED,
    PHI_AUDIT,
)
from tests.brokers import wait_until
from tests.faults.audit import audit
from tests.faults.inputs import identifier_of
from tests.faults.load import Feed
from tests.faults.ward import (
    LINE,
    LINES,
    MarkedWard,
    marker_of,
    number_of,
    numbers_in,
    surnames_in,
    take,
)
from tests.harness import produce

IDENTIFIER = re.compile(rb"\b\d{8,9}\b")
FED = {number: (0, number) for number in range(4)}
"""The first notes, all in partition 0 of hl7.raw."""


def published(settings, *numbers, topic=NOTES_SCRUBBED, text=""):
    value = [(b"k", f"{text} {marker_of(number)}".encode()) for number in numbers]
    produce(settings, topic.name, value)


def found(settings):
    result = audit(settings, FED)
    return dict(zip(("missing", "doubled", "order", "leaked"), result.faults, strict=1))


NOTHING = {"missing": 0, "doubled": 0, "order": 0, "leaked": 0}


def test_notes_that_are_published_once_and_in_order_are_sound(settings):
    published(settings, 0, 1, 2, 3)

    assert found(settings) == NOTHING


def test_missing_doubled_and_foreign_notes_are_counted(settings):
    published(settings, 0, 1, 1, 2, 9)

    assert found(settings) == NOTHING | {"missing": 1, "doubled": 2}


def test_notes_of_a_key_in_another_order_are_counted(settings):
    published(settings, 0, 2, 1, 3)

    assert found(settings) == NOTHING | {"order": 1}


def test_a_note_that_its_sender_wrote_twice_has_two_outcomes(settings):
    for number in (0, 1, 1, 2, 3):
        produce(settings, HL7_RAW.name, [(b"k", marker_of(number).encode())])
    published(settings, 0, 1, 2, 2, 3)

    result = audit(settings, FED)

    assert result.repeated == 1
    assert result.faults == (1, 1, 0, 0)
    [one, first, two, *both] = result.examples
    assert "1 outcomes, sent 2 times" in one
    assert first.startswith("notes.scrubbed[")
    assert "2 outcomes" in two
    assert len(both) == 2


@pytest.mark.parametrize("topic", [NOTES_SCRUBBED, PHI_AUDIT])
def test_a_surname_in_what_subscribers_get_is_a_leak(settings, topic):
    published(settings, 0, 1, 2, 3)
    produce(settings, topic.name, [(b"k", b"Plan: continue bodegatiq.")])

    assert found(settings) == NOTHING | {"leaked": 1}


def test_a_dead_letter_is_an_outcome_of_the_note_at_its_source(settings):
    raw = [(b"k", marker_of(number).encode()) for number in range(4)]
    produce(settings, HL7_RAW.name, raw)
    fed = {}
    from streams.demo.flow import read_topic

    for message in read_topic(settings, HL7_RAW.name):
        [number] = numbers_in(message.value())
        fed[number] = message.partition(), message.offset()
    published(settings, 0, 1, 2)
    partition, offset = fed[3]
    source = {"topic": HL7_RAW.name, "partition": partition, "offset": offset}
    letter = {"stage": "intake", "code": "schema", "source": source}
    produce(settings, DEAD_LETTERS.name, [(b"k", orjson.dumps(letter))])

    result = audit(settings, fed)

    assert result.faults == (0, 0, 0, 0), result.examples
    assert dict(result.letters) == {("intake", "schema"): 1}


def test_rebuilt_messages_are_counted_by_their_own_topic(settings):
    settings = settings.model_copy(update={"rebuild_messages": True})
    raw = [(b"k", b"MSH|" * (n > 0) + marker_of(n).encode()) for n in range(4)]
    produce(settings, HL7_RAW.name, raw)
    published(settings, 0, 1, 2, 3)
    published(settings, 1, 1, 2, 9, topic=HL7_SCRUBBED)

    assert found(settings) == NOTHING | {"missing": 1, "doubled": 2}


def test_rebuilt_messages_of_a_key_in_another_order_are_counted(settings):
    published(settings, 0, 1, 2, 3)
    published(settings, 0, 2, 1, 3, topic=HL7_SCRUBBED)

    assert found(settings) == NOTHING | {"order": 1}


def test_every_note_of_the_ward_has_a_marker_of_its_own():
    ward = MarkedWard(seed=3, merges=True, patients=30, note_words=20, split="test")
    messages = [*ward.admissions(), *ward.notes(350)]

    numbers = [n for each in messages for n in numbers_in(each.value)]
    assert numbers == [*range(350)]
    assert len([1 for each in messages if surnames_in(each.value)]) >= 300


@pytest.mark.parametrize("seed", range(8))
def test_a_ward_of_any_seed_has_as_many_notes_as_asked(seed):
    ward = MarkedWard(seed=seed, merges=True, patients=60, note_words=30, split="test")

    for count in (3, 1200):
        numbers = [n for each in ward.notes(count) for n in numbers_in(each.value)]
        assert count == len(numbers)


def test_a_note_holds_a_surname_if_one_was_sent_under_its_identifier():
    ward = MarkedWard(seed=3, merges=True, patients=30, note_words=20, split="test")
    messages = [*ward.admissions(), *ward.notes(350)]
    known = {mrn.encode() for _index, mrn in ward._patients.values()}

    sent = set()
    counts = Counter()
    for each in messages:
        mrn = next((n for n in IDENTIFIER.findall(each.value) if n in known), None)
        surnames = surnames_in(each.value)
        if numbers_in(each.value):
            counts[mrn in sent, bool(surnames)] += 1
        if surnames:
            sent.add(mrn)

    # Those that hold a surname before any was sent give it themselves.
    assert counts[True, False] == 0
    assert counts[True, True] > 200


@pytest.mark.parametrize("number", [0, 1, 64, 65, 123_456, 65**5 - 1])
def test_a_marker_gives_its_number_back(number):
    assert number == number_of(marker_of(number))


@pytest.mark.parametrize("line", LINES)
def test_only_the_patient_record_reveals_a_surname_and_nothing_a_marker(line, hybrid):
    text = f"Progress note.\n{line.format('bodegatiq')}\n{LINE.format(marker_of(7))}"
    patient = PersonName(family="bodegatiq", given="Anna")
    known = KnownIdentifiers(patient_names=(patient,))

    without = hybrid.deidentify(Document("d", text)).text
    assert "bodegatiq" in without
    assert "bodegatiq" not in hybrid.deidentify(Document("d", text, known)).text
    assert numbers_in(without.encode()) == [7]


def test_fewer_messages_than_asked_for_end_the_feed():
    assert take(iter([1]), 5) == [1]


def test_a_newcomer_is_no_patient_of_the_ward():
    ward = MarkedWard(seed=1, merges=True, patients=200, note_words=20, split="test")
    newcomers = {identifier_of(number).encode() for number in range(60)}

    for message in ward.admissions():
        assert not [each for each in newcomers if each in message.value]


def test_what_is_sent_after_the_last_note_of_the_ward_is_confirmed(settings):
    ward = MarkedWard(seed=3, merges=True, patients=30, note_words=20, split="test")
    feed = Feed(settings, ward, 5, SimpleNamespace(done=5), window=10)
    for message in ward.admissions():
        feed.send(message)
    feed.start()
    wait_until(lambda: feed.is_through)
    time.sleep(0.2)

    feed.send(ward.note_of(ward.keys()[0]))

    try:
        wait_until(lambda: len(feed.places) == 6, 20)
    finally:
        feed.close()


def test_a_message_whose_offset_the_broker_does_not_tell_is_found(settings):
    """Sent again to a new leader, it is there already."""
    feed = Feed(settings, MarkedWard(seed=3), 0, SimpleNamespace(done=0), window=10)
    value = f"rounds. {marker_of(7)}".encode()
    produce(settings, HL7_RAW.name, [(b"k", b"another"), (b"k", value)])

    feed._delivered({7}, None, Message(topic=HL7_RAW.name, partition=0, offset=-1001))
    assert feed.places == {}

    [(number, (_partition, offset))] = feed.all_places().items()
    assert (number, offset) == (7, 1)
