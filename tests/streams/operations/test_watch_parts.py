"""Watch's small parts: credentials, quiet logs, workers' answers, models, routes."""

from __future__ import annotations

import asyncio
import logging
import re
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from aiohttp.test_utils import TestClient, TestServer

from streams.engine.errors import ConfigError
from streams.engine.records import Partition, Record
from streams.kafka.lag import LagState, PartitionLag
from streams.model.outputs import RECEIVED, received_header
from streams.operations.counts.windows import HOUR
from streams.operations.http_access import Access
from streams.operations.model_card import model_in, model_of
from streams.operations.settings import Settings
from streams.operations.watch.dashboard import PARTS
from streams.operations.watch.demo_notes import require_own_broker
from streams.operations.watch.lag_history import LagTrend
from streams.operations.watch.log_filter import ValueFilter
from streams.operations.watch.runbook import slug
from streams.operations.watch.transport import credentials
from streams.operations.watch.web import FILES, Routes
from streams.operations.watch.workers import Workers, row_of

RUNBOOK = Path(__file__).parents[3] / "deploy" / "runbook.md"


def settings(**kafka):
    names = {key.replace("_", "."): value for key, value in kafka.items()}
    return Settings(bootstrap="localhost:1", kafka=names)


# --- when a message came


def record(topic, told=None):
    headers = {} if told is None else {RECEIVED: told}
    return Record(Partition(topic, 0), 0, None, b"", headers, 1_700_000_000_123)


def test_a_record_of_hl7_raw_came_when_it_was_stamped_whatever_its_sender_says():
    assert received_header(record("hl7.raw")) == b"1700000000123"
    assert received_header(record("hl7.raw", b"1111111111111")) == b"1700000000123"


def test_a_note_came_when_its_message_came():
    assert received_header(record("notes", b"1600000000000")) == b"1600000000000"


@pytest.mark.parametrize("told", [b"", b"Zzquist", b"12", b"12345678901234"])
def test_a_header_that_is_not_a_time_is_replaced(told):
    assert received_header(record("notes", told)) == b"1700000000123"


# --- credentials


def test_a_plain_connection_needs_no_credentials():
    assert credentials(settings()) is None


def test_a_password_goes_along_with_its_mechanism():
    found = credentials(
        settings(
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanisms="SCRAM-SHA-512",
            sasl_username="watch",
            sasl_password="secret",  # noqa: S106  # invented
        )
    )

    assert (
        found.username,
        found.password,
        found.mechanism.value,
    ) == ("watch", "secret", "SCRAM-SHA-512")
    assert "secret" not in repr(found)


def test_tls_checks_the_broker():
    found = credentials(settings(security_protocol="SSL"))

    assert found.context.check_hostname


@pytest.mark.parametrize(
    ("kafka", "says"),
    [
        ({"security_protocol": "SASL_SSL"}, "sasl.mechanisms"),
        ({"security_protocol": "KERBEROS"}, "security.protocol"),
        ({"ssl_crl_location": "x"}, "ssl.crl.location"),
        ({"security_protocol": "SSL", "ssl_ca_location": "/none"}, "ssl"),
    ],
)
def test_a_security_setting_that_can_not_be_kept_is_refused(kafka, says):
    with pytest.raises(ConfigError, match=says):
        credentials(settings(**kafka))


# --- logs


@pytest.mark.parametrize(
    ("template", "arguments", "line"),
    [
        ("lost %r at %d", ("Zzquist", 7), "lost str at 7"),
        ("lost %s", (ValueError("Zzquist"),), "lost ValueError"),
        ("%(who)s in %(n).1f", ({"who": "Zzquist", "n": 2.5},), "dict in 2.5"),
        ("no such %s %s", ("Zzquist",), "a line whose arguments do not fit"),
        ("plain", (), "plain"),
    ],
)
def test_a_foreign_log_line_shows_only_numbers_and_classes(template, arguments, line):
    record = logging.LogRecord("faust.x", 30, "f", 1, template, arguments, None)

    assert ValueFilter().filter(record)
    assert line.replace("dict", "str") == record.getMessage()


