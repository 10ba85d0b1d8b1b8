"""`phistream demo --page` in a browser, as a person uses it; then nothing is left."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import psutil
import pytest

from streams.kafka.local_broker.ports import free_ports
from streams.operations.metrics.alerts import OF_PROMETHEUS_ALONE
from streams.operations.watch.dashboard import PARTS
from tests.end_to_end.test_watch import get, wait_for

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is missing")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
SIZES = {"wide": (1280, 900), "phone": (390, 844)}
STARTED = 240
COMMAND = (sys.executable, "-m", "streams.cli", "demo", "--page")

needs_browser = pytest.mark.skipif(
    BROWSER is None, reason=f"no browser is installed: none of {', '.join(NAMES)}"
)


@contextmanager
def demo(folder, port, *arguments):
    """Run the demo with a page until the end of the block; give its process."""
    (folder / "tmp").mkdir(exist_ok=True)
    with (folder / "demo.log").open("wb") as log:
        process = subprocess.Popen(
            [*COMMAND, "--port", str(port), *arguments],
            env=os.environ | {"PYTHONPATH": os.getcwd(), "TMPDIR": str(folder / "tmp")},
            cwd=folder,
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(lambda: is_ready(process, port, folder), STARTED)
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(120)


def is_ready(process, port, folder):
    assert process.poll() is None, (folder / "demo.log").read_text()
    return get(port, "/readyz")[0] == 200


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """A demo that the tests of the page share."""
    port = free_ports(1)[0]
    with demo(tmp_path_factory.mktemp("page"), port):
        wait_for(lambda: labels(port) > 500, STARTED)
        wait_for(lambda: get(port, "/api/notes")[1]["notes"], STARTED)
        yield port


def labels(port):
    return get(port, "/api/phi")[1]["phi"]["hour"]["total"]


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


class Visit:
    """A page that is open, and all that it complained of or asked for."""

    def __init__(self, browser, port, size="wide", **options):
        width, height = SIZES[size]
        viewport = {"width": width, "height": height}
        self.context = browser.new_context(viewport=viewport, **options)
        self.page = self.context.new_page()
        self.complaints, self.hosts = [], set()
        self.page.on("console", lambda m: self._complain(m.type, m.text))
        self.page.on("pageerror", lambda error: self._complain("error", str(error)))
        self.page.on("request", lambda r: self.hosts.add(urlsplit(r.url).netloc))
        self.page.goto(f"http://127.0.0.1:{port}/")
        self.page.wait_for_selector("#lag tbody tr")

    def _complain(self, kind, text):
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def text(self, selector):
        return self.page.inner_text(selector)

    def wait(self, expression):
        # Not by wait_for_function, which the page's policy rightly forbids.
        deadline = time.monotonic() + 120
        while not self.page.evaluate(expression):
            assert time.monotonic() < deadline, expression
            self.page.wait_for_timeout(100)


@pytest.fixture
def visit(browser, port, request):
    options = getattr(request, "param", {})
    visit = Visit(browser, port, **options)
    yield visit
    visit.context.close()


def each_way():
    for size in SIZES:
        for scheme in ("light", "dark"):
            options = {"size": size, "color_scheme": scheme}
            yield pytest.param(options, id=f"{size}-{scheme}")


EVERY_WAY = pytest.mark.parametrize("visit", list(each_way()), indirect=True)


@needs_browser
def test_the_figures_move(visit, port):
    before = visit.text("#headline")

    visit.wait(f"document.querySelector('#headline').innerText !== {before!r}")

    # The page's figure is the one of its JSON, and notes do come.
    deadline = time.monotonic() + 120
    while not agree(shown_rate(visit), published_rate(port)):
        assert time.monotonic() < deadline
        visit.page.wait_for_timeout(100)
    assert (visit.complaints, len(visit.hosts)) == ([], 1)


def shown_rate(visit):
    [rate] = re.findall(r"Notes published\s+([\d.]+)", visit.text("#headline"))
    return float(rate)


def agree(shown, told):
    """From ten on the page shows whole notes a second."""
    return shown > 0 and abs(shown - told) <= 0.5


def published_rate(port):
    edges = get(port, "/api/flow")[1]["flow"]["edges"]
    [rate] = [edge["rate"] for edge in edges if edge["to"] == "notes.scrubbed"]
    return rate


@needs_browser
def test_the_headlines_lag_is_that_of_the_data_path(visit, port):
    """Watch's own readers have a place of their own, below a line."""
    rows = visit.page.locator("#lag .group").all_inner_texts()
    own = visit.page.locator("#lag-own ~ tbody .group").all_inner_texts()
    assert rows[:3] == ["phistream-intake ← ", *["phistream-scrub ← "] * 2]
    assert ["phistream-watch ← "] * 2 == own == rows[3:]

    def sides():
        """Return the headline, and what the same figures say of each reader."""
        shown = visit.text("#headline").split("Lag", 1)[1].split()[0]
        cells = visit.page.locator("#lag tbody:not(#lag-own) tr td:nth-child(2)")
        counts = [int(n.replace(",", "")) for n in cells.all_inner_texts()]
        # Before scrub a message lies twice, as a note and as an update.
        return int(shown.replace(",", "")), sum(counts[:2]), sum(counts)

    deadline = time.monotonic() + 60
    while True:
        shown, path, everything = sides()
        if shown == path < everything:
            return
        assert time.monotonic() < deadline, "never without watch's own lag"
        visit.page.wait_for_timeout(100)


