"""The command line as a whole: help, exit statuses, presets, clients that are quiet."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import typer
from rich.text import Text
from typer.testing import CliRunner

import streams
from deid_core import known_presets, load_preset
from streams.cli import app as application
from streams.engine.errors import (
    BrokerUnreachable,
    ConfigError,
    InputError,
    OutputError,
)
from streams.engine.errors import FatalError as Fatal
from streams.kafka import client
from streams.operations.settings import Settings

ROOT = Path(streams.__file__).parents[1]


def commands(command, path=()):
    # A command is imported when its arguments are parsed.
    context = command.make_context("phistream", [], resilient_parsing=True)
    command = context.command
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from commands(each, (*path, name))


ALL = [*commands(typer.main.get_command(application.app))]


@pytest.mark.parametrize(("path", "command"), ALL, ids=[" ".join(p) for p, _ in ALL])
def test_no_word_of_a_help_text_is_taken_for_markup(path, command):
    helps = [command.help, *(getattr(each, "help", None) for each in command.params)]

    for text in filter(None, helps):
        assert text.replace("\\[", "[") == Text.from_markup(text).plain


def test_alone_it_shows_its_help_which_is_no_error():
    done = CliRunner().invoke(application.app, [])

    assert done.exit_code == 0
    assert "Usage: phistream" in done.stdout


def test_the_help_of_train_names_the_table_of_a_preset():
    assert "[tagger]" in CliRunner().invoke(application.app, ["train", "-h"]).stdout


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InputError("x"), 66),
        (BrokerUnreachable("x"), 69),
        (Fatal("x"), 70),
        (OutputError("x"), 73),
        (ConfigError("x"), 78),
    ],
)
def test_each_kind_of_error_has_a_status_and_one_line(
    error, status, monkeypatch, capsys
):
    def fails():
        raise error

    monkeypatch.setattr(application, "app", fails)

    with pytest.raises(SystemExit) as ended:
        application.main()

    assert status == ended.value.code
    assert capsys.readouterr().err == "phistream: x\n"
    assert f"| {status} |" in (ROOT / "deploy/runbook.md").read_text("utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "--corpus", "none.jsonl"),
        ("train", "--recipe", "english", "--out", "m", "--corpus", "none.jsonl"),
        ("scrub", "none.jsonl"),
    ],
)
def test_a_missing_input_is_refused_before_anything_is_loaded(arguments):
    done = CliRunner().invoke(application.app, arguments)

    assert isinstance(done.exception, InputError)
    assert "none.jsonl: no such file or folder" in str(done.exception)


def test_presets_says_which_train_a_model_at_their_first_use_and_for_how_long():
    done = CliRunner().invoke(application.app, ["presets"])

    rows = {line.split()[0]: line for line in done.stdout.splitlines()[2:]}
    assert {*known_presets()} == {*rows}
    for name, line in rows.items():
        preset = load_preset(name)
        seconds = preset.first_use_seconds
        usable = f" trains at first use, about {seconds} s " if seconds else " yes "
        assert usable in line
        assert preset.summary
        assert preset.summary in line
    assert "phistream train --recipe" in done.stderr


def clients():
    """Yield the place of every Kafka client that is made, and its call."""
    for path in sorted((ROOT / "streams").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            if name in ("AdminClient", "Consumer", "Producer"):
                yield f"{path.name}:{node.lineno}", node


def test_every_client_has_a_logger_so_that_librdkafka_prints_nothing_itself():
    found = [*clients()]

    # All others are made by one function of streams/kafka/client.py.
    assert [place.partition(":")[0] for place, _node in found] == ["cluster.py"]
    assert "log_level" in ast.unparse(found[0][1])
    made = client._new(dict, Settings(bootstrap="127.0.0.1:9"), {})
    assert client.log is made["logger"]
