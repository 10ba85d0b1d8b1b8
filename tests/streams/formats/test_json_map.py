"""Maps of a sender's JSON events to note events."""

from __future__ import annotations

import tomllib
from pathlib import Path as File

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.engine.errors import ConfigError, InvalidRecord
from streams.formats.json_map import load_json_map
from streams.formats.json_map.paths import Path
from streams.kafka.topics import HL7_RAW
from streams.pipeline.intake.route import route
from streams.products.map.proposal import proposal
from streams.products.map.samples import Samples
from tests.sampling import examples

LEAST = 'note_id = "id"\ntext = "text"\n[patient]\nid = "mrn"\n'
ROOT = File(__file__).parents[3]
WHOLE = """
ignored = ["audit", "visit.beds[].no"]
note_id = "doc.uid"
note_type = { first = ["doc.loinc", "doc.kind"] }
written_at = { path = "doc.at", format = ["%d.%m.%Y %H:%M", "epoch_ms"] }
text = { joined = [
  { heading = "History", path = "hpi" },
  { path = "sections[].body", heading_path = "sections[].title" },
  "plan",
] }

[patient]
id = "patient.mrn"
assigning_authority = { constant = "NORTH" }

[demographics]
birth_dates = { path = "patient.dob", format = "%m/%d/%Y" }
sex = { path = "patient.gender", values = { "1" = "M" } }
phones = ["patient.home", "patient.phones[].number"]
facilities = 'visit."ward name"'

[[demographics.names]]
family = "patient.names[].last"
given = "patient.names[].given[]"
use = { constant = "L" }

[[demographics.names]]
full = "patient.alias"

[[demographics.ids]]
value = { first = ["patient.ids[].no", "patient.ids[].old"] }
type = "patient.ids[].type"

[[demographics.kin]]
relationship = "contacts[].is"
name = { family = "contacts[].last", given = "contacts[].first" }
"""
EVENT = {
    "doc": {"uid": 7, "kind": "DS", "loinc": None, "at": "14.03.2024 09:30"},
    "hpi": "Fell at home.",
    "sections": [
        {"title": "Exam", "body": "Stable."},
        {"title": "", "body": "No fever."},
    ],
    "plan": "Rest.\n",
    "patient": {
        "mrn": 123456,
        "dob": "03/14/1957",
        "gender": 1,
        "home": "555-0100",
        "phones": [{"number": "555-0101"}, {"number": "555-0100"}],
        "names": [
            {"last": "Quellwright", "given": ["Mabelle", "Ann"]},
            {"last": "Tollemach"},
        ],
        "alias": "ROE, JANE B",
        "ids": [{"no": "11", "type": "DL"}, {"old": "22"}, {"type": "SS"}],
    },
    "contacts": [{"is": "SPO", "last": "Quellwright", "first": "Ned"}],
    "visit": {"ward name": "Hill 3", "beds": [{"no": 4}]},
    "audit": {"ZZMARKER": [1, 2]},
}


@pytest.fixture
def load(tmp_path):
    def load(text):
        file = tmp_path / "map.toml"
        file.write_text(text)
        return load_json_map(file)

    return load


def refusal(json_map, event):
    with pytest.raises(InvalidRecord) as caught:
        json_map.event_of(event)
    assert "ZZMARKER" not in str(caught.value)
    return caught.value.reason


def test_an_event_of_another_form_becomes_a_note_event(load):
    assert load(WHOLE).event_of(EVENT) == {
        "note_id": "7",
        "note_type": "DS",
        "written_at": "2024-03-14T09:30:00",
        "text": "History\nFell at home.\n\nExam\nStable.\n\nNo fever.\n\nRest.\n",
        "patient": {"id": "123456", "assigning_authority": "NORTH"},
        "demographics": {
            "sex": "M",
            "birth_dates": ["1957-03-14"],
            "phones": ["555-0100", "555-0101"],
            "facilities": ["Hill 3"],
            "names": [
                {"family": "Quellwright", "given": "Mabelle", "use": "L"},
                {"family": "Quellwright", "given": "Ann", "use": "L"},
                {"family": "Tollemach", "use": "L"},
                {"family": "ROE", "given": "JANE", "middle": "B"},
            ],
            "ids": [{"value": "11", "type": "DL"}, {"value": "22"}],
            "kin": [
                {
                    "relationship": "SPO",
                    "name": {"family": "Quellwright", "given": "Ned"},
                }
            ],
        },
    }


