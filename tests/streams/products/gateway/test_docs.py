"""The description of the gateway, and its page in a browser."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import orjson
import pytest

from streams.operations.settings import Settings
from streams.products.gateway.app import (
    ENDPOINTS,
    NO_TELEMETRY,
    application,
    description_of,
)
from streams.products.gateway.docs_page import page
from streams.products.gateway.gateway_metrics import GatewayMetrics
from tests.streams.products.gateway.serving import serving

ROOT = Path(__file__).parents[4]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
SIZES = {"wide": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def description():
    async def scrub(task):
        raise AssertionError(task)

    app = application(Settings(), scrub, lambda: True, GatewayMetrics([]))
    return description_of(app)


def schemas_with_properties(node):
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            yield node
        for each in node.values():
            yield from schemas_with_properties(each)
    elif isinstance(node, list):
        for each in node:
            yield from schemas_with_properties(each)


def test_the_description_is_valid_openapi_3_1(description):
    validator = pytest.importorskip("openapi_spec_validator")

    assert description["openapi"].startswith("3.1.")
    validator.validate(orjson.loads(orjson.dumps(description)))


def test_every_path_and_status_is_described(description):
    assert {each.path for each in ENDPOINTS} | {"/healthz", "/readyz", "/metrics"} == (
        description["paths"].keys()
    )
    for endpoint in ENDPOINTS:
        found = description["paths"][endpoint.path]["post"]
        assert {"200", "401", "413", "415", "422", "500", "503"} <= set(
            found["responses"]
        )
        assert all(each["description"] for each in found["responses"].values())
        assert found["requestBody"]["content"]


def test_every_field_is_described(description):
    missing = [
        name
        for schema in schemas_with_properties(description["components"]["schemas"])
        for name, each in schema["properties"].items()
        if not each.get("description") and "$ref" not in each
    ]

    assert missing == []


def test_references_lead_to_schemas_that_are_there(description):
    text = orjson.dumps(description).decode()
    named = set(re.findall(r'"\$ref":"#/components/schemas/(\w+)"', text))

    assert named <= description["components"]["schemas"].keys()
    assert text.count('"$ref"') == text.count('"$ref":"#/components/schemas/')


def test_examples_are_those_of_the_schemas_and_are_scrubbed(description, tmp_path):
    body = description["paths"]["/v1/notes"]["post"]["requestBody"]
    examples = body["content"]["application/json"]["examples"]

    assert {"short", "least", "with_demographics"} <= examples.keys()
    with serving(tmp_path, preset="lexical") as gateway:
        answers = [
            gateway.post("/v1/notes", each["value"]) for each in examples.values()
        ]
    assert {each.status for each in answers} == {200}


def test_the_framework_records_no_telemetry_whatever_the_environment(monkeypatch):
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")

    async def scrub(task):
        raise AssertionError(task)

    app = application(Settings(), scrub, lambda: True, GatewayMetrics([]))

    assert not app._native_telemetry.enabled()
    assert not any(app._telemetry[each] for each in NO_TELEMETRY)


def test_the_page_loads_nothing_from_other_hosts(description):
    loaded = []

    class Links(HTMLParser):
        def handle_starttag(self, tag, attrs):
            assert tag not in ("script", "iframe", "object", "img")
            loaded.extend(
                value
                for name, value in attrs
                if name in ("src", "href", "action") and not value.startswith("#")
            )

    Links().feed(page(description))

    assert loaded == ["/docs.css", "/v1/openapi.json"]


def test_the_page_escapes_what_it_shows(description):
    changed = orjson.loads(orjson.dumps(description))
    changed["info"]["title"] = "<script>alert(1)</script>"

    assert "<script" not in page(changed)


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_page_reads_well_in_a_browser(tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api")
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with (
        serving(tmp_path, preset="lexical") as gateway,
        sync_api.sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox"]
        )
        for name, (width, height) in SIZES.items():
            # The policy of the page forbids the checker's own script.
            context = browser.new_context(
                viewport={"width": width, "height": height}, bypass_csp=True
            )
            shown = context.new_page()
            asked, trouble = [], []
            shown.on("request", lambda request, to=asked: to.append(request.url))
            shown.on("console", lambda message, to=trouble: to.append(message.text))
            shown.on("pageerror", lambda error, to=trouble: to.append(str(error)))
            shown.goto(f"http://127.0.0.1:{gateway.port}/docs")
            shown.screenshot(path=tmp_path / f"{name}.png", full_page=True)
            scrolled = shown.evaluate(
                "document.documentElement.scrollWidth - window.innerWidth"
            )
            assert scrolled <= 0, name
            assert shown.locator("section").count() > len(ENDPOINTS)
            assert [
                each
                for each in asked
                if not each.startswith(f"http://127.0.0.1:{gateway.port}/")
            ] == []
            assert [
                each for each in trouble if "favicon" not in each and "404" not in each
            ] == []
            violations = axe.Axe().run(shown).response["violations"]
            assert [each["id"] for each in violations] == [], name
            context.close()
        browser.close()
