"""Decoders accept what keeps the schema and nothing else, and lose no value."""

import copy
from functools import partial
from pathlib import Path

import orjson
import pytest

import schemas
from schemas import Schema, SchemaError
from schemas.decoding import Decoder, check_encoded
from streams.model.notes import ClinicalNote
from streams.model.patients.demographics import PatientRecord
from streams.model.patients.updates import _decoder as updates
from streams.pipeline.scrub.decode import _notes as notes
from streams.pipeline.scrub.join import _patients as patients

FOLDER = Path(schemas.__file__).parent

DECODERS = {"notes": notes, "patient.updates": updates, "patients": patients}
EXAMPLES = [
    pytest.param(kind, path, id=f"{kind}-{path.stem}")
    for kind in DECODERS
    for path in sorted(FOLDER.glob(f"{kind}/examples/*/*.json"))
]
OTHERS = (
    *(None, True, False, 0, 1, -1, 1.5, 2**63, "", "x", "2024-02-30\n", "é\n"),
    *([], [1], ["x"], [None], [[]], [{}], ["x"] * 128, ["x"] * 129),
    *({}, {"id": "7"}, {"x": "y"}),
)


def places(value, path=()):
    """Yield the path of every part of a JSON value."""
    yield path
    items = {list: enumerate, dict: dict.items}.get(type(value), lambda _: ())(value)
    for key, each in items:
        yield from places(each, (*path, key))


def changed(value):
    """Yield values that differ from this one in one part."""
    for path in places(value):
        for other in OTHERS:
            yield with_part(value, path, lambda parts, key, o=other: parts | {key: o})
        if path and isinstance(path[-1], str):
            yield with_part(value, path, without)
            yield with_part(value, path, lambda parts, _key: parts | {"added": "x"})


def without(parts, key):
    return {name: each for name, each in parts.items() if name != key}


def with_part(value, path, change):
    """Return a copy in which the object or list that holds a part is changed."""
    root = {"root": copy.deepcopy(value)}
    above, at = root, "root"
    for step in path:
        above, at = above[at], step
    if isinstance(above, list):
        above[at] = change({at: above[at]}, at)[at]
    else:
        new = change(above, at)
        above.clear()
        above.update(new)
    return root.get("root")


def passes(check, value):
    try:
        check(value)
    except SchemaError:
        return False
    return True


@pytest.mark.parametrize(("kind", "path"), EXAMPLES)
def test_a_decoder_accepts_exactly_what_keeps_the_schema(kind, path):
    decoder, seen = DECODERS[kind](), {True: 0, False: 0}
    example = orjson.loads(path.read_bytes())

    for value in (example, *changed(example)):
        raw = orjson.dumps(value)
        expected = passes(Schema(kind, 1).check, orjson.loads(raw))
        seen[expected] += 1
        assert expected == passes(decoder.decode, raw), raw

    assert min(seen.values()) or path.parent.name == "invalid"


WRITTEN = ("notes.scrubbed", "phi.audit", "dead.letters")


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        pytest.param(kind, path, id=f"{kind}-{path.stem}")
        for kind in WRITTEN
        for path in sorted(FOLDER.glob(f"{kind}/examples/*/*.json"))
    ],
)
def test_an_encoded_value_is_checked_as_strictly_as_its_parts(kind, path):
    schema, seen = Schema(kind, 1), {True: 0, False: 0}
    example = orjson.loads(path.read_bytes())

    for value in (example, *changed(example)):
        raw = orjson.dumps(value)
        expected = passes(schema.check_strictly, orjson.loads(raw))
        seen[expected] += 1
        assert expected == passes(partial(check_encoded, schema), raw), raw

    assert min(seen.values()) or path.parent.name == "invalid"


@pytest.mark.parametrize(
    ("kind", "read"),
    [("notes", ClinicalNote.from_json), ("patients", PatientRecord.from_json)],
)
def test_a_decoder_makes_what_the_parsed_value_holds(kind, read):
    paths = sorted(FOLDER.glob(f"{kind}/examples/valid/*.json"))

    assert len(paths) > 1
    for path in paths:
        value = orjson.loads(path.read_bytes())
        assert read(value) == DECODERS[kind]().decode(orjson.dumps(value))


@pytest.mark.parametrize(
    "raw", [b"", b"{", b'{"note_id": "\\ud800"}', b"\xff", b"{} x", b"NaN"]
)
def test_what_is_not_json_is_told_from_what_breaks_the_schema(raw):
    with pytest.raises(orjson.JSONDecodeError):
        notes().decode(raw)


def test_the_last_of_doubled_properties_counts_as_in_any_other_json():
    """So `json_text` looks first, wherever a topic is read."""
    raw = (
        b'{"schema_version":1,"note_id":"a","patient":{"assigning_authority":"",'
        b'"id":"7"},"note_type":"","text":"one","text":"two"}'
    )

    assert "two" == orjson.loads(raw)["text"] == notes().decode(raw).text


def test_a_whole_number_is_an_integer_however_it_is_written():
    """As JSON Schema has it."""
    value = {"patient": {"assigning_authority": "", "id": "7"}}

    first = updates().decode(orjson.dumps(value | {"held": {"release": [1]}}))
    second = updates().decode(orjson.dumps(value | {"held": {"release": [1.0]}}))

    assert first == second
    assert set(map(type, second.held.release)) == {int}


@pytest.mark.parametrize("digits", [20, 30, 400])
def test_an_integer_that_can_not_be_written_again_is_refused(digits):
    raw = b'{"patient":{"assigning_authority":"","id":"7"},"held":{"release":[%s]}}' % (
        b"9" * digits
    )

    with pytest.raises((SchemaError, orjson.JSONDecodeError)):
        updates().decode(raw)


def test_the_parser_keeps_no_string_of_a_value():
    raw = b'{"patient":{"assigning_authority":"NORTH","id":"48291"}}'
    one, other = updates().decode(raw).patient, updates().decode(raw).patient

    assert one == other
    assert one.id is not other.id
    assert one.assigning_authority is not other.assigning_authority


def test_no_error_shows_a_value():
    raw = b'{"schema_version":1,"note_id":{"Quellwright":"Mabelle"}}'

    with pytest.raises(SchemaError) as raised:
        notes().decode(raw)

    error = raised.value
    while error is not None:
        assert "Quellwright" not in repr(error) + str(error)
        assert "Mabelle" not in repr(error) + str(error)
        error = error.__context__


def test_a_keyword_that_would_not_be_checked_is_an_error(monkeypatch):
    monkeypatch.setattr(
        Schema, "definition", lambda _self: {"type": "object", "minProperties": 1}
    )

    with pytest.raises(LookupError, match=r"properties|minProperties"):
        Decoder(Schema("notes", 1), ClinicalNote, {})