def test_our_own_lines_stay_as_they_are():
    record = logging.LogRecord("streams.x", 30, "f", 1, "at %s", ("notes[3]",), None)
    ValueFilter().filter(record)

    assert record.getMessage() == "at notes[3]"


# --- workers


def test_of_a_workers_answer_only_numbers_and_known_words_are_shown():
    answer = {
        "stage": "scrub", "ready": True, "reason": "Zzquist", "model": "Zzquist",
        "partitions": [3, "Zzquist"], "preset": "hybrid", "policy": "Zz quist",
        "version": "0.1.0",
        "table": [{"rows": 5, "behind": 2}, {"rows": "Zzquist", "behind": 1}, "x"],
    }  # fmt: skip

    assert row_of("h:1", answer) == {
        "worker": "scrub at h:1", "table": "patients", "reachable": True,
        "ready": True, "records": 5, "remaining": 3, "stage": "scrub",
        "partitions": 2, "setup": "hybrid/other/0.1.0/other/other",
    }  # fmt: skip
    assert "Zzquist" not in str(row_of("h:1", {"stage": "Zzquist", "ready": "Zzquist"}))


def test_a_worker_that_does_not_answer_is_shown_as_unreachable():
    assert (
        row_of("h:1", None)["reachable"],
        row_of("h:1", None)["ready"],
    ) == (False, False)


@pytest.mark.parametrize("addresses", ["host", "host:", ":9", "a:1,b"])
def test_an_address_that_is_none_is_refused(addresses):
    with pytest.raises(ConfigError, match="watch_workers"):
        Workers(addresses)


# --- lag over time


def lag(topic, records, partition=0):
    return PartitionLag("g", topic, partition, 0, 9, records, 1.0, LagState.OK)


def test_the_trend_holds_the_most_of_each_minute_and_nothing_of_watchs_own():
    trend, at = LagTrend(), HOUR.start_of(1_790_000_000.0)
    trend.add(at - 61, [lag("notes", 7)])
    of_scrub = [lag("notes", 5), lag("notes", 3, 1), lag("patient.updates", 1)]
    trend.add(at + 1, [*of_scrub, lag("hl7.raw", 2)])
    trend.add(at + 2, [lag("notes", 1), lag("hl7.raw", 3), lag("phi.audit", 99)])

    told = trend.json(at + 30)

    assert (at, 60, 60) == (told["starts"][-1], len(told["starts"]), told["width"])
    assert told["series"]["scrub"][-3:] == [7, None, 9]
    assert told["series"]["intake"][-3:] == [0, None, 3]


def test_the_trend_forgets_what_is_older_than_an_hour():
    trend, at = LagTrend(), HOUR.start_of(1_790_000_000.0)
    for minute in range(200):
        trend.add(at + 60 * minute, [lag("notes", minute)])

    told = trend.json(at + 60 * 199)
    assert list(range(140, 200)) == told["series"]["scrub"]
    assert trend.json(at + 60 * 300)["series"]["scrub"] == [None] * 60


# --- models and the demo's guard


def test_the_model_of_a_preset_is_given_by_name_and_hash():
    found = model_of("hybrid")

    assert (found["model"], len(found["sha256"])) == ("english", 12)


@pytest.mark.parametrize("preset", ["lexical", "other", "../../etc/passwd"])
def test_a_preset_without_a_model_has_none(preset):
    assert model_of(preset)["model"] is None


def test_the_model_of_another_version_is_not_guessed():
    own = metadata.version("phistream")

    assert model_in(own, "hybrid")["model"] == "english"
    assert model_in(f"{own}.1", "hybrid")["model"] is None


def test_notes_are_shown_from_no_cluster_but_our_own(tmp_path):
    foreign = Settings(bootstrap="hospital:9092", broker_dir=tmp_path)

    with pytest.raises(ConfigError, match="only for a broker"):
        require_own_broker(foreign)


# --- routes


class StubDashboard:
    def __init__(self, *, ready=True, figures=True):
        self.is_ready = ready
        self.figures = {"at": 1.0, **{part: {} for part in PARTS}} if figures else {}

    def status(self):
        return {"stage": "watch", "ready": self.is_ready}


