"""What runs is said by version: on the command line, by doctor and in the log."""

from __future__ import annotations

import json
import platform
import subprocess
import sys

import confluent_kafka
import pytest
from typer.testing import CliRunner

from deid_core import ConfigError
from streams.cli.app import app
from streams.operations.doctor import setup
from streams.service import versions

PYTHON = f"Python {platform.python_version()}"
LIBRDKAFKA = f"librdkafka {confluent_kafka.libversion()[0]}"


def test_version_prints_python_librdkafka_and_the_models():
    said = CliRunner().invoke(app, ["--version"])
    assert said.exit_code == 0
    for each in ("phistream ", PYTHON, LIBRDKAFKA, "english ", "meddocan "):
        assert each in said.output


def test_doctor_names_the_full_version_of_python():
    seen = " ".join(each.seen for each in setup.python(None))
    assert PYTHON in seen
    assert LIBRDKAFKA in seen


def test_the_first_log_line_of_a_service_says_what_runs():
    done = subprocess.run(
        [sys.executable, "-m", "streams.cli", "run", "scrub"],
        env={"PHISTREAM_BOOTSTRAP": "127.0.0.1:1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 78  # no key is named
    first = json.loads(done.stderr.splitlines()[0])["message"]
    assert PYTHON in first
    assert LIBRDKAFKA in first
    assert f"model {versions.models('hybrid')}" in first


def test_a_preset_without_a_tagger_has_no_model():
    assert versions.models("lexical") == "none"


def test_an_unknown_preset_is_refused():
    with pytest.raises(ConfigError, match="unknown"):
        versions.models("nonesuch")
