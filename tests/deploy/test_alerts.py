"""Every alert fires where it must and stays quiet where it must, by promtool itself."""

from __future__ import annotations

import shutil
import subprocess

import pytest
import yaml

from tests.deploy.promql import DEPLOY, rules

FOLDER = DEPLOY / "prometheus"
CASES = yaml.safe_load((FOLDER / "alerts_test.yml").read_text("utf-8"))["tests"]
PROMTOOL = shutil.which("promtool")

needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not installed (Debian: prometheus)"
)


def promtool(*arguments):
    return subprocess.run(
        [PROMTOOL, *arguments], cwd=FOLDER, capture_output=True, text=True, check=False
    )


def test_every_alert_has_a_case_where_it_fires_and_one_where_it_does_not():
    names = [rule["alert"] for rule in rules()]

    wanted = [f"{name} {does}" for name in names for does in ("fires", "stays quiet")]
    assert wanted == [case["name"] for case in CASES]
    for case in CASES:
        [question] = case["promql_expr_test"]
        fires = [f'{{alertname="{case["name"].removesuffix(" fires")}"}}']
        told = [sample["labels"] for sample in question.get("exp_samples", ())]
        assert told == (fires if case["name"].endswith(" fires") else [])


@needs_promtool
def test_alerts_fire_as_their_cases_say():
    done = promtool("test", "rules", "alerts_test.yml")

    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_an_alert_that_would_never_fire_would_be_seen(tmp_path):
    for name in ("alerts.yml", "alerts_test.yml"):
        shutil.copy(FOLDER / name, tmp_path)
    alerts = (tmp_path / "alerts.yml").read_text("utf-8")
    (tmp_path / "alerts.yml").write_text(alerts.replace("> 600", "> 60000"), "utf-8")

    done = promtool("test", "rules", str(tmp_path / "alerts_test.yml"))

    assert done.returncode != 0
    assert "PhistreamLagOld" in done.stdout + done.stderr


@needs_promtool
def test_prometheus_takes_its_configuration():
    done = promtool("check", "config", "prometheus.yml")

    assert done.returncode == 0, done.stdout + done.stderr