def ask(path, desk=None, examples=None, headers=None, **settings):
    """Return what the site answers to a path."""
    access = Access.of(Settings(**settings), "127.0.0.1")

    async def talk():
        site = Routes(desk or StubDashboard(), examples, asyncio.Event(), access)
        async with TestClient(TestServer(site.application())) as client:
            answer = await client.get(path, headers=headers)
            body = await answer.read()
            return SimpleNamespace(
                status=answer.status, headers=answer.headers, body=body.decode()
            )

    return asyncio.run(talk())


@pytest.mark.parametrize("path", [*FILES, *(f"/api/{part}" for part in PARTS)])
def test_every_answer_forbids_whatever_is_not_ours(path):
    answer = ask(path)

    assert answer.status == 200
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", [p for p in FILES if not p.endswith(".svg")])
def test_no_file_names_another_host_or_holds_inline_code(path):
    text = ask(path).body.replace("http://www.w3.org/2000/svg", "")

    assert [bad for bad in ("http://", "https://", "style=") if bad in text] == []
    assert "onclick" not in text


@pytest.mark.parametrize("path", ["/", "/api/flow", "/api/events", "/metrics", "/none"])
def test_a_page_of_another_name_reads_nothing(path):
    answer = ask(path, headers={"Host": "evil.example"})

    assert (answer.status, "allowed_hosts" in answer.body) == (421, True)
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert (
        ask("/api/flow", headers={"Host": "e.org"}, allowed_hosts="e.org").status != 421
    )


@pytest.mark.parametrize("path", ["/", "/api/events", "/metrics", "/status", "/none"])
def test_with_tokens_only_probes_are_answered_without_one(path):
    token = {"operator_tokens": f"page:{'1' * 32}"}
    refused = ask(path, **token)
    bearer = {"Authorization": f"Bearer {'1' * 32}"}

    assert refused.status == 401
    assert "Basic" in refused.headers["WWW-Authenticate"]
    assert ask("/healthz", **token).status == 200
    assert ask("/api/flow", headers=bearer, **token).status == 200


def test_notes_are_refused_outside_of_the_demo():
    answer = ask("/api/notes")

    assert (answer.status, "demo only" in answer.body) == (403, True)


def test_notes_are_given_in_the_demo():
    examples = SimpleNamespace(json=lambda: [{"before": "x"}])

    assert ask("/api/notes", examples=examples).body == '{"notes":[{"before":"x"}]}'


@pytest.mark.parametrize(("ready", "status"), [(True, 200), (False, 503)])
def test_ready_says_whether_partitions_are_held_and_tables_restored(ready, status):
    assert status == ask("/readyz", StubDashboard(ready=ready)).status
    assert ask("/healthz", StubDashboard(ready=ready)).status == 200


def test_before_the_first_look_there_are_no_figures():
    assert ask("/api/flow", StubDashboard(figures=False)).status == 503


def test_the_runbook_is_served_with_an_anchor_for_every_section():
    answer = ask("/runbook")
    anchors = re.findall(r'<h[12] id="([^"]+)">', answer.body)

    assert (
        answer.status,
        answer.headers["Content-Type"],
    ) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    sections = re.findall(r"^#{1,2} (.+)$", RUNBOOK.read_text("utf-8"), re.M)
    assert anchors == [*map(slug, sections)]
    assert len(anchors) == len(set(anchors)) > 50


def test_the_runbook_leads_to_no_place_that_is_not_there():
    body = ask("/runbook").body
    anchors = {f"#{each}" for each in re.findall(r' id="([^"]+)"', body)}

    links = set(re.findall(r'href="([^"]+)"', body))
    assert links <= anchors | {"/", "/icon.svg", "/watch.css"}
    # What the links to files of the repository said is still there.
    assert "streams/engine/reasons.py" in body
    assert "http" not in body.replace("http-equiv", "")


@pytest.mark.parametrize("path", ["/api/none", "/../settings.py", "/words.py"])
def test_nothing_else_is_served(path):
    assert ask(path).status == 404


def test_metrics_are_in_prometheus_own_format():
    answer = ask("/metrics")

    assert (answer.status, "# TYPE" in answer.body) == (200, True)
