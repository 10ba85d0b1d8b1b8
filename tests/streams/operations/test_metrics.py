"""What the loop tells Prometheus, and what the server answers; without Kafka."""

from __future__ import annotations

import json
import socket
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import orjson
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from streams.engine.errors import ConfigError, FatalError, InvalidRecord
from streams.engine.observer import (
    CompositeListener,
    HeldProgress,
    Observer,
    TableProgress,
)
from streams.engine.reasons import ReasonCode
from streams.engine.records import Output, Partition, Record
from streams.kafka.lag import LagState, PartitionLag
from streams.kafka.topics import PATIENT_UPDATES, PATIENTS, Stage
from streams.model.audit import AuditEvent, dead_letter
from streams.model.outputs import changelog, encoded
from streams.operations.http_access import Access
from streams.operations.metrics.catalogue import WORKERS
from streams.operations.metrics.health import Health, Identity, LoopState
from streams.operations.metrics.lag_gauges import LagGauges, OwnLag
from streams.operations.metrics.loop_metrics import LoopMetrics
from streams.operations.metrics.observing import observing
from streams.operations.metrics.server import serving
from streams.operations.settings import Settings
from streams.products.mllp.catalogue import METRICS as MLLP
from tests.office import OFFICE
from tests.streams.kafka import local_broker as local

CATALOGUE = (*WORKERS, *MLLP)
MODEL = {"model": "english", "sha256": "80dce609e010"}
SOURCE = Record(Partition("notes", 0), 7, b"k", b"v", timestamp_ms=99_000)


class Counted:
    """A LoopMetrics with its registry, its health, and clocks moved by hand."""

    def __init__(self, stage=Stage.SCRUB):
        self.registry = CollectorRegistry()
        self.silent, self.limit = 0.0, 90.0
        identity = Identity(stage, 3, "0.1", "hybrid", "safe-harbor", MODEL)
        self.health = Health(identity, lambda: self.silent, limit=lambda: self.limit)
        self.now = 100.0
        self.observer = LoopMetrics(
            self.registry,
            self.health,
            clock=lambda: self.now,
            ticks=lambda: self.now,
        )

    def value(self, name, **labels):
        return self.registry.get_sample_value(name, labels)

    def counts(self, name):
        """Return the samples above 0, by the value of their last label."""
        return {
            tuple(sample.labels.values())[-1]: sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == name and sample.value
        }


@pytest.fixture
def counted():
    return Counted()


def audited(stage="scrub", **facts):
    return AuditEvent(stage=stage, at_ms=1, **facts).output(SOURCE)


def encoded_json(value):
    return orjson.Fragment(orjson.dumps(value))


def scrubbed(join="found", labels=()):
    annotations = [
        {"start": 0, "end": 1, "label": each, "score": 1, "detector": "rules/x"}
        for each in labels
    ]
    return audited(
        outputs=1, outcome="scrubbed", join=join, annotations=encoded_json(annotations)
    )


def dead(code, stage="scrub"):
    return audited(stage, outputs=1, outcome="dead_letter", code=code)


def batch(observer, *outputs, records=1, source=SOURCE):
    observer.begun([source] * records)
    observer.staged([source] * records, outputs)
    observer.committed()


def test_a_committed_batch_counts_what_its_audit_events_say(counted):
    batch(
        counted.observer,
        scrubbed("found", ["NAME:PATIENT", "DATE", "DATE"]),
        scrubbed("missing"),
        dead("residue"),
        Output("notes.scrubbed", b"k", b"not looked at"),
        records=3,
    )

    assert counted.counts("phistream_notes_total") == {"scrubbed": 2, "dead_letter": 1}
    assert counted.counts("phistream_join_total") == {"found": 1, "missing": 1}
    assert counted.counts("phistream_dead_letters_total") == {"residue": 1}
    assert counted.counts("phistream_phi_spans_total") == {"NAME:PATIENT": 1, "DATE": 2}
    assert counted.value("phistream_batch_records_sum", stage="scrub") == 3
    assert counted.value("phistream_latency_seconds_count", stage="scrub") == 3
    assert counted.value("phistream_latency_seconds_sum", stage="scrub") == 3


def test_a_rebuilt_message_is_no_note_and_its_identifiers_are_counted_once(counted):
    output = audited(
        outputs=1,
        outcome="scrubbed",
        format="hl7",
        join="found",
        found={"NAME:PATIENT": 2},
        removed={"ZPD": 1},
        unreadable={"scan": 2, "pointer": 1},
    )

    batch(counted.observer, output)

    assert counted.counts("phistream_notes_total") == {"rebuilt": 1}
    assert counted.counts("phistream_phi_spans_total") == {}
    unreadable = counted.counts("phistream_unreadable_documents_total")
    assert unreadable == {"scan": 2, "pointer": 1}


