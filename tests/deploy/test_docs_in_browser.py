"""The documentation in a browser, as on an intranet: no other host is asked."""

from __future__ import annotations

import functools
import http.server
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from tests.deploy.site import build
from tests.end_to_end.test_page import BROWSER, SIZES, axe, needs_browser, sync_api

pytestmark = [needs_browser, pytest.mark.timeout(600)]

EACH_KIND = (
    "",
    "tutorial/stream/",
    "how-to/rotate-keys/",
    "reference/cli/",
    "reference/settings/",
    "reference/topics/",
    "reference/rules/",
    "reference/api/",
    "explanation/seals/",
    "deploy/runbook/",
    "deploy/decisions/0022-seals/",
    "source/streams/kafka/updates_first.py/",
)


class Silent(http.server.SimpleHTTPRequestHandler):
    """A handler that logs nothing."""

    def log_message(self, *_):
        """Log nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, and its address."""
    folder = build(tmp_path_factory.mktemp("site"))
    handler = functools.partial(Silent, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@contextmanager
def visit(browser, size="wide", scheme="light"):
    """Open a tab; yield it and what it complains of: errors, failures, other hosts."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme
    )
    page = context.new_page()
    complaints = []

    def look(response):
        if response.status >= 400:
            complaints.append(f"{response.status} {response.url}")

    def failed(request):
        # One page is left for the next while its search is still being loaded.
        if request.failure != "net::ERR_ABORTED":
            complaints.append(f"{request.failure} {request.url}")

    def check_host(request):
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob") and url.hostname != "127.0.0.1":
            complaints.append(f"asks {request.url}")

    page.on("console", lambda m: m.type == "error" and complaints.append(m.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", failed)
    page.on("response", look)
    page.on("request", check_host)
    yield page, complaints
    context.close()


def addresses(site):
    folder, base = site
    for file in sorted(folder.rglob("index.html")):
        path = file.relative_to(folder).parent.as_posix()
        yield base if path == "." else f"{base}{path}/"


def complaints_of(browser, addresses):
    with visit(browser) as (page, complaints):
        for address in addresses:
            page.goto(address)
            assert page.locator("h1").first.inner_text(), address
        return complaints


def test_pages_and_documents_load_without_a_complaint(browser, site):
    _, base = site
    shown = (f"{base}source/", f"{base}linked/")
    chosen = [each for each in addresses(site) if not each.startswith(shown)]

    assert (complaints_of(browser, chosen), len(chosen) > 50) == ([], True)


@pytest.mark.long
def test_every_page_loads_without_a_complaint(browser, site):
    assert complaints_of(browser, addresses(site)) == []


def test_search_finds_dead_letters(browser, site):
    with visit(browser) as (page, complaints):
        page.goto(site[1])
        page.fill("input.md-search__input", "dead letters")
        page.wait_for_selector(".md-search-result__item a")
        found = page.locator(".md-search-result__item a").evaluate_all(
            "links => links.map(a => a.getAttribute('href'))"
        )
        assert any("how-to/dead-letters/" in href for href in found)
        assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_pages_are_accessible(browser, site, size, scheme):
    violations = []
    with visit(browser, size, scheme) as (page, _):
        for name in EACH_KIND:
            page.goto(site[1] + name)
            page.wait_for_load_state("networkidle")
            found = axe.Axe().run(page).response["violations"]
            violations += [
                (name, each["id"], each["nodes"][0]["html"][:200])
                for each in found
                if each["impact"] in ("serious", "critical")
            ]
    assert violations == []


def test_nothing_is_wider_than_a_phone(browser, site):
    with visit(browser, "phone") as (page, _):
        for name in EACH_KIND:
            page.goto(site[1] + name)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= SIZES["phone"][0], name