def test_intake_routes_a_mapped_event_as_a_note_event(load):
    json_map = load(WHOLE)

    routed = route(orjson.dumps(EVENT), json_map=json_map)

    assert routed == route(orjson.dumps(json_map.event_of(EVENT)))
    assert routed.notes[0].patient.key == b"NORTH|123456"
    assert len(routed.updates) == 1


def test_a_mapped_event_that_gives_a_name_twice_is_refused(load):
    value = b'{"id": "n", "mrn": "7", "text": "Stable.", "text": "ZZMARKER"}'

    with pytest.raises(InvalidRecord, match="gives a name twice; give it once"):
        route(value, json_map=load(LEAST))


def test_a_note_event_is_still_accepted(load):
    event = {
        "note_id": "n",
        "patient": {"assigning_authority": "", "id": "7"},
        "text": "Stable.",
    }

    assert event is load(LEAST).event_of(event)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"ZZMARKER": "x"}, "1 more fields: not in the map"),
        ({"ZZMARKER": "x", "nested": {"ZZMARKER": 1}}, "2 more fields: not in"),
        ({"mrn": {"id": "ZZMARKER"}}, "mrn: not in the map with this type"),
        ({"extra": ["ZZMARKER"]}, "1 more fields"),
        ({"mrn": ["ZZMARKER"]}, "mrn: not in the map with this type"),
        ({"text": True}, "text: must be a text or a number"),
        ({"text": " "}, "text: empty or absent"),
        ({"mrn": None}, "patient.id: empty or absent"),
    ],
)
def test_an_event_that_the_map_does_not_cover_is_refused(load, more, says):
    """Only names that the map itself has are shown."""
    event = {"id": "n", "text": "Stable.", "mrn": "7"} | more

    assert refusal(load(LEAST), event).startswith(f"json_map: {says}")


def test_a_field_is_named_if_the_map_has_all_names_of_its_path(load):
    reason = refusal(load(WHOLE), EVENT | {"doc": {"uid": 7, "mrn": "ZZMARKER"}})

    assert "doc.mrn: not in the map" in reason


@pytest.mark.parametrize("value", [{}, [], None])
def test_a_mapped_field_that_holds_nothing_is_absent(load, value):
    json_map = load(LEAST.replace("[patient]", 'note_type = "kind"\n[patient]'))

    event = json_map.event_of({"id": "n", "text": "t", "mrn": "7", "kind": value})

    assert "note_type" not in event


@pytest.mark.parametrize(
    ("given", "format", "expected"),
    [
        ("1957-03-14", None, "1957-03-14"),
        ("19570314", None, "1957-03-14"),
        ("14 Mar 1957", "%d %b %Y", "1957-03-14"),
        (-404092800, "epoch", "1957-03-13"),
        ("03/14/57 ZZMARKER", "%m/%d/%Y", None),
        ("ZZMARKER", None, None),
        ("1657-03-14", "%Y-%m-%d", None),
        (1e300, "epoch", None),
        (10**400, "epoch", None),
    ],
)
def test_birth_dates_are_read_by_their_formats_or_refuse_the_event(
    load, given, format, expected
):
    source = f'{{ path = "dob", format = "{format}" }}' if format else '"dob"'
    json_map = load(f"{LEAST}[demographics]\nbirth_dates = {source}")
    event = {"id": "n", "text": "t", "mrn": "7", "dob": given}

    if expected is None:
        assert "dob: a date or time must be" in refusal(json_map, event)
    else:
        assert json_map.event_of(event)["demographics"]["birth_dates"] == [expected]