@needs_browser
def test_the_lag_is_drawn_over_the_last_hour(visit, port):
    trend = get(port, "/api/lag")[1]["lag"]["trend"]

    assert (60, 60, {"intake", "scrub"}) == (
        len(trend["starts"]),
        trend["width"],
        {*trend["series"]},
    )
    told = visit.page.get_attribute("#lag-chart svg", "aria-label")
    assert told.startswith("Lag over the last hour: at most ")
    assert visit.page.locator("#lag-chart :is(path, circle).scrub").count()


@needs_browser
def test_a_reason_leads_to_its_section_of_the_runbook_without_network(visit, port):
    visit.wait("document.querySelector('#dead tbody a') !== null")
    link = visit.page.locator("#dead tbody a").first
    code = link.inner_text()

    link.click()

    visit.page.wait_for_url(f"**/runbook#{code}")
    assert code == visit.text("h2:target")
    assert "Means." in visit.text("h2:target + p")
    assert ([], {f"127.0.0.1:{port}"}) == (visit.complaints, visit.hosts)


@needs_browser
def test_every_alert_links_to_a_section_that_is_there(visit):
    visit.page.click("#alerts-others-count")
    links = visit.page.locator("#h-alerts").locator("xpath=../..").locator("a")
    anchors = {a.get_attribute("href").partition("#")[2] for a in links.all()}

    visit.page.goto(visit.page.url.partition("#")[0] + "runbook")

    there = {h.get_attribute("id") for h in visit.page.locator("h2").all()}
    assert len(anchors) >= len(OF_PROMETHEUS_ALONE)
    assert anchors <= there


def figures_of(port):
    """Return the figures of now, as the page gets them."""
    figures = {part: get(port, f"/api/{part}")[1][part] for part in PARTS}
    windows = {name: {"width": 60} for name in ("minute", "hour", "day")}
    return figures | {"at": 66.0, "ready": True, "windows": windows}


def shown(browser, port, figures):
    """Return the page with these figures."""
    visit = Visit(browser, port)
    body = f"event: figures\ndata: {json.dumps(figures)}\n\n"
    visit.page.route(
        "**/api/events",
        lambda route: route.fulfill(content_type="text/event-stream", body=body),
    )
    visit.page.reload()
    return visit


FLOWING = "e => getComputedStyle(e).visibility === 'visible'"


@needs_browser
@pytest.mark.parametrize(("workers", "told"), [(0, "no worker"), (2, "STOP")])
def test_a_stage_that_has_stopped_is_red_and_nothing_flows_through_it(
    browser, port, workers, told
):
    figures = figures_of(port)
    for edge in figures["flow"]["edges"]:
        edge["rate"] = 20 if edge["from"] in ("hl7.raw", "intake") else 0
    for lag in figures["lag"]["partitions"]:
        if lag["group"].endswith("-scrub"):
            lag |= {"records": 3000, "state": "STOP", "seconds": 85}
    figures["lag"]["workers"] = {"intake": 1, "scrub": workers}
    visit = shown(browser, port, figures)

    visit.wait("document.querySelector('#flow').textContent.includes('STOP')")
    flowing = visit.page.locator("#flow .pulse").evaluate_all(
        f"all => all.map({FLOWING})"
    )
    box = visit.page.locator("#flow .stage", has_text="scrub")
    text, state = box.text_content(), box.get_attribute("data-state")
    lag = visit.text("#headline").split("Lag", 1)[1]
    visit.context.close()

    # From hl7.raw to intake, from there to notes, updates and dead letters.
    assert sum(flowing) == 4
    assert (told in text, state) == (True, "STOP")
    # A message is not counted twice, as a note and as an update.
    notes = sum(
        each["records"]
        for each in figures["lag"]["partitions"]
        if not each["own"] and each["topic"] != "patient.updates"
    )
    assert lag.split()[0] == (f"{notes:,}")


