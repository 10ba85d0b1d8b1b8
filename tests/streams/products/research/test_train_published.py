"""`phistream train` for the recipes of published systems."""

import os

import orjson
import pytest
from typer.testing import CliRunner

from deid_core import ConfigError
from streams.cli.app import app
from tests import commands

pytest.importorskip("pycrfsuite", reason="python-crfsuite trains the papers' chains")

TEXTS = (
    ("Patient: Ann Marlow came on 3/4/2011.", (9, 19), (28, 36)),
    ("Patient: Bert Quill came on 5/6/2012.", (9, 19), (28, 36)),
    ("Patient: Cora Vanes came on 7/8/2013.", (9, 19), (28, 36)),
)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "invented.jsonl"
    lines = [
        orjson.dumps(
            {
                "id": str(number),
                "text": text,
                "spans": [
                    {"start": name[0], "end": name[1], "label": "PATIENT"},
                    {"start": date[0], "end": date[1], "label": "DATE"},
                ],
            }
        )
        for number, (text, name, date) in enumerate(TEXTS * 3)
    ]
    path.write_bytes(b"\n".join(lines))
    return path


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)


def test_what_is_trained_runs_by_the_preset_beside_it(corpus, tmp_path):
    out = tmp_path / "model"
    trained = run("train", "--recipe", "mcrf1", "--corpus", corpus, "--out", out)
    assert "9 documents" in trained.output
    assert {each.name for each in out.iterdir()} == {
        "model.json",
        "arrays.npz",
        "preset.toml",
    }
    preset, said = out / "preset.toml", tmp_path / "said.json"
    run("evaluate", "--corpus", corpus, "--preset", preset, "--json", said)
    [evaluation] = orjson.loads(said.read_bytes())
    strict = {each["measure"]: each for each in evaluation["scores"]["span strict"]}
    assert strict["recall"]["value"] == 1.0


def test_without_a_corpus_the_notes_that_come_along_are_learned(tmp_path):
    words = ("--recipe", "mcrf1", "--notes", 5, "--out", tmp_path / "model")
    assert "5 documents" in run("train", *words).output


def test_a_preset_without_a_model_is_trained_at_its_first_use_and_says_so(tmp_path):
    preset, note = tmp_path / "own.toml", tmp_path / "note.txt"
    preset.write_text(
        'name = "own"\ndetectors = ["classifier"]\n'
        '[classifier]\nrecipe = "mcrf1"\ntraining_notes = 4\ntraining_seconds = 1\n'
    )
    note.write_text("No fever.\n")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = ("scrub", "--preset", preset, note)
    first, second = (
        commands.phistream(*words, env=environment, text=True) for _ in range(2)
    )
    assert (
        "mcrf1: training it once on this machine, on 4 invented notes" in first.stderr
    )
    assert "mcrf1: trained in" in first.stderr
    assert "mcrf1" not in second.stderr
    assert first.stdout == second.stdout != ""


def test_a_group_that_is_not_at_hand_is_named(corpus, tmp_path):
    words = ("--corpus", corpus, "--out", tmp_path / "model")
    left_out = ("--without", "syntactic_bigrams", "--without", "part_of_speech")
    spanish = ("--language", "es")
    with pytest.raises(ConfigError, match="feature mesh: no vocabulary"):
        run("train", "--recipe", "stat-deid-linear", *words, *left_out, *spanish)
