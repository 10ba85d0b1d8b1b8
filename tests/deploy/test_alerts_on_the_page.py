"""The page judges by the conditions that Prometheus is asked, word for word."""

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


def test_every_alert_is_judged_by_the_page_or_known_to_be_prometheus_own():
    assert RULES.keys() == {*ALERTS, *OF_PROMETHEUS_ALONE}
    assert not OF_PROMETHEUS_ALONE & ALERTS.keys()
    assert ALERTS.keys() == CONDITIONS.keys()


@pytest.mark.parametrize("name", ALERTS)
def test_page_and_prometheus_agree_on_an_alert(name):
    alert, rule = ALERTS[name], RULES[name]

    assert " ".join(rule["expr"].split()) == alert.query()
    assert seconds(rule.get("for", "0s")) == alert.hold
    assert rule["labels"]["severity"] == alert.severity
    assert rule["annotations"]["description"] == alert.meaning


@pytest.mark.parametrize("name", ALERTS)
def test_the_figures_of_a_query_stand_in_its_fields(name):
    """Else the page would judge by others than it shows."""
    alert = ALERTS[name]
    query = RULES[name]["expr"]

    windows = {seconds(found) for found in re.findall(r"\[(\d+[smh])\]", query)}
    assert windows == ({alert.window} if alert.window else set())
    if "{threshold}" in alert.promql:
        assert query.endswith(f"> {alert.threshold:g}")
    named = re.search(r'reason=~?"([^"]*)"', query)
    assert tuple(named[1].split("|") if named else ()) == alert.reasons
    assert set(alert.reasons) <= {*REASONS, OTHER}