@needs_browser
def test_an_alert_that_is_not_green_is_said_at_the_top(browser, port):
    """Figures in which a few too many of the demo's broken messages are refused."""
    row = {
        "name": "PhistreamDeadLetters", "severity": "ticket", "state": "pending",
        "meaning": "More than two in a hundred.", "threshold": 0.02, "window": 600,
        "hold": 600, "subjects": [{"subject": "intake", "value": 0.0251, "since": 0,
                                   "state": "pending"}],
    }  # fmt: skip
    figures = figures_of(port)
    figures["alerts"]["rows"] = [row]
    visit = shown(browser, port, figures)

    visit.wait("document.querySelector('#overall').innerText.includes('1 alert pend')")
    state = visit.page.get_attribute("#overall .state", "data-state")
    told = visit.text("#alerts-table tbody")
    visit.context.close()

    assert state in ("WARN", "STALL", "STOP")
    assert "intake: 2.51% (limit 2% over 10 min)" in told
    assert "66 s of 10 min" in told


@needs_browser
def test_the_footer_of_the_demo_says_what_the_demo_shows(visit):
    visit.wait("document.querySelector('#promise').innerText.includes('A demo')")

    assert "the notes above are invented" in visit.text("footer")
    assert "Glossary" in visit.text("footer")


@needs_browser
def test_another_window_shows_other_figures(visit):
    assert "last minute" in visit.text("#phi-total")
    minute = visit.text("#phi-chart")

    visit.page.get_by_role("radio", name="Hour").check()

    visit.wait("document.querySelector('#phi-total').innerText.includes('last hour')")
    assert minute != visit.text("#phi-chart")
    assert "in the last hour" in visit.text("#headline")
    visit.page.keyboard.press("ArrowRight")
    visit.wait("document.querySelector('#phi-total').innerText.includes('last day')")


@needs_browser
def test_a_partitions_details_open_and_keep_the_focus(visit):
    """By the keyboard alone; the figures go on beneath."""
    page = visit.page
    page.focus("#lag tbody:first-of-type button")
    page.keyboard.press("Enter")
    assert page.locator("#lag tbody:first-of-type tr").count() == 7
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.innerText") == "partition 0"

    details = page.locator("#lag tr.detail")
    assert re.search(r"Committed\s+[\d,]+\s+Last stable\s+[\d,]+", details.inner_text())
    old = page.inner_text("#lag tr.detail dd:first-of-type")
    visit.wait(f"document.querySelector('#lag tr.detail dd').innerText !== {old!r}")
    assert page.evaluate("document.activeElement.innerText") == "partition 0"

    page.keyboard.press("Enter")
    assert details.count() == 0


@needs_browser
def test_the_theme_is_remembered(visit):
    first = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    visit.page.click("#theme")
    second = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    visit.page.reload()
    visit.page.wait_for_selector("#lag tbody tr")

    assert first != second
    assert second == (
        visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    )


@needs_browser
def test_the_demos_notes_are_shown_before_and_after(visit):
    visit.wait("document.querySelector('#after').innerText.includes('[NAME:PATIENT]')")
    before = visit.page.locator("#before mark").all_inner_texts()
    after = visit.page.locator("#after mark").all_inner_texts()

    assert len(before) == len(after) > 3
    assert "[" not in "".join(before)
    visit.page.click("#older")
    assert visit.text("#which").startswith("2 of")


@needs_browser
@EVERY_WAY
def test_it_fits_the_screen_and_nothing_is_cut(visit):
    page = visit.page
    wider = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    outside = page.evaluate(
        """[...document.querySelectorAll('.card td, .card th, .card p, .card dd')]
        .filter(e => e.offsetParent && !e.closest('.unseen'))
        .filter(e => e.getBoundingClientRect().right
                     > e.closest('.card').getBoundingClientRect().right)
        .map(e => e.innerText)"""
    )

    assert (wider, outside) == (0, [])


