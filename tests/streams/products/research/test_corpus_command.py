"""``phistream corpus``: what it writes, phistream evaluate reads."""

import json

import pytest
from typer.testing import CliRunner

from streams.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.mark.parametrize("half", ["training", "stress"])
def test_the_same_seed_writes_the_same_file(tmp_path, half):
    files = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]

    for file in files:
        result = run("corpus", half, "--documents", 5, "--seed", 4, "--out", file)
        assert result.exit_code == 0, result.output

    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert first.count(b"\n") == 5


def test_carriers_stand_in_the_notes_but_those_that_are_tested_on(tmp_path):
    rows = [
        {"id": f"c{at}", "text": f"Word{at} one two three four five six seven eight."}
        for at in range(40)
    ]
    carriers, tested, out = (tmp_path / f"{n}.jsonl" for n in "cto")
    carriers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tested.write_text(json.dumps({"id": 1, "text": "Nothing alike."}))
    shared = tmp_path / "s.jsonl"
    shared.write_text(json.dumps({"id": 1, "text": rows[0]["text"][6:]}))

    options = ("--carriers", carriers, "--documents", 20, "--out", out)
    for apart, is_there in ((tested, True), (shared, False)):
        result = run("corpus", "training", *options, "--apart-from", apart)
        assert result.exit_code == 0, result.output
        assert is_there is ("three four five six" in out.read_text().lower())


def test_recall_by_kind_is_shown_for_a_stress_set(tmp_path):
    out = tmp_path / "stress.jsonl"
    assert run("corpus", "stress", "--documents", 5, "--out", out).exit_code == 0

    result = run("evaluate", "--corpus", out)

    assert result.exit_code == 0, result.output
    assert "any name" in result.output


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    result = run("corpus", "stress", "--documents", 1, "--out", tmp_path)

    assert result.exit_code != 0
    assert str(tmp_path) in str(result.exception)


def test_marked_notes_are_told_of_other_people(tmp_path):
    notes, out = tmp_path / "notes.jsonl", tmp_path / "out.jsonl"
    text = "Marwenna Tolliver-Quux was seen for Parkinson disease."
    spans = [{"start": 0, "end": 22, "label": "NAME:PATIENT"}]
    notes.write_text(json.dumps({"id": "n1", "text": text, "spans": spans}))

    result = run("corpus", "recast", notes, "--copies", 3, "--seed", 2, "--out", out)

    assert result.exit_code == 0, result.output
    told = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(told) == 3
    assert all(" was seen for Parkinson disease." in each["text"] for each in told)
    assert not any("Marwenna" in each["text"] for each in told)
    first = out.read_bytes()
    run("corpus", "recast", notes, "--copies", 3, "--seed", 2, "--out", out)
    assert first == out.read_bytes()
