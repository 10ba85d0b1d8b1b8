import pytest

pytest.importorskip("sklearn", reason="needs the extra train")

from typer.testing import CliRunner

from deid_core import ConfigError as DeidConfigError
from deid_core.research import experiments
from deid_core.research.experiments.harness.report import Finding, Report
from streams.cli.app import app
from streams.engine.errors import ConfigError


def run(*arguments):
    return CliRunner().invoke(app, ["experiment", *map(str, arguments)])


def test_without_a_name_every_experiment_is_listed_with_what_it_does():
    result = run()

    assert result.exit_code == 0
    assert all(name in result.output for name in experiments.EXPERIMENTS)


def test_an_unknown_experiment_is_refused_with_the_known_ones(tmp_path):
    result = run("alchemy", "--out", tmp_path)

    assert isinstance(result.exception, ConfigError)
    assert "known: presets" in str(result.exception)


def test_an_installed_phistream_says_that_experiments_run_from_a_checkout(monkeypatch):
    module = "streams.products.research.experiment"
    monkeypatch.setattr(f"{module}.find_spec", lambda name: None)

    result = run("presets")

    assert isinstance(result.exception, ConfigError)
    assert "run this from a checkout" in str(result.exception)


def test_a_folder_without_corpora_is_named(tmp_path):
    result = run("presets", "--data", tmp_path, "--out", tmp_path / "out")

    assert isinstance(result.exception, DeidConfigError)
    assert "--data" in str(result.exception)


def test_without_a_folder_of_corpora_nothing_runs(tmp_path):
    result = run("presets", "--out", tmp_path)

    assert result.exit_code == 2
    assert "--data FOLDER" in result.stderr
    assert [*tmp_path.iterdir()] == []


def test_a_report_is_printed_and_written_beside_those_of_earlier_runs(
    tmp_path, monkeypatch
):
    def answer(name):
        finding = Finding(f"{name} is so", "Nobody 2000", True, "1 of 1")
        return lambda bench: Report(name, f"Is {name} so?", (), findings=(finding,))

    known = {name: answer(name) for name in ("first", "second")}
    monkeypatch.setattr(experiments, "EXPERIMENTS", known)

    folders = ("--data", tmp_path, "--out", tmp_path)
    results = [run(name, *folders) for name in known]

    assert all("is so" in each.output for each in results)
    index = (tmp_path / "README.md").read_text("utf-8")
    assert "Is first so?" in index
    assert "Is second so?" in index
    assert (tmp_path / "first" / "report.json").exists()
