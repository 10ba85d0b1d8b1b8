"""The queries of board and alerts, taken apart by a real parser of PromQL."""

from __future__ import annotations

import json
import re
from pathlib import Path

import promql_parser
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
BOARD = json.loads((DEPLOY / "grafana/phistream.json").read_text("utf-8"))
ALERTS = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text("utf-8"))


def rules():
    return [rule for group in ALERTS["groups"] for rule in group["rules"]]


def panels():
    return [panel for panel in BOARD["panels"] if panel["type"] != "row"]


def queries():
    """Yield where each query stands, and the query."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], without_variables(target["expr"])
    for variable in BOARD["templating"]["list"]:
        asked = re.fullmatch(r"label_values\((.+), *\w+\)", str(variable["query"]))
        if asked:
            yield variable["name"], without_variables(asked[1])


def without_variables(query):
    """Put what Grafana would for its variables."""
    query = query.replace("$__rate_interval", "5m").replace("$__range", "1h")
    return re.sub(r"\$\{?\w+\}?", ".*", query)


def selectors_in(query):
    """Return all selectors of a query.

    Raises:
        ValueError: It is not PromQL.
    """
    found = []
    promql_parser.walk(promql_parser.parse(query), found.append)
    return [each for each in found if isinstance(each, promql_parser.VectorSelector)]


def names_in(query):
    """Return the names of all metrics in a query."""
    return {each.name for each in selectors_in(query)}