def test_a_code_that_is_no_code_is_refused_without_the_value(load):
    json_map = load(LEAST.replace("[patient]", 'note_type = "kind"\n[patient]'))
    event = {"id": "n", "text": "t", "mrn": "7", "kind": "ZZMARKER of a ward"}

    assert "note_type" in refusal(json_map, event)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "note_id: missing"),
        ("x", "not TOML"),
        (f'nte = "a"\n{LEAST}', "the top: nte: unknown; known: ignored, kept"),
        (f"{LEAST}name = 'a'", "patient: name: unknown; known: id"),
        (f"{LEAST}[demographics]\nphone = 'a'", "demographics: phone: unknown"),
        (
            f"{LEAST}[[demographics.names]]\nlast = 'a'",
            "demographics.names[0]: last: unknown; known: family",
        ),
        (
            f"{LEAST}[[demographics.names]]\nfamily = 'a[].b'\ngiven = 'c[].d'",
            "demographics.names[0]: ",
        ),
        (f"{LEAST}[demographics]\nphones = 'a.'", "demographics.phones.path: no path"),
        (f"{LEAST}[demographics]\nbirth_dates = {{ path = 'a', format = '%m/%d' }}",
         "demographics.birth_dates.format: must have day"),
        (f"{LEAST}[demographics]\nbirth_dates = {{ path = 'a', format = '%d%m%y' }}",
         "demographics.birth_dates.format: must have day"),
        (f"{LEAST}[demographics]\nsex = {{ path = 'a', format = '%Y' }}",
         "demographics.sex: format: unknown"),
        (LEAST.replace('"text"', '"a[].b"'), "text: a[].b has several values"),
        (LEAST.replace('"mrn"', '["a", "b"]'), "patient.id: has one source"),
        (LEAST.replace('"mrn"', "7"), "patient.id: write a path"),
        (LEAST.replace('"mrn"', '{ first = [] }'), "patient.id.first: is empty"),
        (LEAST.replace('"mrn"', '{ joined = ["a"] }'), "joined is for text alone"),
        (f"ignored = 'a'\n{LEAST}", "ignored: must be an array"),
    ],
)  # fmt: skip
def test_a_wrong_map_names_file_table_and_key(load, tmp_path, text, says):
    with pytest.raises(ConfigError) as caught:
        load(text)

    assert str(caught.value).startswith(f"json_map {tmp_path / 'map.toml'}: ")
    assert says in str(caught.value)


def test_a_map_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: can't be read"):
        load_json_map(tmp_path / "none.toml")


@pytest.mark.parametrize(
    "text", ["a", "a.b", "a[].b", "a[][]", 'a."b c".d', '"a.b"[]', "a@b.$c"]
)
def test_a_path_is_written_as_it_was_read(text):
    assert text == str(Path.parse(text))


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a[", "a]b", "a[0]", "[]", " b"])
def test_what_is_no_path_is_refused(text):
    with pytest.raises(ValueError, match="no path"):
        Path.parse(text)


def test_an_event_of_many_fields_and_of_great_depth_is_refused_in_bounded_time(load):
    deep = b'{"id": ' * 900 + b"1" + b"}" * 900
    many = {f"f{n}": n for n in range(100_000)}

    assert "1000 more fields" in refusal(load(LEAST), many)
    with pytest.raises(InvalidRecord):
        route(deep, json_map=load(LEAST))


def test_the_map_that_is_documented_is_one(load):
    text = (ROOT / "schemas/README.md").read_text("utf-8")

    load(text.partition("```toml\n")[2].partition("```")[0])


NAMES = ("doc", "uid", "patient", "mrn", "names", "last", "hpi", "dob", "ZZname", "at")
VALUES = st.sampled_from(["ZZtext", "03/14/1957", "", 7, 1.5, None, True, "ZZ 1"])
EVENTS = st.dictionaries(
    st.sampled_from(NAMES),
    st.recursive(
        VALUES,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
        ),
        max_leaves=8,
    ),
)


@settings(
    max_examples=examples(500),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(more=EVENTS)
def test_any_event_is_mapped_whole_or_refused_and_no_reason_shows_a_value(load, more):
    json_map = load(WHOLE)
    reason, mapped = "", {}
    try:
        mapped = json_map.event_of(EVENT | more)
    except InvalidRecord as error:
        reason = error.reason

    assert "ZZ" not in reason
    if not reason:
        HL7_RAW.schema.check(mapped)
        assert "ZZname" not in orjson.dumps(more).decode()


@settings(
    max_examples=examples(200),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(events=st.lists(EVENTS, max_size=3))
def test_a_proposal_for_any_events_is_toml_without_values(tmp_path, events):
    text = proposal(Samples.of(events))

    tomllib.loads(text)
    assert "ZZ" not in text.replace("ZZname", "").replace("Z zname", "")
    assert "1957" not in text
