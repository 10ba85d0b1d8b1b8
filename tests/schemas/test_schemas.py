"""The contract: every schema with examples that keep it and examples that break it."""

import json
import re
from pathlib import Path

import pytest

import schemas
from schemas import Schema, SchemaError
from streams.engine.reasons import REASONS
from streams.pipeline.files.json_notes import note_event_of

FOLDER = Path(schemas.__file__).parent
KINDS = sorted(path.parent.name for path in FOLDER.glob("*/v1.json"))
VALID = sorted(FOLDER.glob("*/examples/valid/*.json"))
INVALID = sorted(FOLDER.glob("*/examples/invalid/*.json"))


def latest(kind):
    return Schema(kind, len([*FOLDER.glob(f"{kind}/v*.json")]))


def case(path):
    return pytest.param(path, id=f"{path.parts[-4]}-{path.stem}")


@pytest.mark.parametrize("path", [case(path) for path in VALID])
def test_takes_what_keeps_the_schema(path):
    value = json.loads(path.read_text())

    latest(path.parts[-4]).check(value)
    latest(path.parts[-4]).check_strictly(value)


@pytest.mark.parametrize("path", [case(path) for path in INVALID])
def test_refuses_what_breaks_the_schema(path):
    with pytest.raises(SchemaError):
        latest(path.parts[-4]).check_strictly(json.loads(path.read_text()))


@pytest.mark.parametrize("kind", KINDS)
def test_every_schema_has_both_kinds_of_examples(kind):
    assert len([path for path in VALID if path.parts[-4] == kind]) >= 3
    assert len([path for path in INVALID if path.parts[-4] == kind]) >= 4


PUBLISHED = ("notes.scrubbed", "phi.audit", "dead.letters")


def of_readers(definition):
    """Return what a schema demands of values that it declares."""
    if not isinstance(definition, dict):
        return definition
    apart = {"$id", "title", "description", "additionalProperties"}
    return {k: of_readers(v) for k, v in definition.items() if k not in apart}


def changes(old, new, path=""):
    """Yield where two schemas differ, but for properties that were added."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        if old != new:
            yield path, old, new
        return
    for name in sorted({*old, *new}):
        if name in old or not path.endswith("properties"):
            yield from changes(old.get(name), new.get(name), f"{path}/{name}")


@pytest.mark.parametrize("kind", PUBLISHED)
def test_a_published_version_gains_only_properties_and_the_values_of_two(kind):
    """Readers of `outcome` and `stage` are asked to ignore values they don't know."""
    version = latest(kind).version
    golden = Path(__file__).parents[1] / f"golden/schemas_v{version}/{kind}.json"
    frozen = of_readers(json.loads(golden.read_text()))

    for path, old, new in changes(frozen, of_readers(latest(kind).definition())):
        assert path in {"/properties/outcome/enum", "/properties/stage/enum"}
        assert old == new[: len(old)]


def with_more(value):
    """Return the value with an undeclared property in every object of fixed ones."""
    added = {"added_later": "x"}
    more = {**value, **added, "source": value["source"] | added}
    if "annotations" in value:
        more["annotations"] = [each | added for each in value["annotations"]]
    return more


@pytest.mark.parametrize("kind", sorted({*KINDS} - {*PUBLISHED}))
def test_what_phistream_reads_is_closed(kind):
    """An unknown property is refused, not passed through."""
    assert latest(kind).definition()["additionalProperties"] is False


@pytest.mark.parametrize("path", [case(p) for p in VALID if p.parts[-4] in PUBLISHED])
def test_a_reader_ignores_properties_that_are_added_and_the_writer_refuses_them(path):
    kind = path.parts[-4]
    value = json.loads(path.read_text())

    schema = latest(kind)
    schema.check(with_more(value))

    for more in ({**value, "x": 1}, {**value, "source": {**value["source"], "x": 1}}):
        with pytest.raises(SchemaError, match="holds 1 unknown"):
            schema.check_strictly(more)


EVENT = {
    "note_id": "n",
    "patient": {"assigning_authority": "A", "id": "i"},
    "text": "ZZMARKER",
}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"patient": {"id": "ZZMARKER"}}, "patient: lacks assigning_authority"),
        (
            {"patient": {"assigning_authority": "A", "id": ""}},
            "id: must have 1 or more characters",
        ),
        ({"text": ["ZZMARKER"]}, "text: must be of type string"),
        ({"schema_version": 2}, "schema_version: must be 1"),
        ({"note_type": "ZZMARKER of X"}, "note_type: must match ^[A-Za-z0-9"),
        ({"ZZMARKER": 1}, "value: holds 1 unknown; known: schema_version, note_id"),
        (
            {"demographics": {"names": [{"given": 7}]}},
            "demographics.names.given: must be of type string",
        ),
        (
            {"demographics": {"names": [{}] * 129}},
            "demographics.names: must hold 128 items at most",
        ),
        ({"demographics": {"names": [{"ZZMARKER": ""}]}}, "names: holds 1 unknown"),
    ],
)
def test_names_the_property_and_what_is_expected_and_never_the_value(changes, says):
    with pytest.raises(SchemaError) as caught:
        Schema("note_event", 1).check(EVENT | changes)

    assert says in str(caught.value)
    assert "ZZMARKER" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_property_that_is_lacking_is_named():
    with pytest.raises(SchemaError, match=r"^note_event: value: lacks note_id, text$"):
        Schema("note_event", 1).check({"patient": EVENT["patient"]})


def test_a_name_of_the_senders_choice_is_never_part_of_the_message():
    event = json.loads(next(p for p in VALID if "audit" in p.parts[-4]).read_text())

    with pytest.raises(SchemaError) as caught:
        Schema("phi.audit", 1).check(event | {"removed": {"ZZMARKER": "7"}})

    assert str(caught.value) == "phi.audit: removed: must be of type integer"


def test_the_two_forms_of_a_json_note_in_the_readme_are_one_note_event():
    text = (FOLDER / "README.md").read_text("utf-8")
    event, short, _ = map(json.loads, re.findall(r"```json\n(.*?)```", text, re.DOTALL))

    Schema("note_event", 1).check(event)
    Schema("note_event", 1).check(note_event_of(short))
    assert event == note_event_of(event)
    assert event["text"] == note_event_of(short)["text"]


def test_the_patient_update_of_the_readme_is_one_and_each_property_is_explained():
    text = (FOLDER / "README.md").read_text("utf-8").partition("## Patient updates")[2]
    [update] = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    [erasure] = re.findall(r"`(\{.*\})`", text)
    schema = Schema("patient.updates", 1)

    schema.check_strictly(json.loads(update))
    assert json.loads(erasure).keys() == {"patient", "erase"}
    explained = {*re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)}
    assert schema.definition()["properties"].keys() - {"schema_version"} == explained


def test_the_codes_of_refused_updates_in_the_readme_exist():
    text = (FOLDER / "README.md").read_text("utf-8")
    [refused] = re.findall(r"^\*\*Refused\*\*.*?\. `phistream", text, re.M | re.DOTALL)

    codes = re.findall(r"`(\w+)` \(", refused)
    assert len(codes) == 5
    assert {*codes} <= {*REASONS}
