from dataclasses import replace
from datetime import date
from functools import reduce

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core.document import Address, KnownId, PersonName
from deid_core.labels import Label
from streams.engine.errors import InvalidRecord
from streams.kafka.topics import PATIENTS
from streams.model.patients.demographics import (
    ACCUMULATING,
    MAX_VALUES,
    SNAPSHOT,
    Demographics,
    Identifier,
    Kin,
    Name,
    PatientId,
    PatientRecord,
    merge_records,
)
from streams.model.patients.known_identifiers import known_identifiers
from tests.sampling import examples
from tests.streams.engine.records_strategy import demographics, records

EARLY, LATE = "2024-01-01T00:00:00", "2024-02-01T00:00:00"
PATIENT = PatientId("WARD", "4711")
MAIDEN = Demographics(names=(Name("Sample", "Edith"),), phones=("555-0100",))
MARRIED = Demographics(names=(Name("Example", "Edith"),))

any_text = st.text(alphabet="ab|\\", max_size=6)


def record(updated_at, current, **values):
    return PatientRecord(PATIENT, updated_at, current, **values)


@given(any_text, any_text, any_text, any_text)
def test_no_two_patients_share_a_key(authority, id_, other_authority, other_id):
    one = PatientId(authority, id_ or "1")
    other = PatientId(other_authority, other_id or "1")

    assert (one == other) == (one.key == other.key)


def test_the_key_reads_as_authority_and_id():
    assert PATIENT.key == b"WARD|4711"


def values_of(record):
    """Return all values of a record's lists, current and former."""
    return frozenset(
        (name, each)
        for part in (record.current, record.former)
        for name in SNAPSHOT + ACCUMULATING
        for each in getattr(part, name)
    )


def test_refuses_an_empty_identifier():
    with pytest.raises(InvalidRecord, match="no_patient"):
        PatientId("WARD", "")


@given(records())
def test_a_record_survives_its_json(one):
    value = orjson.loads(orjson.dumps(PATIENTS.schema.versioned(one.to_json())))

    PATIENTS.schema.check(value)
    assert one == PatientRecord.from_json(value)


@given(demographics)
def test_demographics_survive_their_json(one):
    assert one == Demographics.from_json(orjson.loads(orjson.dumps(one.to_json())))


def test_reads_past_properties_of_a_later_minor_version():
    value = record(EARLY, MAIDEN).to_json()
    value["current"]["names"][0]["nickname"] = "Eddie"
    value["current"]["shoe_size"] = 40
    value["deceased"] = True
    value["patient"]["check_digit"] = "1"

    assert record(EARLY, MAIDEN) == PatientRecord.from_json(value)


@given(records())
def test_folding_a_record_with_itself_changes_nothing(one):
    assert one == merge_records(one, one)
    assert one == merge_records(None, one)


@given(records(), records())
def test_folding_a_record_again_changes_nothing(one, other):
    once = merge_records(one, other)

    assert once == merge_records(once, other)


@settings(max_examples=examples(30))
@given(st.lists(records(), min_size=1, max_size=4))
def test_no_value_is_ever_lost(all_of_them):
    said = frozenset().union(*map(values_of, all_of_them))

    assert said == values_of(reduce(merge_records, all_of_them))


@settings(max_examples=examples(30))
@given(st.lists(records(), min_size=2, max_size=4), st.randoms())
def test_the_order_of_arrival_changes_no_knowledge(all_of_them, random):
    shuffled = random.sample(all_of_them, len(all_of_them))
    one, other = reduce(merge_records, all_of_them), reduce(merge_records, shuffled)

    assert values_of(one) == values_of(other)
    assert set(one.merged) == set(other.merged)
    assert set(vars_of(known_identifiers(one))) == set(
        vars_of(known_identifiers(other))
    )


def vars_of(known):
    """Return the values that identify; the sex is that of the latest message."""
    names = set(known.__slots__) - {"sex"}
    return {(name, each) for name in names for each in getattr(known, name)}


def test_a_later_message_makes_what_it_displaces_former():
    after = merge_records(record(EARLY, MAIDEN), record(LATE, MARRIED))

    assert MARRIED.names == after.current.names
    assert MAIDEN.names == after.former.names
    assert MAIDEN.phones == after.current.phones
    assert after.former.phones == ()


def test_an_older_message_that_arrives_late_only_adds_to_former():
    before = record(LATE, MARRIED)

    after = merge_records(before, record(EARLY, replace(MAIDEN, phones=())))

    assert before.current == after.current
    assert after.updated_at == LATE
    assert MAIDEN.names == after.former.names


