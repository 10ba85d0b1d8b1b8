"""Merging records of patients into the table, whatever a record does."""

from __future__ import annotations

from types import SimpleNamespace

import orjson
import pytest

from streams.cluster.partitioner import partition_of
from streams.cluster.topics import PATIENTS
from streams.engine.claim import Claim
from streams.engine.deadline import Overrun, without_limit
from streams.patients import table as patients_table
from streams.patients.demographics import Demographics, Name, PatientId, PatientRecord
from streams.patients.store import Table
from streams.patients.table import READ_AT_ONCE, UNREADABLE, PatientsTable
from tests.streams.cluster.local_broker import Crash

BAD = "Zzbadquist"


def record(number, family):
    patient = PatientId("N", str(number))
    made = PatientRecord(patient, "", Demographics(names=(Name(family),)))
    return patient.key, orjson.dumps(PATIENTS.schema.versioned(made.to_json()))


def messages(records, first=0):
    return [
        SimpleNamespace(
            key=lambda key=key: key,
            value=lambda value=value: value,
            offset=lambda offset=offset: offset,
            partition=lambda: 0,
        )
        for offset, (key, value) in enumerate(records, first)
    ]


@pytest.fixture
def opened(tmp_path):
    """Return a table of patients on a store alone, as its next owner opens it."""

    def opened(limited=without_limit):
        patients = object.__new__(PatientsTable)
        table = Table(tmp_path / "t", "topic", oldest=1e9)
        table.write_claim(table.claim.taken_over(READ_AT_ONCE).released())
        patients._tables, patients._reached = {0: table}, {0: table.next_offset}
        patients._count, patients._limited = 1, limited
        patients._merge_seconds, patients.incomplete = 1.0, set()
        return patients

    return opened


@pytest.fixture
def deadly(monkeypatch):
    """A merge that does something at one family name."""
    inner = patients_table.merge_records

    def deadly(trouble):
        def merge_records(older, newer):
            if newer.current.names[0].family == BAD:
                raise trouble
            return inner(older, newer)

        monkeypatch.setattr(patients_table, "merge_records", merge_records)

    return deadly


def two_of(numbers):
    """Return a first and a second record of each patient; the second is merged."""
    first = [record(number, "Before") for number in numbers]
    return first, [record(n, BAD if n == 3 else "After") for n in numbers]


@pytest.mark.parametrize("trouble", [ZeroDivisionError(), Overrun()])
def test_a_record_that_cannot_be_merged_refuses_its_patient_alone(
    opened, deadly, trouble
):
    deadly(trouble)
    first, second = two_of(range(6))
    patients = opened()

    patients._apply(0, messages(first + second))

    table = patients._tables[0]
    assert 12 == table.next_offset
    rows = [table.get(key) for key, _ in first]
    assert [3] == [n for n, row in enumerate(rows) if row == UNREADABLE]


def test_memory_that_runs_out_refuses_no_patient(opened, deadly):
    deadly(MemoryError())
    first, second = two_of(range(6))

    with pytest.raises(MemoryError):
        opened()._apply(0, messages(first + second))


def test_a_record_that_ends_who_merges_it_is_refused_after_three_deaths(opened, deadly):
    deadly(Crash())
    first, second = two_of(range(6))
    log = messages(first + second)
    deaths = 0
    for _ in range(6):
        patients = opened()
        table = patients._tables[0]
        try:
            patients._apply(0, log[table.next_offset :])
            break
        except Crash:
            deaths += 1
            table.close()

    assert 3 == deaths
    assert 12 == table.next_offset
    assert UNREADABLE == table.get(first[3][0])
    assert all(table.get(k) != UNREADABLE for n, (k, _) in enumerate(first) if n != 3)


def test_as_many_suspects_as_are_read_at_once_are_merged_one_by_one(opened):
    patients = opened()
    table = patients._tables[0]
    table.write_claim(Claim(suspects=READ_AT_ONCE))
    log = messages(record(n, "Smith") for n in range(READ_AT_ONCE + 10))

    patients._apply(0, log)

    assert READ_AT_ONCE + 10 == table.next_offset == table.rows
    assert Claim() == table.claim


def test_every_key_of_these_tests_lies_where_it_is_put():
    assert 0 == partition_of(record(1, "x")[0], 1)
