"""The examples that publish patients, without Kafka: values, erasures, refusals."""

from __future__ import annotations

import json

import pytest

from streams.model.patients.demographics import PatientId
from streams.model.patients.updates import decode_update, fold
from tests.deploy.example import load

index = load("patient_index")
changes = load("patient_changes")

ROW = dict.fromkeys(index.COLUMNS, "") | {
    "authority": "NORTH",
    "id": "48291",
    "updated_at": "2024-03-14T10:00:00+01:00",
    "family": "Quellwright",
    "given": "Mabelle",
    "former_families": "Marsh; Ngo",
    "birth_date": "1952-03-14",
    "city": "Lisle",
    "phones": "555-0100;555-0101",
    "ssn": "078-05-1120",
    "linked_ids": "10077",
}


def csv_of(*rows, header=index.COLUMNS):
    lines = [header, *(list(row.values()) for row in rows)]
    return "\n".join(",".join(f'"{each}"' for each in line) for line in lines)


@pytest.mark.parametrize("module", [index, changes])
@pytest.mark.parametrize("part", ["", "A", "A|B", "\\", "\\|", "ä"])
def test_an_example_makes_the_key_that_phistream_expects(module, part):
    patient = {"assigning_authority": part, "id": part + "1"}

    assert PatientId(part, part + "1").key == module.patient_key(patient)


def test_a_row_of_an_index_is_an_update_with_former_names_and_linked_identifiers():
    key, value = index.record(ROW)

    update = decode_update(value)
    record = fold(None, update).record
    assert key == record.patient.key
    assert [name.family for name in record.current.names] == ["Quellwright"]
    assert [name.family for name in record.former.names] == ["Marsh", "Ngo"]
    assert {name.given for name in record.former.names} == {"Mabelle"}
    assert record.current.phones == ("555-0100", "555-0101")
    assert [(i.value, i.type) for i in record.current.ids] == [("078-05-1120", "SS")]
    assert record.merged == (PatientId("NORTH", "10077"),)


def test_a_row_with_nothing_but_the_patient_is_an_update_and_an_erased_one_is_null():
    least = dict.fromkeys(index.COLUMNS, "") | {"id": "7"}

    assert {"patient", "demographics"} >= json.loads(index.record(least)[1]).keys()
    assert index.record(least | {"erased": "yes"}) == (b"|7", None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (csv_of(ROW, ROW | {"birth_date": "ZZMARKER"}), "line 3: birth_date: must be"),
        (csv_of(ROW | {"updated_at": "ZZMARKER"}), "line 2: updated_at: must be ISO"),
        (csv_of(ROW | {"id": ""}), "line 2: id: is empty"),
        (csv_of(ROW | {"erased": "ZZMARKER"}), 'line 2: erased: must be "yes"'),
        (csv_of(ROW) + '\n"ZZMARKER"', "line 3: has not as many values"),
        (csv_of(ROW) + ',"ZZMARKER"', "line 2: has not as many values"),
        (csv_of(ROW, header=list(ROW.values())), "the header must have the columns"),
        (csv_of(ROW) + '\n"ZZMARKER', "unexpected end of data"),
    ],
)
def test_an_export_that_is_not_as_described_is_refused_by_line_and_column(
    tmp_path, text, says
):
    file = tmp_path / "export.csv"
    file.write_text(text, "utf-8")

    with pytest.raises(SystemExit) as caught:
        index.main("127.0.0.1:9", file)

    assert says in str(caught.value)
    assert "ZZMARKER" not in str(caught.value)
    assert "Quellwright" not in str(caught.value)


def test_an_export_in_another_character_set_is_refused(tmp_path):
    file = tmp_path / "export.csv"
    file.write_bytes(csv_of(ROW | {"family": "Ångström"}).encode("latin-1"))

    with pytest.raises(SystemExit, match="is not UTF-8"):
        [*index.records(file)]


COLUMNS = {
    "mrn": "48291",
    "facility": "NORTH",
    "last_name": "Marsh",
    "first_name": "Mabelle",
    "middle_name": None,
    "date_of_birth": -6502,
    "sex": "F",
    "street": "12 Elm St",
    "city": "Lisle",
    "state": "IL",
    "zip": "60532",
    "phone": "555-0100",
    "mobile": None,
    "email": None,
    "ssn": None,
    "internal_counter": 7,
}
AT = 1_710_406_800_000


def change(op, before=None, after=None, at=AT):
    return {"op": op, "before": before, "after": after, "source": {"ts_ms": at}}


def updated(event):
    key, value = changes.record(event)
    update = decode_update(value)
    assert key == update.record.patient.key
    return update.record


@pytest.mark.parametrize("op", ["c", "r"])
def test_a_new_row_and_one_of_a_snapshot_say_what_they_hold(op):
    record = updated(change(op, after=COLUMNS))

    assert record.updated_at == "2024-03-14T09:00:00+00:00"
    assert record.current.birth_dates == ("1952-03-14",)
    assert [name.family for name in record.current.names] == ["Marsh"]
    assert record.current.phones == ("555-0100",)
    assert not record.merged


def test_what_a_row_lost_is_former_and_what_it_kept_is_not():
    married = COLUMNS | {"last_name": "Quellwright", "phone": None}

    record = updated(change("u", before=COLUMNS, after=married))

    assert [name.family for name in record.current.names] == ["Quellwright"]
    assert [name.family for name in record.former.names] == ["Marsh"]
    assert record.former.phones == ("555-0100",)
    assert record.former.birth_dates == ()


def test_a_changed_identifier_links_both_patients():
    record = updated(change("u", before=COLUMNS, after=COLUMNS | {"mrn": "9"}))

    assert PatientId("NORTH", "9") == record.patient
    assert record.merged == (PatientId("NORTH", "48291"),)


def test_a_deleted_row_erases_its_patient():
    assert changes.record(change("d", before=COLUMNS)) == (b"NORTH|48291", None)


def test_a_large_value_that_did_not_change_is_not_published():
    after = COLUMNS | {"street": changes.UNAVAILABLE}

    assert updated(change("u", COLUMNS, after)).current.addresses[0].street == ""


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (change("t"), "op: must be one of c, r, u, d"),
        (change("d"), "has no row; see REPLICA IDENTITY"),
        (change("d", before={"mrn": None, "facility": None}), "mrn: is empty"),
        (change("d", before={"mrn": "ZZMARKER"}), "lacks the column facility"),
        (change("u", COLUMNS, COLUMNS | {"phone": ["ZZMARKER"]}), "phone: must be a"),
        (change("c", after=COLUMNS, at="ZZMARKER"), "ts_ms: must be a number"),
        (change("c"), "has no row"),
    ],
)
def test_a_change_that_is_not_understood_is_refused_by_its_column(event, says):
    with pytest.raises(changes.InvalidEvent, match=says) as caught:
        changes.record(event)

    assert "ZZMARKER" not in str(caught.value)


@pytest.mark.parametrize("value", [b"ZZMARKER", b"[]", b'{"payload": null}'])
def test_a_record_that_is_no_change_event_is_refused(value):
    with pytest.raises(changes.InvalidEvent, match=r"is (not JSON|no change event)"):
        changes.event_of(value)


def test_an_event_is_read_with_its_schema_and_without():
    event = change("c", after=COLUMNS)

    for given in (event, {"schema": {}, "payload": event}):
        assert event == changes.event_of(json.dumps(given).encode())
