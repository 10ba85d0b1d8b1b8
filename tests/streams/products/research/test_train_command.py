"""`phistream train`: from brat files to a model that a preset may name."""

from __future__ import annotations

import pytest

from tests import commands
from tests.deid_core.tagger.tagger_cases import invented_lines

RECIPE = """
name = "tiny"
language = "es"
corpus = "meddocan"
[options]
epochs = 3
[features]
word = [-1, 1]
shape = [-1, 1]
"""
TAG_OF = {
    "NAME": "NOMBRE_SUJETO_ASISTENCIA",
    "STREET": "CALLE",
    "DATE": "FECHAS",
}


def phistream(*arguments):
    return commands.phistream(*arguments, text=True)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("brat")
    text, marks = "", []
    for line in invented_lines(60):
        for span in line.spans:
            start, end = len(text) + span.start, len(text) + span.end
            inner = line.text[span.start : span.end]
            marks.append(f"T{len(marks)}\t{TAG_OF[span.tag]} {start} {end}\t{inner}\n")
        text += line.text + "\n"
    (folder / "one.txt").write_bytes(text.encode())
    (folder / "one.ann").write_bytes("".join(marks).encode())
    return folder


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    file = tmp_path_factory.mktemp("recipes") / "tiny.toml"
    file.write_text(RECIPE)
    return file


def test_a_trained_model_scrubs_by_a_preset_that_names_its_folder(
    corpus, recipe, tmp_path
):
    out = tmp_path / "model"
    done = phistream("train", "--recipe", recipe, "--corpus", corpus, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "weights" in done.stdout
    preset = tmp_path / "own.toml"
    preset.write_text(
        f'name = "own"\ndetectors = ["tagger"]\n[tagger]\nmodel = "{out}"\n'
    )
    note = tmp_path / "note.txt"
    note.write_text("Fecha: 3/4/1988.\n")
    scrubbed = phistream("scrub", "--preset", preset, note)
    assert scrubbed.stdout == "Fecha: [DATE].\n"


def test_a_recipe_of_another_language_asks_for_a_corpus(tmp_path):
    done = phistream("train", "--recipe", "meddocan", "--out", tmp_path)
    assert done.returncode == 78
    assert "in language 'es' with the tags of meddocan" in done.stderr
    assert "name a corpus by --corpus" in done.stderr


def test_an_unknown_recipe_is_refused_with_the_known_ones(corpus, tmp_path):
    arguments = ("--recipe", "medocan", "--corpus", corpus, "--out", tmp_path)
    done = phistream("train", *arguments)
    assert done.returncode == 78
    assert "meddocan" in done.stderr
