"""The metrics of workers, declared once: names that dashboards, alerts and code use.

Those of a product are in its own folder.

Labels have small, closed sets of values: stages, results, reason codes, PHI categories,
topics and partitions.  No label holds a patient, key, file, host or text.

    stage       intake or scrub
    result      of a transaction: committed, aborted, unknown (timed out), fenced
                (another took over); of a join: found, missing; of an update: folded
                (it changed the record), unchanged, erased, dead_letter
    error       a class of streams/engine/errors.py that undid a batch
    event       assigned or revoked
    outcome     scrubbed, held, discarded, routed, repeated or dead_letter
    reason      a code of streams/engine/reasons.py
    label       a PHI category of deid_core/labels.py, e.g. NAME:PATIENT
    kind        notes, patients (updates, to patient.updates), skipped (observations),
                repeated (messages left out) or conflicts (messages with the control id
                of another one)
    state       OK, WARN, STALL or STOP (streams/kafka/lag.py)
"""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector


def new_registry() -> CollectorRegistry:
    """Return a registry with the usual metrics of a process and of Python.

    Without the time at which each series was created: half of what would be read.
    """
    disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no types
    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return registry


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's declaration; the name ends with its unit.

    Args:
        name: As it is exported.
        labels: Label names; their values are of small, closed sets.
        meaning: One sentence for the reader of a dashboard.
    """

    name: str
    labels: tuple[str, ...]
    meaning: str

    @property
    def samples(self) -> tuple[str, ...]:
        """The names that a query may use."""
        return (self.name,)


class CounterMetric(Metric):
    """A number that only grows."""

    __slots__ = ()

    def on(self, registry: CollectorRegistry) -> Counter:
        """Create it on a registry."""
        return Counter(self.name, self.meaning, self.labels, registry=registry)


class GaugeMetric(Metric):
    """A current value."""

    __slots__ = ()

    def on(self, registry: CollectorRegistry) -> Gauge:
        """Create it on a registry."""
        return Gauge(self.name, self.meaning, self.labels, registry=registry)


@dataclass(frozen=True, slots=True)
class HistogramMetric(Metric):
    """A distribution of values, in buckets by upper bound."""

    buckets: tuple[float, ...]

    @property
    def samples(self) -> tuple[str, ...]:
        """The names that a query may use."""
        return tuple(f"{self.name}_{part}" for part in ("bucket", "count", "sum"))

    def on(self, registry: CollectorRegistry) -> Histogram:
        """Create it on a registry."""
        return Histogram(
            self.name,
            self.meaning,
            self.labels,
            buckets=self.buckets,
            registry=registry,
        )


STAGE = ("stage",)
PLACE = ("group", "topic", "partition")

# --- Lag: of a worker's own partitions; from watch, of all ---
LAG_RECORDS = GaugeMetric(
    "phistream_lag_records",
    PLACE,
    "Records up to the last stable offset that are not processed; 0 for markers alone.",
)
LAG_SECONDS = GaugeMetric(
    "phistream_lag_seconds", PLACE, "Age of the oldest record that is not processed."
)
LAG_STATE = GaugeMetric(
    "phistream_lag_state", (*PLACE, "state"), "1 for the judged state, else 0."
)
COMMITTED_OFFSET = GaugeMetric(
    "phistream_committed_offset", PLACE, "The first offset that is not processed."
)
STABLE_OFFSET = GaugeMetric(
    "phistream_stable_offset", PLACE, "The last stable offset of the partition."
)

# --- The same under the names that common Kafka dashboards use ---
EXPORTER_LAG = GaugeMetric(
    "kafka_consumergroup_lag",
    ("consumergroup", "topic", "partition"),
    "phistream_lag_records under kafka_exporter's name.",
)
EXPORTER_LAG_SUM = GaugeMetric(
    "kafka_consumergroup_lag_sum",
    ("consumergroup", "topic"),
    "phistream_lag_records, all partitions seen here, under kafka_exporter's name.",
)
EXPORTER_OFFSET = GaugeMetric(
    "kafka_consumergroup_current_offset",
    ("consumergroup", "topic", "partition"),
    "phistream_committed_offset under kafka_exporter's name.",
)
EXPORTER_END = GaugeMetric(
    "kafka_topic_partition_current_offset",
    ("topic", "partition"),
    "phistream_stable_offset under kafka_exporter's name.",
)
LAG_EXPORTER_LAG = GaugeMetric(
    "kafka_consumergroup_group_lag",
    PLACE,
    "phistream_lag_records under kafka-lag-exporter's name.",
)
LAG_EXPORTER_SECONDS = GaugeMetric(
    "kafka_consumergroup_group_lag_seconds",
    PLACE,
    "phistream_lag_seconds under kafka-lag-exporter's name.",
)

# --- The loop: batches and their transactions ---
TRANSACTIONS = CounterMetric(
    "phistream_transactions_total", ("stage", "result"), "Batches by result."
)
TRANSACTION_SECONDS = HistogramMetric(
    "phistream_transaction_seconds",
    STAGE,
    "Time from receiving a batch to its commit; committed batches only.",
    (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60),
)
BATCH_RECORDS = HistogramMetric(
    "phistream_batch_records",
    STAGE,
    "Records of a committed batch.",
    (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000),
)
LAST_COMMIT = GaugeMetric(
    "phistream_last_commit_timestamp_seconds",
    STAGE,
    "Time of the last committed batch, since 1970; 0 for never.",
)
ERRORS = CounterMetric(
    "phistream_errors_total", ("stage", "error"), "Batches undone, by error."
)
FENCED = CounterMetric(
    "phistream_fenced_total", STAGE, "Times that another instance had taken over."
)
REBUILDS = CounterMetric(
    "phistream_producer_rebuilds_total",
    STAGE,
    "Producers replaced by a new one with the same transactional id.",
)
REBALANCES = CounterMetric(
    "phistream_rebalances_total", ("stage", "event"), "Changes of the assignment."
)
ASSIGNED = GaugeMetric(
    "phistream_assigned_partitions", STAGE, "Partitions that this worker owns."
)
READY = GaugeMetric(
    "phistream_ready", STAGE, "1 when partitions are owned and their table is restored."
)

# --- Records that stop their worker ---
OWNER_DEATHS = CounterMetric(
    "phistream_owner_deaths_total",
    STAGE,
    "Partitions taken over from an owner that died holding them.",
)
OVERRUNS = CounterMetric(
    "phistream_overruns_total",
    STAGE,
    "Micro-batches and single records that exceeded their CPU time.",
)
QUARANTINED = GaugeMetric(
    "phistream_quarantined_partitions",
    STAGE,
    "Partitions whose records are processed one at a time, as suspects.",
)

# --- Outcomes of messages, notes and patient updates, of committed batches ---
MESSAGES = CounterMetric(
    "phistream_messages_total", ("outcome",), "Messages of hl7.raw by outcome."
)
ROUTED = CounterMetric(
    "phistream_routed_total", ("kind",), "Parts of messages routed or skipped."
)
NOTES = CounterMetric("phistream_notes_total", ("outcome",), "Notes by outcome.")
PHI_SPANS = CounterMetric(
    "phistream_phi_spans_total", ("label",), "Identifiers found in notes."
)
UNREADABLE = CounterMetric(
    "phistream_unreadable_documents_total",
    ("kind",),
    "Documents removed from rebuilt messages because they can't be opened.",
)
UPDATES = CounterMetric(
    "phistream_updates_total", ("result",), "Patient updates of scrub by result."
)
UPDATES_FORWARDED = CounterMetric(
    "phistream_updates_forwarded_total",
    (),
    "Patient updates that scrub sent on to linked identifiers of the patient.",
)
JOIN = CounterMetric(
    "phistream_join_total",
    ("result",),
    "Scrubbed notes whose patient was found in the table, or was missing.",
)
DEAD_LETTERS = CounterMetric(
    "phistream_dead_letters_total",
    ("stage", "reason"),
    "Records that can't be processed.",
)
LATENCY_SECONDS = HistogramMetric(
    "phistream_latency_seconds",
    STAGE,
    "From a message's arrival on hl7.raw to its commit by this stage.",
    (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600),
)

# --- The table of patients, and records that wait for it ---
TABLE_RECORDS = GaugeMetric("phistream_table_records", STAGE, "Rows in the table.")
TABLE_BEHIND = GaugeMetric(
    "phistream_table_behind_records",
    ("stage", "partition"),
    "Offsets of its changelog to read until the partition's table is restored.",
)
TABLE_RESTORE_SECONDS = GaugeMetric(
    "phistream_table_restore_seconds",
    ("stage", "partition"),
    "Duration of the restore of the partition's table, so far or in all.",
)
TABLES_DROPPED = CounterMetric(
    "phistream_tables_dropped_total",
    STAGE,
    "Tables of partitions whose files were damaged; they are restored.",
)
PARKED_RECORDS = GaugeMetric(
    "phistream_parked_records", STAGE, "Records that wait for their table."
)
PARKED_OLDEST_SECONDS = GaugeMetric(
    "phistream_parked_oldest_seconds", STAGE, "Age of the oldest of these records."
)

# --- Notes that wait for the demographics of their patient ---
HELD_RECORDS = GaugeMetric(
    "phistream_held_records",
    ("stage", "partition"),
    "Notes that wait for the demographics of their patient.",
)
HELD_OLDEST_SECONDS = GaugeMetric(
    "phistream_held_oldest_seconds", STAGE, "Time since the oldest of them was held."
)
HELD_OVERDUE_SECONDS = GaugeMetric(
    "phistream_held_overdue_seconds",
    STAGE,
    "Time for which one of them has waited beyond its bound; 0 for none.",
)

# --- Versions ---
MODEL_INFO = GaugeMetric(
    "phistream_model_info",
    ("stage", "preset", "policy", "model", "sha256", "version"),
    "1; labels name the preset, policy, tagger and version in use.",
)

LAG = (
    LAG_RECORDS, LAG_SECONDS, LAG_STATE, COMMITTED_OFFSET, STABLE_OFFSET,
    EXPORTER_LAG, EXPORTER_LAG_SUM, EXPORTER_OFFSET, EXPORTER_END,
    LAG_EXPORTER_LAG, LAG_EXPORTER_SECONDS,
)  # fmt: skip
"""Exported by `watch` as well."""
LOOP: tuple[Metric, ...] = (
    TRANSACTIONS, TRANSACTION_SECONDS, BATCH_RECORDS, LAST_COMMIT, ERRORS, FENCED,
    REBUILDS, REBALANCES, ASSIGNED, READY, OWNER_DEATHS, OVERRUNS, QUARANTINED,
    DEAD_LETTERS, LATENCY_SECONDS, TABLE_RECORDS, TABLE_BEHIND, TABLE_RESTORE_SECONDS,
    TABLES_DROPPED, PARKED_RECORDS, PARKED_OLDEST_SECONDS, HELD_RECORDS,
    HELD_OLDEST_SECONDS, HELD_OVERDUE_SECONDS, MODEL_INFO,
)  # fmt: skip
INTAKE: tuple[Metric, ...] = (MESSAGES, ROUTED)
SCRUB: tuple[Metric, ...] = (
    NOTES,
    UPDATES,
    UPDATES_FORWARDED,
    PHI_SPANS,
    JOIN,
    UNREADABLE,
)
WORKERS = LAG + LOOP + INTAKE + SCRUB
