"""`phistream erase`: whom it takes, and whom it asks."""

from __future__ import annotations

import io

import pytest
import typer

from streams.cli import terminal
from streams.products.office import erase_command as erase


def patients(text, monkeypatch, *, asks=False):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    return [each.id for each in erase._patients(["-"], asks=asks)]


def test_numbers_come_from_standard_input_a_line_each(monkeypatch):
    assert patients("300^^^NORTH\n\n301\n", monkeypatch) == ["300", "301"]


@pytest.mark.parametrize("line", ['{"id": "300"}', "300^NORTH", "[300]", '"300"'])
def test_what_is_no_number_is_refused_by_its_line(line, monkeypatch):
    with pytest.raises(typer.BadParameter, match="line 2: a patient is ID"):
        patients(f"299\n{line}\n", monkeypatch)


def test_without_a_terminal_numbers_on_standard_input_need_yes(monkeypatch, tmp_path):
    monkeypatch.setattr(terminal, "TERMINAL", str(tmp_path / "none"))

    with pytest.raises(typer.BadParameter, match="say --yes"):
        patients("300\n", monkeypatch, asks=True)


@pytest.mark.parametrize("answer", ["y\n", "n\n", ""])
def test_the_question_is_asked_on_the_terminal(answer, monkeypatch, tmp_path):
    """A file stands for it: what is asked lies before the answer."""
    question = "erase it for good?"
    file = tmp_path / "tty"
    file.write_text(" " * len(f"{question} [y/N]: ") + answer)
    monkeypatch.setattr(terminal, "TERMINAL", str(file))

    if answer == "y\n":
        terminal.confirm(question, is_read=True)
    else:
        with pytest.raises(typer.Abort):
            terminal.confirm(question, is_read=True)
    assert file.read_text().startswith(question)