def update(offset):
    return Record(Partition("patient.updates", 0), offset, b"k", b"v", timestamp_ms=9)


def test_updates_are_counted_by_what_they_did_to_their_patient(counted):
    updates = [update(offset) for offset in range(6)]
    refused = InvalidRecord(ReasonCode.SCHEMA, "patient.updates: breaks its schema")
    outputs = (
        changelog(PATIENTS, b"k", b"{}", updates[0]),
        encoded(PATIENT_UPDATES, b"l", {}, updates[0]),  # forwarded, as is the next one
        encoded(PATIENT_UPDATES, b"m", {}, updates[1]),
        changelog(PATIENTS, b"k", None, updates[2]),
        changelog(PATIENTS, b"k", b"{}", updates[3]),
        *dead_letter(Stage.SCRUB, updates[4], refused, 1, OFFICE),
        *dead_letter(Stage.SCRUB, SOURCE, refused, 1, OFFICE),
    )

    counted.observer.begun([*updates, SOURCE])
    counted.observer.staged([*updates, SOURCE], outputs)
    counted.observer.committed()

    assert (counted.counts("phistream_updates_total")) == {
        "folded": 2,
        "unchanged": 2,
        "erased": 1,
        "dead_letter": 1,
    }
    assert counted.value("phistream_updates_forwarded_total") == 2
    assert counted.counts("phistream_notes_total") == {"dead_letter": 1}
    assert counted.counts("phistream_dead_letters_total") == {"schema": 2}
    assert counted.value("phistream_batch_records_sum", stage="scrub") == 7


def test_only_the_records_that_were_committed_are_counted(counted):
    counted.observer.begun([SOURCE, update(1), update(2)])
    counted.observer.staged([SOURCE, update(1)], [scrubbed()])
    counted.observer.committed()

    assert counted.value("phistream_batch_records_sum", stage="scrub") == 2
    assert counted.counts("phistream_updates_total") == {"unchanged": 1}
    assert counted.health.now.records == 2


def test_what_is_due_by_time_is_counted_without_a_record(counted):
    counted.observer.staged([], [scrubbed()])
    counted.observer.committed()

    assert counted.counts("phistream_notes_total") == {"scrubbed": 1}
    assert counted.counts("phistream_transactions_total") == {"committed": 1}
    assert counted.value("phistream_batch_records_count", stage="scrub") == 0


def test_the_time_for_which_a_note_was_held_is_no_latency(counted):
    released = {"join": "found", "annotations": encoded_json([]), "held": "time"}
    batch(
        counted.observer,
        audited(outcome="held"),
        audited(outcome="discarded"),
        audited(outputs=1, outcome="scrubbed", **released),
    )

    outcomes = counted.counts("phistream_notes_total")
    assert outcomes == {"held": 1, "discarded": 1, "scrubbed": 1}
    assert counted.counts("phistream_join_total") == {"found": 1}
    assert counted.value("phistream_latency_seconds_count", stage="scrub") == 0


def test_intake_counts_messages_and_what_they_gave():
    counted = Counted(Stage.INTAKE)
    routed = {"patients": 1, "notes": 2, "skipped": {"ED": 3, "RP": 1}}

    batch(
        counted.observer,
        audited("intake", outputs=2, outcome="routed", routed=routed),
        dead("bad_msh", "intake"),
    )

    messages = counted.counts("phistream_messages_total")
    assert messages == {"routed": 1, "dead_letter": 1}
    made = {"patients": 1, "notes": 2, "skipped": 4}
    assert made == counted.counts("phistream_routed_total")


def test_intake_counts_repeated_messages_and_conflicts():
    counted = Counted(Stage.INTAKE)
    nothing = {"patients": 0, "notes": 0, "skipped": {}}
    again = nothing | {"repeated": 2}
    batch_of_both = {"patients": 1, "notes": 1, "skipped": {}, "repeated": 1}
    routed = batch_of_both | {"conflicts": 1}

    batch(
        counted.observer,
        audited("intake", outcome="repeated", routed=again),
        audited("intake", outputs=1, outcome="routed", routed=routed),
    )

    messages = counted.counts("phistream_messages_total")
    assert messages == {"routed": 1, "repeated": 1}
    made = {"patients": 1, "notes": 1, "repeated": 3, "conflicts": 1}
    assert made == counted.counts("phistream_routed_total")


