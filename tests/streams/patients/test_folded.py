"""What the last values of `patients` lack of earlier ones, folded on disk."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.cluster.topics import PATIENTS
from streams.engine.errors import StateLocked
from streams.engine.records import Partition, Record
from streams.patients.demographics import (
    MAX_VALUES,
    Demographics,
    PatientId,
    PatientRecord,
    merge_records,
)
from streams.patients.folded import FoldedPatients
from streams.patients.migration import remove_tables
from tests.sampling import examples
from tests.streams.engine.records_strategy import records
from tests.streams.tables.changelog import held_by_another_process

A, B, C, D = (PatientId("WARD", letter) for letter in "ABCD")


def said(patient, *phones, day=1, merged=(), former=()):
    time = f"2024-01-{day:02}T00:00:00"
    current, before = Demographics(phones=phones), Demographics(phones=former)
    return PatientRecord(patient, time, current, before, merged)


def value_of(record):
    return orjson.dumps(PATIENTS.schema.versioned(record.to_json()))


def topic_of(*values):
    """Return records of `patients`: of patient records, ids (erased), or raw values."""
    pairs = []
    for each in values:
        if isinstance(each, PatientRecord):
            pairs.append((each.patient.key, value_of(each)))
        elif isinstance(each, PatientId):
            pairs.append((each.key, None))
        else:
            pairs.append(each)
    where = Partition("patients", 0)
    return [Record(where, n, key, value) for n, (key, value) in enumerate(pairs)]


@contextmanager
def folded(records, folder=None):
    folder = folder or Path(tempfile.mkdtemp())
    patients = FoldedPatients(folder / "migrate")
    try:
        # In pieces, as they arrive.
        for at in range(0, len(records), 3):
            patients.add(records[at : at + 3])
        patients.link()
        yield patients
    finally:
        patients.close()
        assert not (folder / "migrate").exists()
        shutil.rmtree(folder, ignore_errors=True)


def lacking(*values):
    with folded(topic_of(*values)) as patients:
        return {
            key: PatientRecord.from_json(orjson.loads(value))
            for key, value in patients.lacking()
        }


def test_a_last_value_that_lacks_an_earlier_one_becomes_the_union():
    found = lacking(said(A, "1"), said(B, "7"), said(A, "2", day=2))

    assert {A.key: said(A, "2", day=2, former=("1",))} == found


def test_a_last_value_that_came_late_does_not_become_current():
    found = lacking(said(A, "2", day=2), said(A, "1", day=1))

    assert {A.key: said(A, "2", day=2, former=("1",))} == found


@pytest.mark.parametrize(
    "values",
    [
        [said(A, "1")],
        [said(A, "1"), said(A, "2", day=2, former=("1",))],
        [said(A, "1"), said(A, "1")],
        [said(A, "1"), A],
        [said(A, "1"), A, said(A, "2")],
        [A],
        [],
        [said(A, "1", merged=(B,)), said(B, "1", merged=(A,))],
    ],
)
def test_nothing_is_written_where_the_last_value_is_whole(values):
    assert {} == lacking(*values)


def test_what_a_tombstone_erased_does_not_return():
    found = lacking(said(A, "1"), A, said(A, "2", day=2), said(A, "3", day=3))

    assert {A.key: said(A, "3", day=3, former=("2",))} == found


@pytest.mark.parametrize(
    "bad", [b"ZZMARKER", b"{}", value_of(said(B, "9")), b'{"schema_version": 2}']
)
def test_a_last_value_that_is_broken_stays_and_is_named_by_its_position(bad):
    records = topic_of(said(A, "1"), said(A, "2", day=2), (A.key, bad), said(B, "1"))

    with folded(records) as patients:
        assert [] == [*patients.lacking()]
        assert ["patients[0]@2"] == [*patients.refused()]
        assert 2 == len(patients)


def test_a_broken_value_that_others_follow_hides_none_of_them():
    found = lacking(said(A, "1"), (A.key, b"ZZMARKER"), said(A, "2", day=2))

    assert {A.key: said(A, "2", day=2, former=("1",))} == found


def test_linked_identifiers_get_each_others_values_along_a_chain():
    found = lacking(
        said(A, "1", merged=(B,), day=3), said(B, "2", merged=(C,)), said(C, "3")
    )

    assert {A.key, B.key, C.key} == found.keys()
    for patient in (A, B, C):
        record = found[patient.key]
        assert {A, B, C} == {record.patient, *record.merged}
        assert patient == record.patient
        assert (("1",), {"2", "3"}) == (
            record.current.phones,
            {*record.former.phones},
        )


def test_an_erased_identifier_stays_erased_and_still_links_the_others():
    found = lacking(
        said(A, "1", merged=(B,)), said(B, "2", merged=(A, C)), said(C, "3"), B
    )

    # The links of B went with it; only that of A to B is left.
    assert {} == found

    found = lacking(said(A, "1", merged=(B,)), said(B, "2"), said(C, merged=(B,)), B)

    assert {A.key, C.key} == found.keys()
    assert {B, C} == {*found[A.key].merged}


def test_more_identifiers_than_are_kept_are_left_and_named():
    many = tuple(PatientId("X", f"{n}") for n in range(MAX_VALUES))
    records = topic_of(said(A, "1", merged=many), said(B, "2", merged=(A,)))

    with folded(records) as patients:
        assert [] == [*patients.lacking()]
        assert ["patients[0]@0", "patients[0]@1"] == [*patients.refused()]


readable = st.just("") | st.datetimes().map(lambda when: when.isoformat())
histories = st.lists(
    st.tuples(st.sampled_from((A, B, C, D)), st.none() | records(readable)), max_size=12
)


@given(histories)
@settings(max_examples=examples(30))
def test_every_patient_without_links_gets_the_union_of_what_follows_its_tombstone(
    history,
):
    values = [
        patient if each is None else replace(each, patient=patient, merged=())
        for patient, each in history
    ]
    expected = {}
    for each in values:
        if isinstance(each, PatientId):
            expected.pop(each, None)
        else:
            expected.setdefault(each.patient, []).append(each)

    found = lacking(*values)

    for patient, said_of_it in expected.items():
        union = reduce(merge_records, said_of_it)
        if patient.key in found:
            assert union == found[patient.key]
        else:
            assert parts(union) == parts(said_of_it[-1])
    assert found.keys() <= {each.key for each in expected}


def parts(record):
    return [
        {*getattr(part, name)}
        for part in (record.current, record.former)
        for name in ("names", "birth_dates", "addresses", "phones", "ids", "kin")
    ]


@given(
    st.lists(
        st.tuples(
            st.sampled_from((A, B, C, D)),
            st.none() | records(),
            st.lists(st.sampled_from((A, B, C, D)), max_size=2),
        ),
        max_size=12,
    ),
    st.data(),
)
@settings(max_examples=examples(30))
def test_after_any_part_was_written_another_run_ends_with_the_same_values(
    history, data
):
    """A run may be killed after any transaction; the topic is read again from it."""
    topic = topic_of(
        *(
            patient if each is None else replace(each, patient=patient, merged=(*to,))
            for patient, each, to in history
        )
    )
    with folded(topic) as patients:
        whole = dict(patients.lacking())
    count = data.draw(st.integers(0, len(whole)))
    written = [*whole.items()][:count]

    def after(pairs):
        more = [(each.key, each.value) for each in topic] + [*pairs]
        return topic_of(*more)

    with folded(after(written)) as patients:
        rest = dict(patients.lacking())
    with folded(after([*written, *rest.items()])) as patients:
        assert {} == dict(patients.lacking())
    assert {key: content(raw) for key, raw in whole.items()} == {
        key: content(raw) for key, raw in {**dict(written), **rest}.items()
    }


def content(raw):
    record = PatientRecord.from_json(orjson.loads(raw))
    return (*parts(record), {*record.merged}, record.updated_at)


def test_a_folder_in_use_is_waited_for_and_one_that_was_left_is_emptied(tmp_path):
    first = FoldedPatients(tmp_path / "migrate")
    first.add(topic_of(said(A, "1")))

    with pytest.raises(StateLocked):
        FoldedPatients(tmp_path / "migrate")
    assert 1 == len(first)
    shutil.copytree(tmp_path / "migrate", tmp_path / "left")
    first.close()
    (tmp_path / "left" / "LOCK").unlink()
    second = FoldedPatients(tmp_path / "left")

    assert 0 == len(second)
    second.close()
    assert [] == [*tmp_path.iterdir()]


def test_tables_of_intake_are_not_deleted_under_a_living_owner(tmp_path):
    folder = tmp_path / "intake-0"
    with held_by_another_process(folder / "patients-0"):
        before = {path.name for path in (folder / "patients-0").iterdir()}
        with pytest.raises(StateLocked):
            remove_tables([folder])
        assert before == {path.name for path in (folder / "patients-0").iterdir()}

    remove_tables([folder])
    assert not folder.exists()
