"""Metrics of running workers on real Kafka, held against what the topics say."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from deid_core.labels import Label
from streams.demo.broken import BROKEN_KINDS
from streams.demo.flow import read_topic
from streams.demo.ward import Ward
from streams.engine.reasons import OTHER, REASONS
from streams.formats.documents import UnreadableKind
from streams.formats.hl7.embedded import POINTER
from streams.kafka.lag import LagState
from streams.kafka.local_broker.ports import free_ports
from streams.kafka.topics import NOTES, PATIENT_UPDATES, PATIENTS, PHI_AUDIT
from streams.operations.metrics.catalogue import WORKERS
from streams.operations.reconcile import Auditor
from streams.pipeline.files.feed import RawMessage
from streams.products.mllp.catalogue import METRICS as MLLP
from tests.conftest import settings_for, with_topics
from tests.deploy.promql import names_in, queries, rules
from tests.end_to_end.prometheus import needs_prometheus, prometheus
from tests.end_to_end.test_main_job import FAMILY, GIVEN, MARKERS, MRN, adt, event
from tests.harness import (
    count_records,
    drain,
    feed_and_drain,
    produce,
    raw,
    start_service,
    values,
)

pytestmark = pytest.mark.timeout(600)

KEY = MRN.encode()
PATIENCE_SECONDS = 150
CLOSED = {
    "stage": {"intake", "scrub"},
    "result": {
        *("committed", "aborted", "unknown", "fenced", "found", "missing"),
        *("folded", "unchanged", "erased", "dead_letter"),
    },
    "error": {"CorruptState", "Fenced", "RetriableError", "UnknownOutcome"},
    "event": {"assigned", "revoked"},
    "outcome": {
        *("scrubbed", "rebuilt", "routed", "repeated", "dead_letter"),
        *("held", "discarded"),
    },
    "reason": {*REASONS, OTHER},
    "label": {label.value for label in Label},
    "kind": {
        *("notes", "patients", "skipped", "repeated", "conflicts"),
        *UnreadableKind,
        POINTER,
    },
    "state": {state.value for state in LagState},
    "topic": {"hl7.raw", "notes", "patient.updates"},
}
"""Labels, and every value that they may have."""
OF_PYTHON = ("process_", "python_")


def get(port, path):
    try:
        url = f"http://127.0.0.1:{port}{path}"
        with urlopen(url, timeout=60) as answer:  # our own server
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


class Scraped:
    """All samples of some workers, as Prometheus would see them."""

    def __init__(self, texts):
        self.samples = [
            sample
            for text in texts
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if not sample.name.endswith("_created")
        ]
        self.names = {sample.name for sample in self.samples}

    def sums(self, name, *labels):
        """Return the sums above 0 of a metric, by some of its labels."""
        sums = Counter()
        for sample in self.samples:
            if sample.name == name and sample.value:
                key = tuple(sample.labels[label] for label in labels)
                sums[key[0] if len(key) == 1 else key] += sample.value
        return dict(sums)


@pytest.fixture(scope="module")
def job(module_cluster, tmp_path_factory):
    """Intake and two scrub workers, scraped after all is drained."""
    folder = tmp_path_factory.mktemp("metrics")
    settings = with_topics(settings_for(module_cluster, folder, log_level="debug"))
    ports = free_ports(3)
    services = []
    try:
        for stage, port, workers in (("intake", ports[0], 1), ("scrub", ports[1], 2)):
            own = settings.model_copy(update={"metrics_port": port})
            services.append(start_service(stage, own, workers=workers))
        ward = Ward(seed=12, split="test", patients=20, note_words=60)
        _feed(settings, services, ward)
        _wait_until_shown(settings, ports)
        pages = {
            path: [get(port, path) for port in ports]
            for path in ("/metrics", "/healthz", "/readyz", "/status")
        }
        yield SimpleNamespace(
            settings=settings,
            ports=ports,
            services=services,
            pages=pages,
            all=Scraped(text for _, text in pages["/metrics"]),
            audit=values(settings, PHI_AUDIT.name),
        )
    finally:
        for service in services:
            service.stop()


def _feed(settings, services, ward):
    notes = [
        event("n1", f"{GIVEN} {FAMILY} came on 3/4/2024."),
        event("n2", f"{FAMILY} unknown.", mrn="5"),
    ]
    broken = [RawMessage(kind.make(), b"broken") for kind in BROKEN_KINDS.values()]
    waves = (
        [RawMessage(adt(), KEY), *map(raw, ward.admissions())],
        [*(RawMessage(note, KEY) for note in notes), *map(raw, ward.messages(150))],
        broken,
    )
    for wave in waves:
        feed_and_drain(settings, services, wave)
    # A patient is erased, and an update refused.
    known = next(read_topic(settings, PATIENTS.name)).key()
    produce(settings, PATIENT_UPDATES.name, [(known, None), (b"any", b"{}")])
    drain(settings, services)


def _wait_until_shown(settings, ports):
    """The gauges of lag are filled every few seconds, and come last."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        shown = Scraped(get(port, "/metrics")[1] for port in ports)
        behind = shown.sums("phistream_lag_records", "topic")
        seen = [s for s in shown.samples if s.name == "phistream_lag_records"]
        if not behind and len(seen) == 3 * settings.partitions:
            return
        time.sleep(0.5)