def test_an_undone_batch_counts_nothing_that_it_held(counted):
    counted.observer.begun([SOURCE])
    counted.observer.staged([SOURCE], [scrubbed()])
    counted.observer.undone(local.TROUBLES["retriable"])
    batch(counted.observer, scrubbed())

    assert counted.counts("phistream_notes_total") == {"scrubbed": 1}
    ends = {"aborted": 1, "committed": 1}
    assert ends == counted.counts("phistream_transactions_total")


def test_series_are_there_at_zero_before_anything_happens(counted):
    assert (
        counted.value("phistream_dead_letters_total", stage="scrub", reason="residue")
        == 0
    )
    assert counted.value("phistream_phi_spans_total", label="ID:SSN") == 0
    assert (
        counted.value("phistream_transactions_total", stage="scrub", result="fenced")
        == 0
    )


class Copy:
    """A processor that gives an audit event a record."""

    def __init__(self):
        self._ready = [0, 1]

    def ready(self):
        done, self._ready = self._ready, []
        return done

    def settled(self, claimed):
        return claimed

    def due(self, claimed):
        return {}

    def reread(self):
        pass

    def process(self, records):
        return [[scrubbed()] for _ in records]

    def committed(self, written):
        pass

    def aborted(self):
        pass


@pytest.mark.parametrize(
    ("trouble", "result", "error", "rebuilds", "fenced"),
    [
        ("retriable", "aborted", "RetriableError", 0, 0),
        ("unknown", "unknown", "UnknownOutcome", 1, 0),
        ("fenced", "fenced", "Fenced", 1, 1),
    ],
)
def test_the_engine_tells_how_each_transaction_ended(
    counted, trouble, result, error, rebuilds, fenced
):
    broker = local.LocalBroker()
    for number in range(6):
        broker.put(number % 2, b"x")
    broker.plan("commit", 1, local.TROUBLES[trouble])
    runner = local.start(broker, Copy(), observer=counted.observer)
    for _ in range(9):
        runner.run_once()

    ends = counted.counts("phistream_transactions_total")
    assert ends.pop(result) == 1
    assert counted.counts("phistream_notes_total")["scrubbed"] == 6
    assert list(ends) == ["committed"]
    assert counted.counts("phistream_errors_total") == {error: 1}
    assert rebuilds == counted.value("phistream_producer_rebuilds_total", stage="scrub")
    assert fenced == counted.value("phistream_fenced_total", stage="scrub")
    assert counted.health.now.records == 6


def test_trouble_without_a_batch_is_no_transaction(counted):
    counted.observer.undone(local.TROUBLES["fenced"])

    assert counted.counts("phistream_transactions_total") == {}
    assert counted.value("phistream_fenced_total", stage="scrub") == 1


def table(*behind):
    rows = [TableProgress(p, 5, n, 1.5, 10) for p, n in enumerate(behind)]
    return SimpleNamespace(progress=lambda: rows, held=list)


def test_a_worker_is_ready_when_it_owns_partitions_and_its_table_caught_up(counted):
    said = [counted.health.ready()]
    counted.observer.assigned([0, 1])
    said.append(counted.health.ready())
    counted.observer.turned({0, 1}, table(4, 0), 0)
    said.append(counted.health.ready())
    counted.now += 5
    counted.observer.turned(set(), table(0, 0), 0)
    said.append(counted.health.ready())
    counted.observer.revoked([0, 1])
    said.append(counted.health.ready())

    assert said == [
        (False, "no partition is assigned"),
        (False, "2 partitions wait for their table"),
        (False, "the table of 1 partitions is 4 offsets behind"),
        (True, "assigned, and the table has caught up"),
        (False, "no partition is assigned"),
    ]
    assert counted.value("phistream_ready", stage="scrub") == 0
    assert counted.counts("phistream_rebalances_total") == {"assigned": 1, "revoked": 1}


def test_the_table_is_shown_by_partition_and_disappears_with_it(counted):
    counted.observer.turned(set(), table(4, 0), 0)
    place = {"stage": "scrub", "partition": "1"}
    shown = counted.value("phistream_table_restore_seconds", **place)
    counted.now += 5
    counted.observer.turned(set(), table(0), 0)

    assert shown == 1.5
    assert counted.value("phistream_table_restore_seconds", **place) is None
    assert counted.value("phistream_table_records", stage="scrub") == 10


def holding(*held):
    return SimpleNamespace(progress=list, held=lambda: held)


