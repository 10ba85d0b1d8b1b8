"""`phistream topics list`: for people in any terminal, and for programs."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from streams.cli.app import app
from streams.kafka.topics import ALL_TOPICS


def topics(*arguments, columns=80):
    environment = {"COLUMNS": str(columns), "FORCE_COLOR": "1", "TERM": "dumb"}
    done = CliRunner().invoke(app, ["topics", *arguments], env=environment)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_terminal_is_too_narrow_for_the_words_of_the_list(columns):
    shown = topics("list", columns=columns)

    words = {word for topic in ALL_TOPICS for word in f"{topic.name} {topic.key} "
             f"{topic.short_form} {topic.readers}".split()}  # fmt: skip
    assert [word for word in words if word not in shown.split()] == []
    assert "…" not in shown


def test_80_columns_are_enough():
    assert max(map(len, topics("list").splitlines())) <= 80


def test_programs_read_the_list_as_json():
    rows = json.loads(topics("list", "--json"))

    assert [topic.name for topic in ALL_TOPICS] == [row["name"] for row in rows]
    assert [topic.phi for topic in ALL_TOPICS] == [row["phi"] for row in rows]
    assert all(row["config"]["cleanup.policy"] == row["cleanup"] for row in rows)