def test_every_metric_of_the_catalogue_is_exported(job):
    wanted = {name for metric in WORKERS for name in metric.samples}

    assert (wanted - job.all.names) == set()


def test_every_metric_that_board_and_alerts_name_is_exported(job):
    """Prometheus gives `up`; the listener's metrics are tested in test_mllp.py."""
    named = {name for _, query in queries() for name in names_in(query)}
    elsewhere = {name for metric in MLLP for name in metric.samples} | {"up"}

    assert (named - job.all.names - elsewhere) == set()


def test_counts_agree_with_the_audit_topic(job):
    notes = [each for each in job.audit if each["source"]["topic"] == NOTES.name]
    dead = [each for each in job.audit if each["outcome"] == "dead_letter"]
    scrubbed = [each for each in notes if each["outcome"] == "scrubbed"]
    found = [a["label"] for each in scrubbed for a in each["annotations"]]
    messages = [each for each in job.audit if each["stage"] == "intake"]
    updates = count_records(job.settings, PATIENT_UPDATES.name, "read_committed")

    sums = job.all.sums
    assert len(notes) > 100
    assert Counter(n["outcome"] for n in notes) == sums(
        "phistream_notes_total", "outcome"
    )
    assert Counter(found) == sums("phistream_phi_spans_total", "label")
    assert Counter(n["join"] for n in scrubbed) == sums(
        "phistream_join_total", "result"
    )
    assert Counter((d["stage"], d["code"]) for d in dead) == sums(
        "phistream_dead_letters_total", "stage", "reason"
    )
    routed = sums("phistream_routed_total", "kind")
    assert len(notes) == routed["notes"]
    assert sums("phistream_batch_records_sum", "stage") == {
        "intake": len(messages),
        "scrub": len(notes) + updates,
    }


def test_counts_of_updates_agree_with_their_topics(job):
    sums = job.all.sums("phistream_updates_total", "result")
    updates = count_records(job.settings, PATIENT_UPDATES.name, "read_committed")
    rows = [each.value() for each in read_topic(job.settings, PATIENTS.name)]
    routed = job.all.sums("phistream_routed_total", "kind")["patients"]
    forwarded = sum(job.all.sums("phistream_updates_forwarded_total").values())

    assert updates == sum(sums.values()) == routed + forwarded + 2
    assert (sums["dead_letter"], sums["erased"]) == (1, 1)
    assert len(rows) == sums["folded"] + rows.count(None) == sums["folded"] + 1


def test_reconcile_finds_the_refused_update_and_everything_sound(job):
    by_topic = {each.topic: each for each in Auditor(job.settings).verdicts()}

    updates = by_topic["patient.updates"]
    assert all(each.is_sound and not each.pending for each in by_topic.values())
    assert (1, updates.inputs - 1) == (updates.dead_letters, updates.no_note)


