"""JSON events of other forms on the command line: --map, and `phistream map`."""

from __future__ import annotations

import json

import orjson
import pytest
from typer.testing import CliRunner

from streams.cli.app import app
from streams.engine.errors import ConfigError
from streams.files.feed import raw_messages
from streams.files.sources import records_in
from streams.formats.json_map import load_json_map

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

    assert 1 == done.exit_code
    assert 2 * [{"id": "7", "text": "[NAME:PATIENT] is better."}] == [
        json.loads(line) for line in done.stdout.splitlines()
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

    assert "7" == orjson.loads(sent[0])["note_id"]
    assert [own, b"MSH|^~\\&|A"] == [orjson.loads(sent[1]), sent[2]]
    assert [f"{file} record 4: json_map: 1 more fields: not in the map"] == [
        each.partition(" with")[0] for each in refused
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
