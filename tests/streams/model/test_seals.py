"""Seals: each covers all that a record is, and says nothing without the key."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from streams.engine.errors import ConfigError, InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.engine.records import Output, Partition, Record
from streams.kafka.topics import (
    HL7_RAW,
    NOTES,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PHI_AUDIT,
    Stage,
)
from streams.model.audit import AuditEvent, dead_letter
from streams.model.outputs import HELD, SOURCE, changelog
from streams.model.seals import (
    SEAL,
    Seal,
    Seals,
    audit_key,
    audit_key_text,
    read_audit_key,
)
from tests.office import OFFICE

SECRET = b"k" * 32
SEALS = Seals(audit_key(SECRET))
RECORD = Record(
    Partition(HL7_RAW.name, 2), 9, b"ZZKEY", b"ZZVALUE", {"h": b"ZZHEAD"}, 5
)
HEADERS = {SOURCE: b"hl7.raw/2/9", "schema": b"notes/1"}


def note(value=b"{}", source=RECORD, **headers):
    return Output(NOTES.name, b"N|1", value, HEADERS | headers, source=source)


def event(record=RECORD, outputs=1):
    made = AuditEvent(stage=Stage.INTAKE, outputs=outputs, outcome="held", at_ms=1)
    return made.output(record)


def seal_of(output):
    return Seal.read(output.headers[SEAL])


def fits(output, seals=SEALS):
    """Return whether an output has the seal of its content."""
    seal, headers = seal_of(output), output.headers.items()
    made = seals.of_output(output.topic, output.key, output.value, headers, seal.input)
    return seal == made


def test_an_audit_event_holds_the_digests_of_its_input_and_outputs():
    first, second, audit = SEALS.sealed([note(), note(b"[]"), event(outputs=2)])

    value = orjson.loads(audit.value)
    PHI_AUDIT.schema.check_strictly(value)
    assert value["digests"] == {
        "key_id": SEALS.key_id,
        "input": SEALS.of_input(RECORD).hex(),
        "outputs": {NOTES.name: [seal_of(each).own.hex() for each in (first, second)]},
    }
    assert all(fits(each) for each in (first, second, audit))
    assert seal_of(first) != seal_of(second)


@pytest.mark.parametrize(
    "change",
    [
        {"value": b"{ }"},
        {"value": None},
        {"value": b""},
        {"key": b"N|2"},
        {"key": None},
        {"topic": NOTES_SCRUBBED.name},
        {"headers": {"source": b"hl7.raw/2/8", "schema": b"notes/1"}},
        {"headers": HEADERS | {"held": b"9/time"}},
        {"headers": {"source": b"hl7.raw/2/9"}},
    ],
)
def test_whatever_changes_of_a_record_breaks_its_seal(change):
    [output] = SEALS.sealed([note()])
    seal = output.headers[SEAL]
    changed = replace(output, **change)

    assert fits(output)
    assert not fits(replace(changed, headers=changed.headers | {SEAL: seal}))


@pytest.mark.parametrize(
    "change",
    [
        {"value": b"ZZVALUe"},
        {"value": None},
        {"value": b"", "key": None},
        {"key": b"ZZKEY2"},
        {"offset": 10},
        {"partition": Partition(HL7_RAW.name, 1)},
        {"partition": Partition(NOTES.name, 2)},
    ],
)
def test_another_input_has_another_digest(change):
    other = replace(RECORD, **change)

    assert SEALS.of_input(RECORD) != SEALS.of_input(other)
    assert SEALS.of_input(replace(RECORD, headers={"x": b"y"})) == SEALS.of_input(
        RECORD
    )


def test_parts_that_are_shifted_make_another_digest():
    one = SEALS.of_output("t", b"ab", b"c", [], b"i").own
    other = SEALS.of_output("t", b"a", b"bc", [], b"i").own

    assert one != other


def test_another_key_makes_other_seals_and_has_another_id():
    other = Seals(audit_key(b"o" * 32))
    [output] = SEALS.sealed([note()])

    assert not fits(output, other)
    assert SEALS.key_id != other.key_id


def test_rows_of_tables_and_outputs_without_a_record_have_no_seal():
    row = changelog(NOTES_HELD, b"k", b"{}", RECORD)
    plain = note(source=None)

    assert SEALS.sealed([row, plain]) == [row, plain]
    assert not any(SEAL in each.headers for each in (row, plain))


def test_a_released_note_is_sealed_but_no_audit_event_promises_it():
    again, audit = SEALS.sealed([note(**{HELD: b"9/time"}), event(outputs=0)])

    assert fits(again)
    assert orjson.loads(audit.value)["digests"]["outputs"] == {}


def test_outputs_of_two_inputs_keep_their_own_digests():
    other = replace(RECORD, offset=10)

    *_, audit = SEALS.sealed([note(), note(source=other), event(other)])

    digests = orjson.loads(audit.value)["digests"]
    assert SEALS.of_input(other).hex() == digests["input"]
    assert len(digests["outputs"][NOTES.name]) == 1


def test_seals_show_nothing_of_key_value_or_secret():
    error = InvalidRecord(ReasonCode.NO_PATIENT, "PID-3: why")

    _letter, audit = SEALS.sealed(dead_letter(Stage.INTAKE, RECORD, error, 1, OFFICE))

    shown = repr(SEALS) + repr(audit) + repr(audit.headers) + audit.value.decode()
    assert "ZZ" not in shown
    assert audit_key(SECRET).hex() not in shown


@pytest.mark.parametrize(
    "raw", [b"", b"PATIENT SMITH", b"0a1b2c3d/0/0", b"0a1b2c3d/" + b"g" * 65, b"\xff"]
)
def test_a_malformed_seal_is_none(raw):
    assert Seal.read(raw) is None


def test_the_file_of_an_audit_key_gives_the_key_of_its_pseudonym_key(tmp_path):
    master, derived, broken = (tmp_path / name for name in "mdb")
    master.write_bytes(SECRET + b"\n")
    derived.write_text(audit_key_text(SECRET) + "\n")
    broken.write_text(audit_key_text(SECRET)[:-2])
    for each in (master, derived, broken):
        each.chmod(0o600)

    assert audit_key(SECRET) == read_audit_key(master, "--key-file")
    assert audit_key(SECRET) == read_audit_key(derived, "--key-file")
    assert SECRET.hex() not in derived.read_text()
    with pytest.raises(ConfigError, match="no whole audit key"):
        read_audit_key(broken, "--key-file")