@needs_browser
@EVERY_WAY
def test_axe_finds_nothing_to_mend_in_the_runbook(visit):
    visit.page.goto(visit.page.url + "runbook")

    found = axe.Axe().run(visit.page)

    assert found.violations_count == 0, found.generate_report()


@needs_browser
@EVERY_WAY
def test_axe_finds_nothing_to_mend(visit):
    """axe-core's rules: WCAG 2.1 A and AA (contrast, names, order), good practice."""
    visit.page.click("text=Rates as a table")
    visit.page.click("#alerts-others-count")
    visit.page.click("text=Glossary")
    visit.page.click("#lag tbody:first-of-type button")
    found = axe.Axe().run(visit.page)

    assert found.violations_count == 0, found.generate_report()
    assert len(found.response["passes"]) > 40
    # It can't judge what it can't see through: pictures' own texts alone.
    unsure = {
        node["html"].split()[0]
        for rule in found.response["incomplete"]
        for node in rule["nodes"]
    }
    assert unsure <= {"<text"}


@needs_browser
def test_a_screen_reader_finds_its_way(visit):
    page = visit.page
    for landmark in ("banner", "main", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1
    assert page.locator("h1").count() == 1
    polite = page.locator("[aria-live]")
    assert [e.get_attribute("aria-live") for e in polite.all()] == ["polite"]
    said = polite.inner_text()
    assert any(word in said for word in ("All groups keep up", "WARN", "pending"))


@needs_browser
def test_the_first_tab_skips_to_the_figures(visit):
    visit.page.keyboard.press("Tab")
    assert (
        visit.page.evaluate("document.activeElement.innerText")
    ) == "Skip to the figures"
    visit.page.keyboard.press("Enter")
    assert visit.page.evaluate("document.activeElement.id") == "main"


@needs_browser
def test_who_wants_less_motion_sees_none(browser, port):
    visit = Visit(browser, port, reduced_motion="reduce")

    names = visit.page.evaluate(
        """[...document.querySelectorAll('.pulse')]
        .map(e => getComputedStyle(e).animationName)"""
    )
    visit.context.close()

    assert set(names) == {"none"}


@needs_browser
def test_it_says_when_there_is_no_data(browser, port):
    visit = Visit(browser, port)
    visit.context.set_offline(True)
    visit.page.route("**/api/events", lambda route: route.abort())
    visit.page.evaluate("window.stop()")

    visit.wait("document.querySelector('#overall').innerText.includes('No data')")
    visit.context.close()


def test_every_figure_has_its_json(port):
    for part in PARTS:
        status, body = get(port, f"/api/{part}")
        assert (status, bool(body[part])) == (200, True)
    [setup] = get(port, "/api/versions")[1]["versions"]
    assert (
        setup["preset"],
        setup["policy"],
        setup["model"],
    ) == ("hybrid", "safe-harbor", "english")
    workers = get(port, "/api/tables")[1]["tables"]["workers"]
    assert [(w["ready"], w["remaining"]) for w in workers] == [(True, 0), (True, 0)]
    took = get(port, "/api/latency")[1]["latency"]["hour"]["scrub"]
    assert 0 < took["p50"] <= took["p90"] <= took["p99"]


@pytest.mark.long
def test_sigterm_ends_all_and_leaves_nothing(tmp_path):
    """The feed moves the figures; then no process, no folder, a status of 0."""
    port = free_ports(1)[0]
    with demo(tmp_path, port, "--rate", "5") as process:
        first = wait_for(lambda: labels(port), STARTED)
        wait_for(lambda: labels(port) > first, STARTED)
        family = psutil.Process(process.pid).children(recursive=True)
        folders = list((tmp_path / "tmp").glob("phistream-demo-*"))
        assert (len(folders), len(family) > 4) == (1, True)
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0, (tmp_path / "demo.log").read_text()

    deadline = time.monotonic() + 120
    while any(map(is_alive, family)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert [p.pid for p in family if is_alive(p)] == []
    assert list((tmp_path / "tmp").glob("phistream-demo-*")) == []
    assert "Traceback" not in (tmp_path / "demo.log").read_text()


def is_alive(process):
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_a_taken_port_is_told_before_anything_is_started(tmp_path, port):
    done = subprocess.run(
        [*COMMAND, "--port", str(port)],
        env=os.environ | {"PYTHONPATH": os.getcwd()},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, "another --port" in done.stderr) == (78, True)
    assert "Kafka" not in done.stdout
