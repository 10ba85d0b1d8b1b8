"""Two keys at once: the time of a message decides, and every output says which."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import orjson
import pytest

from deid_core import ConfigError, Deidentifier
from streams.engine.keys.ring import PseudonymKey, PseudonymKeys
from streams.kafka.partitioner import partition_of
from streams.model.outputs import KEY_ID, RECEIVED
from streams.pipeline.publish import Pseudonyms
from streams.pipeline.scrub.held import UnknownPatients
from streams.pipeline.scrub.outputs import ScrubOutputs
from streams.pipeline.scrub.processor import Scrub
from tests.office import OFFICE
from tests.streams.pipeline.scrub.test_scrub import PATIENT, PLACE, ROW, record
from tests.tables import MemoryTable

OLD, NEW = b"o" * 32, b"n" * 32
START = 1_800_000_000_000
KEYS = PseudonymKeys([PseudonymKey(OLD), PseudonymKey(NEW, START)])
TEXT = "Mabel Quellwright, 3/14/2024."


@pytest.fixture(scope="module")
def system():
    return Deidentifier.from_names(policy="surrogate", key=OLD)


@pytest.fixture
def scrub(system):
    table = MemoryTable()
    table.rows[PLACE][PATIENT.key] = ROW
    return scrub_of(system, table, KEYS)


def scrub_of(system, table, keys):
    scrub = Scrub(
        lambda: system,
        table,
        MemoryTable(),
        UnknownPatients(),
        ScrubOutputs(keys, preset="hybrid", policy="surrogate"),
        4,
        office=OFFICE,
        max_bytes=10_000,
        clock=lambda: 2000.0,
    )
    scrub.settled([partition_of(PATIENT.key, 4)])
    return scrub


def received(at_ms, offset=0):
    return replace(
        record(TEXT, offset=offset, written_at="2024-03-14"),
        headers={RECEIVED: b"%013d" % at_ms},
    )


def bodies(outcomes):
    return [orjson.loads(note.value) for note, _audit in outcomes]


def test_each_note_of_a_batch_has_the_key_of_its_time(scrub):
    times = (START - 1, START, START + 1, START - 1)
    outcomes = scrub.process([received(at, n) for n, at in enumerate(times)])

    expected = [(OLD, NEW)[at >= START] for at in times]
    for key, (note, audit) in zip(expected, outcomes, strict=True):
        pseudonyms = Pseudonyms(key)
        for each in (note, audit):
            body = orjson.loads(each.value)
            assert pseudonyms.key_id == body["key_id"]
            assert pseudonyms.patient(PATIENT.key) == body["patient"]
            assert pseudonyms.patient(PATIENT.key).encode() == each.key


def test_surrogates_and_days_are_those_of_a_system_with_that_key_alone(scrub, system):
    """A rotation gives what two deployments would give, one after the other."""
    outcomes = scrub.process([received(START - 1), received(START, 1)])

    found = [(each["text"], each["written_at"]) for each in bodies(outcomes)]
    for (text, day), key in zip(found, (OLD, NEW), strict=True):
        table = MemoryTable()
        table.rows[PLACE][PATIENT.key] = ROW
        alone = scrub_of(system, table, PseudonymKeys.of(key))
        [body] = bodies(alone.process([received(START)]))
        assert (body["text"], body["written_at"]) == (text, day)
    assert found[0] != found[1]
    assert all(date.fromisoformat(day) for _text, day in found)


def test_the_outputs_do_not_depend_on_batches_or_attempts(scrub):
    notes = [received(START + n - 3, n) for n in range(6)]

    together = scrub.process(notes)
    scrub.aborted()
    scrub.rebuild()
    one_by_one = [each for note in reversed(notes) for each in scrub.process([note])]

    assert together == list(reversed(one_by_one))


def test_a_note_without_a_time_has_the_first_key(scrub):
    untimed = replace(received(0), headers={}, timestamp_ms=-1)
    [(note, _audit)] = scrub.process([untimed])

    assert Pseudonyms(OLD).key_id == orjson.loads(note.value)["key_id"]


def test_a_system_with_another_key_shares_its_detectors(system):
    other = system.with_key(NEW)

    assert other is not system
    assert other._detectors is system._detectors
    assert system.with_key(OLD) is system
    with pytest.raises(ConfigError):
        system.with_key(b"short")


def test_a_rebuilt_message_names_its_key(scrub):
    from streams.model.parts import Rebuilt
    from streams.pipeline.scrub.join import Joined

    [joined] = [
        each for each in [scrub._prepared(received(START))] if isinstance(each, Joined)
    ]
    part = replace(joined, note=replace(joined.note, format="hl7"))

    message, audit = scrub._scrubber._outputs.of_message(part, Rebuilt(b"MSH|"), [], 1)

    assert Pseudonyms(NEW).key_id.encode() == message.headers[KEY_ID]
    assert Pseudonyms(NEW).key_id == orjson.loads(audit.value)["key_id"]