def test_held_notes_are_shown_by_partition_with_age_and_delay(counted):
    held = HeldProgress(0, 3, 60_000, 90_000), HeldProgress(1, 0, 0, 0)
    counted.observer.turned(set(), holding(*held), 0)
    shown = counted.counts("phistream_held_records")
    ages = [
        counted.value(f"phistream_held_{name}_seconds", stage="scrub")
        for name in ("oldest", "overdue")
    ]
    counted.now += 5
    counted.observer.turned(set(), holding(HeldProgress(1, 0, 0, 0)), 0)

    assert (shown, ages) == ({"0": 3}, [40, 10])
    place = {"stage": "scrub", "partition": "0"}
    assert counted.value("phistream_held_records", **place) is None
    for name in ("oldest", "overdue"):
        assert counted.value(f"phistream_held_{name}_seconds", stage="scrub") == 0


def test_the_progress_of_the_table_is_read_once_a_second(counted):
    looks = []
    view = SimpleNamespace(progress=lambda: looks.append(1) or [], held=list)
    for _ in range(50):
        counted.now += 0.1
        counted.observer.turned(set(), view, 0)

    assert 4 <= len(looks) <= 6


def lag(partition, records=4, seconds=2.5, state=LagState.WARN):
    return PartitionLag("g-scrub", "notes", partition, 5, 9, records, seconds, state)


PLACE = {"group": "g-scrub", "topic": "notes", "partition": "0"}


def test_lag_is_shown_under_our_names_and_under_kafkas():
    registry = CollectorRegistry()
    LagGauges(registry).observe([lag(0), lag(1, records=3)])
    value = registry.get_sample_value
    exporter = {"consumergroup": "g-scrub", "topic": "notes"}

    assert value("phistream_lag_records", PLACE) == 4
    assert value("phistream_lag_seconds", PLACE) == 2.5
    assert value("phistream_lag_state", PLACE | {"state": "WARN"}) == 1
    assert value("phistream_lag_state", PLACE | {"state": "OK"}) == 0
    assert value("kafka_consumergroup_lag", exporter | {"partition": "0"}) == 4
    assert value("kafka_consumergroup_lag_sum", exporter) == 7
    assert value("kafka_consumergroup_group_lag_seconds", PLACE) == 2.5
    end = {"topic": "notes", "partition": "0"}
    assert value("kafka_topic_partition_current_offset", end) == 9


def test_a_partition_without_a_new_reading_disappears():
    registry = CollectorRegistry()
    gauges = LagGauges(registry)
    gauges.observe([lag(0), lag(1)])
    gauges.observe([lag(1, seconds=None)])

    assert registry.get_sample_value("phistream_lag_records", PLACE) is None
    place = PLACE | {"partition": "1"}
    assert registry.get_sample_value("phistream_lag_records", place) == 4
    assert registry.get_sample_value("phistream_lag_seconds", place) is None


def test_a_worker_shows_its_own_partitions_and_what_of_them_is_parked(counted):
    own = OwnLag(counted.registry, counted.health)
    counted.observer.assigned([0, 1])
    counted.observer.turned({1}, table(0, 9), 0)

    own.show([lag(0), lag(1, records=6, seconds=8.0), lag(2)])

    assert counted.counts("phistream_lag_records") == {"0": 4, "1": 6}
    assert counted.value("phistream_parked_records", stage="scrub") == 6
    assert counted.value("phistream_parked_oldest_seconds", stage="scrub") == 8


ACCESS = Access.of(Settings(), "127.0.0.1")


def get(port, path, method="GET", **headers):
    url = f"http://127.0.0.1:{port}{path}"
    request = Request(url, method=method, headers=headers)
    try:
        with urlopen(request, timeout=60) as answer:  # noqa: S310  # our own server
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.fixture
def port(counted):
    with serving(counted.registry, counted.health, ACCESS, "127.0.0.1", 0) as port:
        yield port


@pytest.mark.parametrize("path", ["/metrics", "/status", "/healthz", "/none"])
def test_metrics_are_not_served_under_another_name(port, path):
    assert get(port, path, Host="evil.example")[0] == 421
    assert get(port, path, Host="localhost,evil.example")[0] == 421
    assert get(port, path, Host=f"localhost:{port}")[0] != 421


def test_metrics_are_served_to_who_has_a_token_if_tokens_are_set(counted):
    token = "1" * 32
    access = Access.of(Settings(operator_tokens=f"a:{token}"), "")
    bearer = {"Authorization": f"Bearer {token}"}
    with serving(counted.registry, counted.health, access, "127.0.0.1", 0) as port:
        assert [get(port, path)[0] for path in ("/metrics", "/status", "/none")] == [
            401,
            401,
            401,
        ]
        assert get(port, "/metrics", **bearer)[0] == 200
        assert get(port, "/healthz")[0] == 200


