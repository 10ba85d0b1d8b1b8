"""JSON events of other forms on the command line: --map, and `phistream map`."""

from __future__ import annotations

import json

import orjson
import pytest
from typer.testing import CliRunner

from streams.cli.app import app
from streams.engine.errors import ConfigError
from streams.formats.json_map import load_json_map
from streams.pipeline.files.feed import raw_messages
from streams.pipeline.files.sources import records_in

MAP = """
ignored = ["ward"]
note_id = "report.no"
text = "report.body"
[patient]
id = "pt.mrn"
[[demographics.names]]
full = "pt.name"
"""
EVENT = {
    "report": {"no": 7, "body": "Mabele is better."},
    "pt": {"mrn": "123456", "name": "Quellwright, Mabelle"},
    "ward": "Hill 3",
}


@pytest.fixture
def map_file(tmp_path):
    file = tmp_path / "map.toml"
    file.write_text(MAP)
    return file


def phistream(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def jsonl(file, *events):
    file.write_bytes(b"".join(orjson.dumps(each) + b"\n" for each in events))
    return file


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.txt", "a"])
def test_scrub_reads_events_of_another_form_by_a_map(map_file, tmp_path, name):
    file = jsonl(tmp_path / name, EVENT, EVENT | {"ZZMARKER": "x"}, EVENT)

    done = phistream("scrub", "--preset=lexical", "--map", map_file, file)

    assert done.exit_code == 1
    assert [json.loads(line) for line in done.stdout.splitlines()] == 2 * [
        {"id": "7", "text": "[NAME:PATIENT] is better."}
    ]
    assert ":2: json_map: 1 more fields: not in the map" in done.stderr
    assert "ZZMARKER" not in done.stderr


def test_feed_publishes_note_events_and_names_what_the_map_refuses(map_file, tmp_path):
    own = {
        "note_id": "n",
        "patient": {"assigning_authority": "", "id": "7"},
        "text": "Stable.",
    }
    file = jsonl(tmp_path / "a.jsonl", EVENT, own, {"message": "MSH|^~\\&|A"}, {"x": 1})
    refused = []

    records = records_in([file])
    sent = [
        each.value
        for each in raw_messages(records, refused.append, load_json_map(map_file))
    ]

    assert orjson.loads(sent[0])["note_id"] == "7"
    assert [own, b"MSH|^~\\&|A"] == [orjson.loads(sent[1]), sent[2]]
    assert [each.partition(" with")[0] for each in refused] == [
        f"{file} record 4: json_map: 1 more fields: not in the map"
    ]


@pytest.mark.parametrize(
    "arguments",
    [("run", "intake", "--bootstrap", "x:1"), ("feed", "--map"), ("scrub", "--map")],
)
def test_a_wrong_map_ends_a_command_before_it_begins(
    map_file, tmp_path, arguments, monkeypatch
):
    map_file.write_text(MAP.replace("pt.mrn", "pt..mrn"))
    monkeypatch.setenv("PHISTREAM_JSON_MAP", str(map_file))
    given = (
        (map_file, jsonl(tmp_path / "a.jsonl", EVENT)) if "--map" in arguments else ()
    )

    done = phistream(*arguments, *given)

    assert isinstance(done.exception, ConfigError)
    assert f"json_map {map_file}: patient.id.path: no path" in str(done.exception)


SAMPLE = {
    "noteId": "ZZ1",
    "documentType": "ZZ2",
    "createdAt": "14.03.2024 09:30",
    "noteText": "ZZ3",
    "patient": {
        "mrn": "ZZ4",
        "pat_id": "ZZ5",
        "dob": "03/14/1957",
        "lastName": "ZZ6",
        "first_name": "ZZ7",
        "phones": [{"number": "ZZ8", "use": "ZZ9"}],
    },
    "attending": {"lastName": "ZZ10", "id": "ZZ11"},
    "emergency_contacts": [{"name": "ZZ12", "phone": "ZZ13"}],
    "byMrn": {"123456": {"a": "ZZ14"}, "Quellwright, 1957": "ZZ15"},
    "final": True,
}
PROPOSED = """
note_id = "noteId"  # text, in 1 of 1
note_type = "documentType"  # text, in 1 of 1
written_at = { path = "createdAt", format = "%d.%m.%Y %H:%M" }  # text, in 1 of 1
text = "noteText"  # text, in 1 of 1

[patient]
id = "patient.mrn"  # text, in 1 of 1

[demographics]
birth_dates = [
  { path = "patient.dob", format = "%m/%d/%Y" },  # text, in 1 of 1
]
phones = [
  "emergency_contacts[].phone",  # text, in 1 of 1
  "patient.phones[].number",  # text, in 1 of 1
]
"""


def proposed(tmp_path, *events):
    file = tmp_path / "proposed.toml"
    sample = jsonl(tmp_path / "sample.jsonl", *events)
    done = phistream("map", "--sample", sample, "--out", file)
    assert done.exit_code == 0
    assert "ZZ" not in done.stdout + done.stderr + file.read_text()
    return file


def test_a_map_is_proposed_from_names_and_types_and_shows_no_value(tmp_path):
    text = proposed(tmp_path, SAMPLE).read_text()

    assert PROPOSED in text
    assert '\n[[demographics.names]]\nfamily = "patient.lastName"' in text
    assert '\n[[demographics.providers]]\nfamily = "attending.lastName"' in text
    assert '\n[[demographics.kin]]\nname.full = "emergency_contacts[].name"' in text
    assert '\nvalue = "patient.pat_id"' in text
    _, _, blocked = text.partition("# blocked:")
    for path in ("attending.id", "final", "patient.phones[].use"):
        assert f'  # "{path}",' in blocked.partition("]\n\nnote_id")[0]
    assert '# 2 fields below "byMrn": their names look like values' in blocked
    assert "123456" not in text


def test_a_proposal_once_edited_maps_its_sample(tmp_path):
    file = proposed(tmp_path, SAMPLE)
    sample = tmp_path / "sample.jsonl"
    before = phistream("map", "--check", file, "--sample", sample)
    text = file.read_text()
    for path in ("attending.id", "final", "patient.phones[].use"):
        text = text.replace(f'# "{path}",', f'"{path}",')
    file.write_text(text.replace("# 2 fields below", '"byMrn", #'))

    after = phistream("map", "--check", file, "--sample", sample)

    assert (before.exit_code, after.exit_code) == (1, 0)
    assert "0 of 1 events become note events" in before.stdout
    assert "1 refused: json_map: " in before.stdout
    assert "1 of 1 events become note events" in after.stdout
    rows = dict(line.split()[:2] for line in after.stdout.splitlines() if "[" in line)
    assert rows["emergency_contacts[].phone"] == "demographics.phones"
    assert rows["patient.phones[].use"] == "ignored"
    assert "ZZ" not in before.stdout + before.stderr + after.stdout + after.stderr


def test_what_is_unsure_is_marked(tmp_path):
    text = proposed(
        tmp_path,
        {"id": "ZZ", "dob": "03/04/1957", "pt_frst_name": "ZZ", "x": "ZZ" * 50},
    ).read_text()

    assert 'id"  # unsure: the name does not say whose or what it is; text' in text
    assert '# unsure: or format "%d/%m/%Y"; text' in text
    assert "# unsure: its name is like 'first name'; text" in text
    assert 'text = "x"  # unsure: the only long text' in text
    assert '# id = ""  # not found, and required' in text


def test_parts_of_a_text_are_joined_under_their_names(tmp_path):
    text = proposed(
        tmp_path,
        {
            "report": {"id": "ZZ", "findings": "ZZ", "hospitalCourse": "ZZ"},
            "notes": [{"text": "ZZ"}],
            "mrn": "ZZ",
        },
    ).read_text()

    assert 'path = "notes[].text" },  # text' in text
    assert 'heading = "Findings", path = "report.findings" }' in text
    assert 'heading = "Hospital course", path = "report.hospitalCourse" }' in text
    load_json_map(tmp_path / "proposed.toml")


@pytest.mark.parametrize("content", [b"[17]", b"{}", b"[]", b"[[1]]", b'{"a": {}}'])
def test_a_sample_without_notes_gives_a_map_that_names_what_is_missing(
    tmp_path, content
):
    file = tmp_path / "sample.json"
    file.write_bytes(content)

    done = phistream("map", "--sample", file)

    assert done.exit_code == 0
    assert '# note_id = ""  # not found, and required' in done.stdout


def test_a_sample_that_is_no_json_is_named_with_its_place(tmp_path):
    file = tmp_path / "sample.json"
    file.write_bytes(b'{"a": 1}\nZZMARKER\n')

    done = phistream("map", "--sample", file)

    assert f"{file} record 2: not JSON in UTF-8" in str(done.exception)
    assert "ZZMARKER" not in str(done.exception) + done.output