def test_a_value_that_comes_back_is_current_again():
    once = merge_records(record(EARLY, MAIDEN), record(LATE, MARRIED))

    again = merge_records(once, record("2024-03-01T00:00:00", MAIDEN))

    assert MAIDEN.names == again.current.names
    assert MARRIED.names == again.former.names


@pytest.mark.parametrize(
    ("first", "second", "latest"),
    [
        (EARLY, "", EARLY),
        ("", EARLY, EARLY),
        ("", "", ""),
        (EARLY, "some day", EARLY),
        (EARLY, EARLY, EARLY),
        ("2024-01-01T00:30:00+01:00", EARLY, EARLY),
    ],
)
def test_without_a_time_to_compare_the_later_to_arrive_is_current(
    first, second, latest
):
    after = merge_records(record(first, MAIDEN), record(second, MARRIED))

    assert (MARRIED.names, latest) == (after.current.names, after.updated_at)


def test_a_record_without_a_time_does_not_hold_up_later_ones():
    undated = merge_records(record(EARLY, MAIDEN), record("", MARRIED))

    assert MAIDEN.names == merge_records(undated, record(LATE, MAIDEN)).current.names


@pytest.mark.parametrize("name", ACCUMULATING)
def test_what_belongs_to_encounters_only_grows(name):
    one = record(EARLY, Demographics(**{name: ("one",)}))
    other = record(LATE, Demographics(**{name: ("other",)}))

    assert getattr(merge_records(one, other).current, name) == ("one", "other")


def test_beyond_the_bound_the_oldest_is_forgotten():
    known = None
    for number in range(MAX_VALUES + 2):
        phones = Demographics(phones=(f"555-{number:04}",))
        known = merge_records(
            known, record(f"2024-01-01T00:{number // 60:02}:{number % 60:02}", phones)
        )

    assert len(known.former.phones) == MAX_VALUES
    assert known.former.phones[0] == "555-0001"
    PATIENTS.schema.check(PATIENTS.schema.versioned(known.to_json()))


def test_knows_current_and_former_values_and_merged_identifiers():
    current = Demographics(
        names=(Name("Example", "Edith", "Q", "Mrs", "Jr", "L"),),
        birth_dates=("1948-02-29",),
        addresses=(Address("1 Row"),),
        phones=("555-0100",),
        emails=("e@example.org",),
        ids=(Identifier("000-00-0000", "SS"), Identifier("X1", "??")),
        kin=(Kin(Name("Example", "Emil"), "SPO"), Kin()),
        providers=(Name("Healer", "Hanna"),),
        facilities=("Invented General",),
        employers=("Example Works",),
    )
    former = Demographics(names=(Name("Sample", "Edith"),), phones=("555-0101",))
    mine = record(LATE, current, former=former, merged=(PatientId("WARD", "0815"),))

    known = known_identifiers(mine, Demographics(phones=("555-0102",)), None)

    assert known.patient_names == (
        PersonName("Example", "Edith", "Q", "Mrs", "Jr"),
        PersonName("Sample", "Edith"),
    )
    assert known.kin_names == (PersonName("Example", "Emil"),)
    assert known.provider_names == (PersonName("Healer", "Hanna"),)
    assert known.birth_dates == (date(1948, 2, 29),)
    assert known.addresses == (Address("1 Row"),)
    assert known.phones == ("555-0100", "555-0101", "555-0102")
    assert known.emails == ("e@example.org",)
    assert known.ids == (
        KnownId("000-00-0000", Label.SSN),
        KnownId("X1", Label.IDNUM),
        KnownId("4711", Label.MEDICALRECORD),
        KnownId("0815", Label.MEDICALRECORD),
    )
    assert known.facilities == ("Invented General",)
    assert known.employers == ("Example Works",)


def test_nothing_is_known_of_nobody():
    assert not known_identifiers(None)


@given(records())
def test_no_repr_shows_a_value(one):
    shown = repr(replace(one, merged=()))

    assert (
        shown.removeprefix("PatientRecord(patient=")
    ) == "PatientId(), current=Demographics(), former=Demographics(), merged=())"


@pytest.mark.parametrize(
    ("own", "of_the_note", "sex"),
    [("F", "", "F"), ("F", "M", "F"), ("", "M", "M"), ("U", "M", "M"), ("O", "", "")],
)
def test_the_sex_that_is_known_is_that_of_the_record_then_that_of_the_note(
    own, of_the_note, sex
):
    record = PatientRecord(PatientId("A", "1"), "", Demographics(sex=own))

    known = known_identifiers(record, Demographics(sex=of_the_note))

    assert known.sex == sex
    assert "'F'" not in repr(known)
    assert not known_identifiers(None, Demographics(sex="F"))
