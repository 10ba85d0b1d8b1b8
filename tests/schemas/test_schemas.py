"""The contract: every schema with examples that keep it and examples that break it."""

import json
from pathlib import Path

import pytest

import schemas
from schemas import KINDS, SchemaError, checker, schema

FOLDER = Path(schemas.__file__).parent
VALID = sorted(FOLDER.glob("*/examples/valid/*.json"))
INVALID = sorted(FOLDER.glob("*/examples/invalid/*.json"))


def case(path):
    return pytest.param(path, id=f"{path.parts[-4]}-{path.stem}")


@pytest.mark.parametrize("path", [case(path) for path in VALID])
def test_takes_what_keeps_the_schema(path):
    checker(path.parts[-4])(json.loads(path.read_text()))


@pytest.mark.parametrize("path", [case(path) for path in INVALID])
def test_refuses_what_breaks_the_schema(path):
    with pytest.raises(SchemaError):
        checker(path.parts[-4])(json.loads(path.read_text()))


@pytest.mark.parametrize("kind", KINDS)
def test_every_schema_has_both_kinds_of_examples(kind):
    assert 3 <= len([path for path in VALID if path.parts[-4] == kind])
    assert 4 <= len([path for path in INVALID if path.parts[-4] == kind])


@pytest.mark.parametrize("kind", KINDS)
def test_every_schema_is_closed(kind):
    """An unknown property is refused, not passed through."""
    assert schema(kind)["additionalProperties"] is False


def test_names_the_field_and_never_the_value():
    broken = {"note_id": "n", "patient": {"assigning_authority": "A", "id": ""}}

    with pytest.raises(SchemaError) as caught:
        checker("note_event")(broken | {"text": "ZZMARKER"})

    assert "note_event: patient.id: breaks minLength" == str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
