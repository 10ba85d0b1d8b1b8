"""`phistream adapt`: writes a model that is not worse, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid_core import ConfigError
from streams.cli.app import app
from streams.demo.site import SiteHospital
from tests import commands
from tests.deid_core.research.test_adaptation import RECIPE

WRITTEN = Path(__file__).parents[3] / "written_notes"


def phistream(*arguments):
    return commands.phistream(*arguments, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A recipe, a site's notes, and pieces of the composed notes."""
    folder = tmp_path_factory.mktemp("site") / "written_notes"
    folder.mkdir()
    (folder / "tiny.toml").write_text(RECIPE)
    notes = SiteHospital(seed=4, patients=20).notes(60)
    (folder / "site.jsonl").write_bytes(b"\n".join(each.event for each in notes))
    # The development notes were learned, too: a tiny corpus teaches nothing of others.
    text = (WRITTEN / "train" / "mixed-services.txt").read_text("utf-8")
    notes = text.split("\n=== ")
    for name, first, last in (("base", 0, 120), ("dev", 80, 120), ("small", 120, 124)):
        head = "" if first == 0 else "=== "
        part = head + "\n=== ".join(notes[first:last])
        (folder / f"{name}.txt").write_text(part + "\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def preset(folder):
    """A preset with a model of the same recipe, trained on the same corpus."""
    base, recipe = folder / "base.txt", folder / "tiny.toml"
    model = folder / "base-model"
    done = phistream("train", "--recipe", recipe, "--corpus", base, "--out", model)
    assert done.returncode == 0, done.stderr
    file = folder / "own.toml"
    file.write_text(
        'name = "own"\ndetectors = ["rules", "lexicon", "tagger", "known"]\n'
        f'[tagger]\nmodel = "{model}"\nthreshold = 0.3\n'
    )
    return file


def _adapt(folder, preset, base, out, *more):
    return phistream(
        "adapt", folder / "site.jsonl", "--corpus", folder / f"{base}.txt",
        "--dev", folder / "dev.txt", "--recipe", folder / "tiny.toml",
        "--preset", preset, "--patients", 3, "--out", out, *more,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_model_that_is_not_worse_is_written_with_its_card(folder, preset, tmp_path):
    out = tmp_path / "model"
    done = _adapt(folder, preset, "base", out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(each.name for each in out.iterdir()) == [
        "README.md", "model.json", "sha256", "tables.npz", "weights.npz",
    ]  # fmt: skip
    assert "site, held out" in done.stdout
    card = (out / "README.md").read_text()
    assert "notes of" in card
    again = _adapt(folder, preset, "base", out)
    assert again.returncode == 73


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_worse_model_is_refused_with_its_figures_and_not_written(folder, tmp_path):
    # Of four notes nobody learns what the model that comes with phistream knows.
    out = tmp_path / "model"
    done = _adapt(folder, "hybrid", "small", out)
    assert done.returncode == 1
    assert "site, held out" in done.stdout
    assert "refused: " in done.stderr
    assert not out.exists()


def test_the_notes_that_come_along_are_learned_and_kept(folder, tmp_path, monkeypatch):
    def stop(adaptation, *_arguments, **_options):
        read.extend((adaptation.corpora, adaptation.dev))
        raise ConfigError("stopped")

    read = []
    monkeypatch.setattr("deid_core.research.adaptation.adapting.adapt", stop)
    words = ("adapt", str(folder / "site.jsonl"), "--out", str(tmp_path / "model"))
    done = CliRunner().invoke(app, words)
    assert str(done.exception) == "stopped"
    assert [[corpus.name for corpus in corpora] for corpora in read] == [
        ["written_notes/train"],
        ["written_notes/dev"],
    ]
