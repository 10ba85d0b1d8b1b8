"""Whoever is woken at night finds a section for what woke them."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import zipfile

import pytest

import deid_core.errors
import streams.engine.errors
from streams.engine.reasons import REASONS
from streams.formats.documents import UnreadableKind
from streams.formats.hl7.acknowledgement import Refusal
from streams.operations.metrics.catalogue import WORKERS
from streams.operations.reconcile import Fault
from streams.operations.settings import Settings
from streams.operations.watch.runbook import slug
from streams.products import load, products
from streams.products.lake.settings import LakeSettings
from tests.deploy.promql import DEPLOY, rules

TEXT = (DEPLOY / "runbook.md").read_text("utf-8")
GUIDES, _, REFERENCE = TEXT.partition("\n# Alerts\n")
SECTIONS = {
    part.partition("\n")[0].strip(): part.partition("\n")[2]
    for part in re.split(r"^#{1,2} ", REFERENCE, flags=re.MULTILINE)[1:]
}
ANCHORS = {slug(name) for name in SECTIONS}
METRICS = [each.metrics for each in products().values() if each.metrics]
PARTS = ("Errors", "Dead letters")


RUNBOOK = (
    r"\{\{ with \$externalLabels\.phistream_runbook \}\}\{\{ \. \}\}"
    r"\{\{ else \}\}(.+)\{\{ end \}\}"
)


def error_classes():
    for module in (streams.engine.errors, deid_core.errors):
        house = module.__name__.partition(".")[0]
        for name, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ == module.__name__:
                yield f"{name} of {house}" if name == "ConfigError" else name


def test_a_wheel_holds_the_runbook_that_watch_serves(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=DEPLOY.parent,
        check=True,
        capture_output=True,
    )

    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        assert packed.read("streams/operations/watch/runbook.md").decode() == TEXT


WANTED = [*(rule["alert"] for rule in rules()), *error_classes(), *REASONS]


@pytest.mark.parametrize("name", WANTED)
def test_every_alert_error_and_reason_has_a_section_that_says_what_to_do(name):
    words = ["**Means.**", "**Look at.**", "**Do.**"]

    assert words == re.findall(r"^\*\*[A-Z][a-z ]+\.\*\*", SECTIONS[name], re.MULTILINE)


def test_the_first_screen_links_to_every_guide():
    links = re.findall(r"\]\(#([a-z-]+)\)", GUIDES.partition("\n## ")[0])
    guides = re.findall(r"^## (.+)$", GUIDES, re.MULTILINE)

    assert links == ["alerts", "errors", "dead-letters", *map(slug, guides)]


def test_no_section_is_about_what_no_longer_exists():
    assert set(SECTIONS) - set(PARTS) == set(WANTED)


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_an_alert_links_to_its_section(rule):
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")

    # A label of the site's Prometheus; without it a path in this repository.
    found = re.fullmatch(RUNBOOK, page)
    assert (DEPLOY.parent / found[1]).samefile(DEPLOY / "runbook.md")
    assert anchor in ANCHORS
    assert anchor == rule["alert"].lower()


def test_sections_name_alerts_metrics_and_files_that_exist():
    declared = (*WORKERS, *(each for place in METRICS for each in load(place)))
    metrics = {metric.name for metric in declared}
    alerts = {rule["alert"] for rule in rules()}

    namespaces = {LakeSettings().namespace, LakeSettings().audit_namespace}
    assert set(re.findall(r"phistream_\w+", TEXT)) <= metrics | namespaces
    assert set(re.findall(r"Phistream[A-Z]\w+", TEXT)) <= alerts
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (DEPLOY / link).exists(), link


def test_every_finding_of_reconcile_has_a_row_that_says_what_to_do():
    rows = re.findall(r"^\| `([a-z_]+)` \| \S.* \| \S.* \|$", TEXT, re.MULTILINE)

    assert sorted(Fault) == rows


def test_sections_name_settings_that_exist():
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`", TEXT))
    others = {"next_offset", "not_checked", "note_ids", "key_id", "trace_id"}
    others |= {*REASONS, *Refusal, *Fault, *UnreadableKind}

    settings = {name for name in named - others if not name.startswith("phistream_")}
    assert settings <= set(Settings.model_fields)
    for name, product in products().items():
        if product.settings:
            named = set(re.findall(rf"`{name}\.(\w+)`", TEXT))
            assert named <= set(load(product.settings).model_fields)
