"""Board, alerts and scraping hold together; that metrics are exported: on Kafka."""

from __future__ import annotations

import re

import pytest
import yaml

from deid_core.labels import Label
from streams.engine.reasons import OTHER, REASONS
from streams.formats.hl7.acknowledgement import Refusal
from streams.kafka.lag import LagState
from streams.operations.metrics.catalogue import WORKERS
from streams.products.mllp.catalogue import METRICS as MLLP
from streams.products.mllp.frames import Closed
from streams.products.mllp.metrics import CODES, Unwelcome
from tests.deploy.promql import (
    BOARD,
    DEPLOY,
    names_in,
    panels,
    queries,
    rules,
    selectors_in,
)

CATALOGUE = (*WORKERS, *MLLP)
OF_PROMETHEUS = {"up"}
OF_PYTHON = {"process_cpu_seconds_total", "process_resident_memory_bytes"}
ADDED = {"job", "instance"}
"""Labels that Prometheus gives to every sample."""
KNOWN = {
    name: set(metric.labels) | ({"le"} if name.endswith("_bucket") else set())
    for metric in CATALOGUE
    for name in metric.samples
}
VALUES = {
    "why": {*Refusal, *Closed, *Unwelcome},
    "code": {*CODES},
    "stage": {"intake", "scrub"},
    "state": {state.value for state in LagState},
    "reason": {*REASONS, OTHER},
    "label": {label.value for label in Label},
    "outcome": {
        *("scrubbed", "rebuilt", "held", "discarded"),
        *("routed", "repeated", "dead_letter"),
    },
    "error": {"CorruptState", "Fenced", "RetriableError", "UnknownOutcome"},
}
QUERIES = list(queries())


@pytest.mark.parametrize(
    ("place", "query"), QUERIES, ids=[place for place, _ in QUERIES]
)
def test_a_query_is_promql_and_names_metrics_and_labels_that_exist(place, query):
    for selector in selectors_in(query):
        if selector.name in OF_PROMETHEUS | OF_PYTHON:
            continue
        labels = {matcher.name for matcher in selector.matchers.matchers}
        assert selector.name in KNOWN, place
        assert labels <= KNOWN[selector.name] | ADDED


@pytest.mark.parametrize(
    ("place", "query"), QUERIES, ids=[place for place, _ in QUERIES]
)
def test_a_query_asks_for_label_values_that_can_be(place, query):
    for selector in selectors_in(query):
        for matcher in selector.matchers.matchers:
            asked = set(matcher.value.split("|"))
            if asked != {".*"} and matcher.name in VALUES:
                assert asked <= VALUES[matcher.name], place


def test_metrics_that_nobody_looks_at_are_the_aliases_alone():
    named = {name for _, query in QUERIES for name in names_in(query)}
    unseen = {metric.name for metric in CATALOGUE if named.isdisjoint(metric.samples)}

    assert {name for name in unseen if not name.startswith("kafka_")} == set()


def test_panels_have_a_place_of_their_own_and_ids():
    taken = set()
    for panel in BOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert all(x < 24 for x, _ in cells)
        taken |= cells
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(ids) == len(set(ids))


def test_every_panel_says_what_it_shows():
    for panel in panels():
        assert panel["title"]
        assert panel["description"]
        assert panel["targets"]


def test_the_board_is_provisioned_on_the_provisioned_source():
    folder = DEPLOY / "grafana/provisioning"
    sources = yaml.safe_load((folder / "datasources/prometheus.yml").read_text())
    boards = yaml.safe_load((folder / "dashboards/phistream.yml").read_text())
    [variable] = [v for v in BOARD["templating"]["list"] if v["type"] == "datasource"]

    assert [s["uid"] for s in sources["datasources"]] == [variable["current"]["value"]]
    assert boards["providers"][0]["options"]["path"] == "/var/lib/grafana/dashboards"


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_an_alert_says_how_bad_it_is_what_it_is_and_where_to_read_on(rule):
    assert re.fullmatch(r"Phistream[A-Za-z]+", rule["alert"])
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_an_alert_uses_labels_that_its_expression_leaves(rule):
    used = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
    kept = re.findall(r"by \(([\w, ]+)\)", rule["expr"])
    kept = {label.strip() for group in kept for label in group.split(",")}
    if not kept:
        names = names_in(rule["expr"]) - OF_PROMETHEUS
        kept = ADDED.union(*(KNOWN[name] for name in names))

    assert used <= kept


def test_alert_names_are_unique():
    names = [rule["alert"] for rule in rules()]

    assert len(names) == len(set(names))
