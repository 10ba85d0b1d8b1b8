"""The page evaluates the same alerts as Prometheus."""

from __future__ import annotations

import re

import pytest

from streams.engine.reasons import OTHER, REASONS
from streams.operations.metrics.alerts import ALERTS, OF_PROMETHEUS_ALONE
from streams.operations.watch.alerts import CONDITIONS
from tests.deploy.promql import rules

RULES = {rule["alert"]: rule for rule in rules()}
UNITS = {"s": 1, "m": 60, "h": 3600}


def seconds(duration):
    return int(duration[:-1]) * UNITS[duration[-1]]


def test_every_alert_is_evaluated_by_the_page_or_only_by_prometheus():
    assert RULES.keys() == {*ALERTS, *OF_PROMETHEUS_ALONE}
    assert not OF_PROMETHEUS_ALONE & ALERTS.keys()
    assert ALERTS.keys() == CONDITIONS.keys()


@pytest.mark.parametrize("name", ALERTS)
def test_page_and_prometheus_agree_on_an_alert(name):
    alert, rule = ALERTS[name], RULES[name]

    assert seconds(rule.get("for", "0s")) == alert.hold
    assert rule["labels"]["severity"] == alert.severity
    assert rule["annotations"]["description"] == alert.meaning


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_has_the_threshold_windows_and_reasons_of_its_query(name):
    alert, query = ALERTS[name], " ".join(RULES[name]["expr"].split())

    limit = re.search(r"> ([\d.]+)$", query)
    assert alert.threshold == (float(limit[1]) if limit else 0)
    windows = {seconds(found) for found in re.findall(r"\[(\d+[smh])\]", query)}
    assert windows == ({alert.window} if alert.window else set())
    for reasons in re.findall(r'reason=~?"([^"]*)"', query):
        assert tuple(reasons.split("|")) == alert.reasons
    assert bool(alert.reasons) == ("reason=" in query)
    assert set(alert.reasons) <= {*REASONS, OTHER}


METRICS = {
    "phistream_lag_state": ("LagStop", "LagStall", "LagGrows"),
    "phistream_lag_seconds": ("LagOld",),
    "phistream_latency_seconds_bucket": ("LatencyHigh",),
    "phistream_dead_letters_total": (
        "ResidueRefused", "DeadLetters", "OwnBug", "Poison", "ForeignProducer",
    ),
    "phistream_messages_total": ("DeadLetters",),
    "phistream_notes_total": ("DeadLetters",),
    "phistream_join_total": ("JoinMisses",),
    "phistream_ready": ("WorkerNotReady",),
    "phistream_assigned_partitions": ("WorkerNotReady", "StageIdle"),
    "phistream_model_info": ("VersionsDiffer",),
}  # fmt: skip
"""The metrics whose figures the page has as well, by the alerts that query them."""


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_of_the_page_queries_the_metrics_that_the_page_counts(name):
    queried = {*re.findall(r"\bphistream_\w+", RULES[name]["expr"])}
    short = name.removeprefix("Phistream")

    assert queried == {metric for metric, names in METRICS.items() if short in names}
