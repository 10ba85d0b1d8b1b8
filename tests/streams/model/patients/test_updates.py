"""Patient updates: folded by event time, and forwarded between linked identifiers."""

import itertools
from collections import deque
from dataclasses import replace

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.errors import InvalidRecord
from streams.kafka.topics import PATIENT_UPDATES
from streams.model.patients.demographics import (
    MAX_VALUES,
    Demographics,
    Name,
    PatientId,
    PatientRecord,
)
from streams.model.patients.updates import PatientUpdate, decode_update, fold
from tests.sampling import examples
from tests.streams.engine.records_strategy import records

A, B, C = (PatientId("WARD", letter) for letter in "ABC")


def said(patient, day=1, *, merged=(), **lists):
    time = f"2024-01-{day:02}T00:00:00"
    return PatientUpdate(
        PatientRecord(patient, time, Demographics(**lists), merged=tuple(merged))
    )


def encoded(update):
    return orjson.dumps(PATIENT_UPDATES.schema.versioned(update.to_json()))


@given(records(), st.booleans())
def test_an_update_survives_its_json(record, is_forwarded):
    update = PatientUpdate(replace(record, times={"names": "2024"}), is_forwarded)

    assert update == decode_update(encoded(update))


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"{", "not JSON"),
        (b"7", "must be of type object"),
        (b'{"patient": {"id": "1"}}', "lacks assigning_authority"),
        (
            b'{"patient": {"assigning_authority": "", "id": "1", "id": "2"}}',
            "gives a name twice",
        ),
        (
            b'{"patient": {"assigning_authority": "", "id": "1"},'
            b' "former": {"birth_dates": ["2023-02-30"]}}',
            r"former\.birth_dates: must be dates",
        ),
    ],
)
def test_refuses_what_is_no_update_and_never_shows_it(value, says):
    with pytest.raises(InvalidRecord, match=says):
        decode_update(value)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_each_list_is_that_of_the_latest_message_that_has_it(order):
    one, two = Name("One"), Name("Two")
    updates = [
        said(A, 1, names=(one,), phones=("555-1",)),
        said(A, 2, names=(two,)),
        said(A, 3, phones=("555-3",)),
    ]

    known = None
    for number in order:
        known = fold(known, updates[number]).record

    assert ((two,), ("555-3",)) == (known.current.names, known.current.phones)
    assert ((one,), ("555-1",)) == (known.former.names, known.former.phones)
    assert known.updated_at == "2024-01-03T00:00:00"
    assert known.times == {"names": "2024-01-02T00:00:00"}


def test_of_updates_of_one_time_the_one_read_later_is_current():
    known = fold(None, said(A, 1, phones=("555-1",))).record

    assert fold(known, said(A, 1, phones=("555-2",))).record.current.phones == (
        "555-2",
    )


def test_the_same_update_again_changes_and_forwards_nothing():
    linked = fold(None, said(A, 1, names=(Name("One"),), merged=(B,))).record
    update = said(A, 2, names=(Name("Two"),))
    first = fold(linked, update)

    again = fold(first.record, update)

    assert len(first.forwards) == 1
    assert (first.record, ()) == (again.record, again.forwards)


def test_a_merge_said_again_changes_nothing_and_forwards_all_that_is_known():
    first = fold(None, said(A, 1, names=(Name("One"),), merged=(B, C)))

    again = fold(first.record, said(A, 1, merged=(B,)))

    assert first.record == again.record
    [forward] = again.forwards
    assert (forward.record.patient, forward.is_forwarded) == (B, True)
    assert forward.record.current.names == (Name("One"),)


def test_more_identifiers_than_are_kept_are_refused():
    others = [PatientId("WARD", f"X{n}") for n in range(MAX_VALUES + 1)]

    with pytest.raises(InvalidRecord, match="too_many"):
        fold(None, said(A, merged=others))


class Partitions:
    """The records of all patients, and one log of updates per patient."""

    def __init__(self):
        self.known = {}
        self.logs = {}
        self.folded = 0

    def publish(self, update):
        self.logs.setdefault(update.record.patient, deque()).append(update)

    def step(self, patient):
        update = decode_update(encoded(self.logs[patient].popleft()))
        folded = fold(self.known.get(patient), update)
        self.known[patient] = folded.record
        self.folded += 1
        for each in folded.forwards:
            self.publish(each)

    def run(self, choose):
        while waiting := sorted(p.id for p, log in self.logs.items() if log):
            self.step(PatientId("WARD", choose(waiting)))


def phones_of(record):
    return {*record.current.phones, *record.former.phones}


def merge(survivor, retired, day):
    """Return what intake writes for an A40: an update for either identifier."""
    return [
        said(survivor, day, merged=[retired]),
        said(retired, day, merged=[survivor]),
    ]


@settings(max_examples=examples(60))
@given(st.data())
def test_after_any_chain_of_merges_each_identifier_knows_what_all_knew(data):
    """Merges may come before their patients, and in any order of processing."""
    people = [PatientId("WARD", f"P{n}") for n in range(4)]
    events = [[said(p, n + 1, phones=(f"555-{n}",))] for n, p in enumerate(people)]
    events += [
        merge(one, other, 20 + n)
        for n, (one, other) in enumerate(itertools.pairwise(people))
    ]
    events += [[said(p, n + 10, phones=(f"555-1{n}",))] for n, p in enumerate(people)]
    partitions = Partitions()
    for event in data.draw(st.permutations(events)):
        for update in event:
            partitions.publish(update)
        if data.draw(st.booleans()):
            partitions.run(lambda waiting: data.draw(st.sampled_from(waiting)))
    partitions.run(lambda waiting: data.draw(st.sampled_from(waiting)))

    everything = {f"555-{n}" for n in range(4)} | {f"555-1{n}" for n in range(4)}
    for person in people:
        assert everything == phones_of(partitions.known[person])
        others = {each for each in people if each != person}
        assert others == set(partitions.known[person].merged)
    assert partitions.folded < 200


def test_what_comes_after_a_merge_is_known_under_either_identifier():
    partitions = Partitions()
    for update in (*merge(A, B, 1), said(B, 2, names=(Name("Later"),))):
        partitions.publish(update)

    partitions.run(min)

    assert partitions.known[A].current.names == (Name("Later"),)


def test_an_erased_identifier_knows_all_again_when_its_merge_is_said_again():
    partitions = Partitions()
    for update in (said(A, 1, phones=("555-1",)), *merge(A, B, 2)):
        partitions.publish(update)
    partitions.run(min)
    del partitions.known[B]

    for update in (said(B, 3, phones=("555-2",)), *merge(A, B, 4)):
        partitions.publish(update)
    partitions.run(max)

    for patient in (A, B):
        assert phones_of(partitions.known[patient]) == {"555-1", "555-2"}


def test_the_identifiers_of_a_link_do_not_become_one():
    partitions = Partitions()
    for update in (*merge(A, B, 1), *merge(B, C, 2)):
        partitions.publish(update)

    partitions.run(max)

    assert {
        person: set(record.merged) for person, record in partitions.known.items()
    } == {A: {B, C}, B: {A, C}, C: {A, B}}