def test_metrics_are_served_as_prometheus_reads_them(counted, port):
    counted.observer.assigned([0])

    status, text = get(port, "/metrics")

    assert status == 200
    assert 'phistream_assigned_partitions{stage="scrub"} 1.0' in text


def test_a_loop_that_is_silent_for_too_long_is_not_alive(counted, port):
    counted.silent = 89
    alive = get(port, "/healthz")
    counted.silent = 91
    dead = get(port, "/healthz")

    assert (alive[0], dead[0]) == (200, 503)
    assert "91.0 s ago" in dead[1]


def test_readiness_answers_503_with_the_reason(counted, port):
    assert get(port, "/readyz") == (503, "no partition is assigned\n")
    counted.health.now = LoopState(assigned=frozenset([1]))

    assert get(port, "/readyz")[0] == 200


def test_status_says_what_runs_and_how_far_it_is(counted, port):
    counted.observer.assigned([1, 0])
    counted.observer.turned({1}, table(0, 4), 0)
    batch(counted.observer, scrubbed())

    status, text = get(port, "/status")

    assert status == 200
    row = {"next_offset": 5, "restore_seconds": 1.5, "rows": 10}
    assert json.loads(text) == {
        "stage": "scrub",
        "slot": 3,
        "version": "0.1",
        "preset": "hybrid",
        "policy": "safe-harbor",
        "model": MODEL,
        "alive": True,
        "ready": False,
        "reason": "the table of 1 partitions is 4 offsets behind",
        "partitions": [0, 1],
        "waiting": [1],
        "table": [
            {"partition": 0, "behind": 0} | row,
            {"partition": 1, "behind": 4} | row,
        ],
        "last_commit": "1970-01-01T00:01:40.000+00:00",
        "records_committed": 1,
        "quarantined": 0,
    }


def test_an_unknown_page_names_the_known_and_nothing_is_written(port):
    status, text = get(port, "/metric")

    assert status == 404
    assert "/metrics, /healthz, /readyz, /status" in text
    assert get(port, "/metrics", "POST")[0] == 405


def test_a_port_in_use_is_an_error_that_names_the_setting(counted):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        with (
            pytest.raises(ConfigError, match=f"metrics_port: .*{taken}") as caught,
            serving(counted.registry, counted.health, ACCESS, "127.0.0.1", taken),
        ):
            pass

    assert isinstance(caught.value, FatalError)


def test_without_a_port_nothing_is_observed_and_nothing_listens():
    with observing(Stage.SCRUB, 0, Settings(), lambda: 0.0, lambda: 90) as observer:
        assert Observer is type(observer)


def test_both_observers_see_partitions():
    one, two = Counted(), Counted()
    both = CompositeListener(one.observer, two.observer)
    both.assigned([1, 2])
    both.revoked([1])

    assert {2} == one.health.now.assigned == two.health.now.assigned


def test_every_metric_says_its_unit_and_its_meaning():
    names = [metric.name for metric in CATALOGUE]
    ours = [name for name in names if name.startswith("phistream_")]
    units = (
        *("_total", "_seconds", "_records", "_offset", "_info", "_partitions"),
        *("_connections", "_messages"),
    )

    assert len(names) == len(set(names))
    assert {name for name in ours if not name.endswith(units)} == {
        "phistream_lag_state",
        "phistream_ready",
        "phistream_mllp_ready",
    }
    assert all(metric.meaning.endswith(".") for metric in CATALOGUE)


def test_every_metric_is_in_the_catalogue(counted):
    LagGauges(counted.registry)
    exported = generate_latest(counted.registry).decode()
    families = {
        line.split()[2] for line in exported.splitlines() if line.startswith("# TYPE")
    }

    known = {metric.name for metric in CATALOGUE}
    assert ({f for f in families if not f.endswith("_created")} - known) == set()


def test_metrics_hold_nothing_of_the_records_they_count(counted):
    marker = Record(Partition("notes", 0), 1, b"ZZKEY", b"ZZVALUE", {"h": b"ZZHEAD"}, 5)
    counted.observer.begun([marker])
    letter = dead("zzcode")
    counted.observer.staged(
        [marker], [Output("phi.audit", b"ZZKEY", letter.value, letter.headers)]
    )
    counted.observer.committed()

    assert "zz" not in generate_latest(counted.registry).decode().lower()
    assert counted.counts("phistream_dead_letters_total") == {"other": 1}