def test_no_lag_is_left_but_committed_offsets_are_shown(job):
    """Each partition once: a worker shows its own."""
    places = [
        (s.labels["topic"], s.labels["partition"])
        for s in job.all.samples
        if s.name == "phistream_lag_records"
    ]

    assert job.all.sums("phistream_lag_records", "topic") == {}
    assert job.all.sums("kafka_consumergroup_lag", "topic") == {}
    assert len(places) == len(set(places)) == 3 * job.settings.partitions
    assert job.all.sums("phistream_committed_offset", "topic")[NOTES.name] > 100


def test_labels_are_of_closed_sets(job):
    seen = {
        (name, value)
        for sample in job.all.samples
        if not sample.name.startswith(OF_PYTHON)
        for name, value in sample.labels.items()
    }

    assert {
        (name, value) for name, value in seen if value not in CLOSED.get(name, {value})
    } == set()
    free = {"le", "partition", "group", "consumergroup"}
    free |= {"preset", "policy", "model", "sha256", "version"}
    assert {name for name, _ in seen} <= CLOSED.keys() | free


def test_no_page_holds_a_marker(job):
    everything = "".join(text for page in job.pages.values() for _, text in page)
    key = (Path(job.settings.pseudonym_key_file)).read_text()

    assert [marker for marker in MARKERS if marker in everything.lower()] == []
    assert key not in everything


def test_workers_are_alive_and_ready_and_say_what_they_own(job):
    statuses = [json.loads(text) for _, text in job.pages["/status"]]

    assert [status for status, _ in job.pages["/healthz"]] == [200] * 3
    assert [status for status, _ in job.pages["/readyz"]] == [200] * 3
    assert [each["stage"] for each in statuses] == ["intake", "scrub", "scrub"]
    assert [each["slot"] for each in statuses] == [0, 0, 1]
    owned = sorted(p for each in statuses[1:] for p in each["partitions"])
    assert list(range(job.settings.partitions)) == owned
    committed = [each for each in statuses if each["records_committed"]]
    assert all(each["last_commit"] for each in committed)
    updates = count_records(job.settings, PATIENT_UPDATES.name, "read_committed")
    records = sum(each["records_committed"] for each in committed)
    # The refused update has an audit event.
    assert len(job.audit) + updates - 1 == records
    rows = sum(row["rows"] for each in statuses[1:] for row in each["table"])
    assert rows >= 20


def test_the_model_that_runs_is_named(job):
    [info] = {
        tuple(sorted(sample.labels.items()))
        for sample in job.all.samples
        if sample.name == "phistream_model_info" and sample.labels["stage"] == "scrub"
    }

    shown = dict(info)
    assert (
        shown["preset"],
        shown["policy"],
        shown["model"],
    ) == ("hybrid", "safe-harbor", "english")
    assert len(shown["sha256"]) == 12


@needs_prometheus
def test_prometheus_scrapes_the_workers_and_answers_board_and_alerts(job, tmp_path):
    """Prometheus itself, with deploy/prometheus: no target, rule or query in error."""
    intake, *scrub = job.ports
    ports = {"phistream-intake": [intake], "phistream-scrub": scrub}
    with prometheus(tmp_path, free_ports(1)[0], ports) as server:
        up = [
            (f"phistream-{stage}", "up", "") for stage in ("intake", "scrub", "scrub")
        ]
        server.wait(lambda: sorted(server.targets()) == up)
        well = {rule["alert"]: ("ok", "") for rule in rules()}
        server.wait(lambda: server.rules() == well)
        for _, query in queries():
            server.ask("query", query=query)  # an error would be raised
        [notes] = server.ask("query", query="sum(phistream_notes_total)")["result"]
        # Kafka's boards sum what watch alone may tell.
        doubled = server.ask("query", query='{__name__=~"kafka_.*"}')["result"]

    shown = sum(job.all.sums("phistream_notes_total", "outcome").values())
    assert (shown, []) == (float(notes["value"][1]), doubled)


def test_a_port_in_use_ends_the_service_and_names_the_setting(job):
    own = job.settings.model_copy(update={"metrics_port": job.ports[0], "group": "x"})

    service = start_service("intake", own)
    status = service.process.wait(120)
    service.stop()

    log = (job.settings.state_dir.parent / "intake.log").read_text()
    assert status == 78
    assert f"metrics_port: can't listen on 127.0.0.1:{job.ports[0]}" in log
