"""The figures of the documents: one file of data, one command that writes the page."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib

import pytest
from typer.testing import CliRunner

from tests.benchmarks import figures as module
from tests.benchmarks.figures import DATA, PAGE, ROOT, entered, figures, page

REPORT = ROOT / "tests/benchmarks/experiments/operating-points/README.md"
SYSTEMS = ("hybrid", "hybrid-recall", "philter", "presidio")


def test_the_page_is_what_the_command_writes():
    assert page(figures()) == PAGE.read_text("utf-8")


def test_six_figures_of_the_readme_are_those_of_the_page():
    readme = (ROOT / "README.md").read_text("utf-8")

    assert len(figures().rows_of("against")) == 6
    assert module.table_for_readme(figures()) in readme


def test_other_figures_of_the_readme_are_those_of_the_page():
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    rows = figures().rows
    found, false = rows["composed"].figure.partition(";")[0].split(" at ")

    assert rows["batch"].figure in readme
    assert f"`hybrid` finds {found} at {false} false words" in readme


@pytest.mark.parametrize(
    ("row", "notes", "letters", "column", "rounding"),
    [
        ("found-us", "dense notes, US", "as-is", 2, 0.0006),
        ("false-us", "dense notes, US", "as-is", 4, 0.06),
        ("found-elsewhere", "dense notes, other countries", "as-is", 2, 0.0006),
        ("false-elsewhere", "dense notes, other countries", "as-is", 4, 0.06),
        ("found-capitals", "dense notes, US", "upper", 2, 0.0006),
    ],
)
def test_figures_against_other_systems_are_those_of_the_report(
    row, notes, letters, column, rounding
):
    text = REPORT.read_text("utf-8").partition(f"## {notes}: systems\n")[2]
    text = text.partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines()]
    reported = [
        float(cells[column])
        for system in SYSTEMS
        for cells in lines
        if cells[:2] == [system, letters]
    ]

    shown = [float(each) for each in figures().rows[row].figure]
    assert reported == pytest.approx(shown, abs=rounding)


def test_every_row_has_a_command_that_exists_and_a_known_section():
    all_ = figures()
    for name, row in all_.rows.items():
        program, *arguments = shlex.split(row.command)
        assert row.section in all_.sections, name
        assert program in ("phistream", "python"), name
        if program == "python":
            path = ROOT / arguments[1].replace(".", "/")
            assert path.is_dir() or path.with_suffix(".py").exists(), name


def test_measuring_a_row_enters_its_figure_and_writes_the_page(tmp_path, monkeypatch):
    data, written = tmp_path / "figures.toml", tmp_path / "figures.md"
    printing = "print('a note: 12 µs'); print('of 5,000')"
    command = f"{sys.executable} -c {shlex.quote(printing)}"
    values = {
        "command": f"'''{command}'''",
        "pattern": r"'note: (\d+ µs).*of ([\d,]+)'",
        "template": '"{0} of {1}"',
    }
    before = DATA.read_text("utf-8")
    data.write_text(entered(before, "batch", values), "utf-8")
    monkeypatch.setattr(module, "DATA", data)
    monkeypatch.setattr(module, "PAGE", written)
    monkeypatch.setattr(module, "_revision", lambda: "1234567")

    result = CliRunner().invoke(module.app, ["run", "batch"])

    assert result.exit_code == 0, result.output
    assert "a note: 12 µs" in result.output
    after = tomllib.loads(data.read_text("utf-8"))["rows"]
    assert (
        after["batch"]["figure"],
        after["batch"]["revision"],
    ) == ("12 µs of 5,000", "1234567")
    others = tomllib.loads(before)["rows"]
    assert {**others, "batch": None} == {**after, "batch": None}
    assert "12 µs of 5,000" in written.read_text("utf-8")


def test_a_figure_that_is_not_in_the_output_is_not_entered(tmp_path, monkeypatch):
    data = tmp_path / "figures.toml"
    values = {"command": f'"{sys.executable} -c pass"'}
    text = entered(DATA.read_text("utf-8"), "batch", values)
    data.write_text(text, "utf-8")
    monkeypatch.setattr(module, "DATA", data)
    monkeypatch.setattr(module, "ROOT", tmp_path)

    result = CliRunner().invoke(module.app, ["run", "batch"])

    assert result.exit_code == 1
    assert re.search("enter the figure of batch by hand", result.output)
    assert text == data.read_text("utf-8")
