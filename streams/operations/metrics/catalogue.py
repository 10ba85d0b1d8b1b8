"""Every metric, declared once; what Prometheus, the board and the alerts may name.

Labels are of small, closed sets: stages, results, reason codes, PHI categories, topics
and partitions.  No patient, key, file, host or text is one.

    stage       intake or scrub
    result      committed, aborted, unknown (timed out), fenced (another took over)
    error       a class of streams/engine/errors.py that undid a batch
    event       assigned or revoked
    outcome     scrubbed, routed or dead_letter
    reason      a code of streams/events/reasons.py
    label       a PHI category of deid_core/labels.py, e.g. NAME:PATIENT
    kind        notes, patients or skipped
    state       OK, WARN, STALL or STOP (streams/cluster/lag_status.py)
"""

from __future__ import annotations

from .metric import CounterMetric, GaugeMetric, HistogramMetric, Metric

STAGE = ("stage",)
PLACE = ("group", "topic", "partition")

# --- How far a group is behind: of a worker's own partitions, of all from watch ---
LAG_RECORDS = GaugeMetric(
    "phistream_lag_records",
    PLACE,
    "Records up to the last stable offset that are not processed; no markers alone.",
)
LAG_SECONDS = GaugeMetric(
    "phistream_lag_seconds", PLACE, "Age of the oldest record that is not processed."
)
LAG_STATE = GaugeMetric(
    "phistream_lag_state", (*PLACE, "state"), "1 for the state judged, else 0."
)
COMMITTED_OFFSET = GaugeMetric(
    "phistream_committed_offset", PLACE, "The first offset that is not processed."
)
STABLE_OFFSET = GaugeMetric(
    "phistream_stable_offset", PLACE, "The last stable offset of the partition."
)

# --- The same under the names that Kafka's boards know ---
EXPORTER_LAG = GaugeMetric(
    "kafka_consumergroup_lag",
    ("consumergroup", "topic", "partition"),
    "phistream_lag_records, by kafka_exporter's name.",
)
EXPORTER_LAG_SUM = GaugeMetric(
    "kafka_consumergroup_lag_sum",
    ("consumergroup", "topic"),
    "phistream_lag_records over all partitions seen here, by kafka_exporter's name.",
)
EXPORTER_OFFSET = GaugeMetric(
    "kafka_consumergroup_current_offset",
    ("consumergroup", "topic", "partition"),
    "phistream_committed_offset, by kafka_exporter's name.",
)
EXPORTER_END = GaugeMetric(
    "kafka_topic_partition_current_offset",
    ("topic", "partition"),
    "phistream_stable_offset, by kafka_exporter's name.",
)
LAG_EXPORTER_LAG = GaugeMetric(
    "kafka_consumergroup_group_lag",
    PLACE,
    "phistream_lag_records, by kafka-lag-exporter's name.",
)
LAG_EXPORTER_SECONDS = GaugeMetric(
    "kafka_consumergroup_group_lag_seconds",
    PLACE,
    "phistream_lag_seconds, by kafka-lag-exporter's name.",
)

# --- The loop: batches and their transactions ---
TRANSACTIONS = CounterMetric(
    "phistream_transactions_total", ("stage", "result"), "Batches by their end."
)
TRANSACTION_SECONDS = HistogramMetric(
    "phistream_transaction_seconds",
    STAGE,
    "From a batch at hand to its outputs visible; only those committed.",
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
    "When a batch was last committed, since 1970; 0 for never.",
)
ERRORS = CounterMetric(
    "phistream_errors_total", ("stage", "error"), "Batches undone, by why."
)
FENCED = CounterMetric(
    "phistream_fenced_total", STAGE, "Times another instance had taken over."
)
REBUILDS = CounterMetric(
    "phistream_producer_rebuilds_total",
    STAGE,
    "Producers thrown away for a new one under the same transactional id.",
)
REBALANCES = CounterMetric(
    "phistream_rebalances_total", ("stage", "event"), "Changes of the assignment."
)
ASSIGNED = GaugeMetric(
    "phistream_assigned_partitions", STAGE, "Partitions that this worker owns."
)
READY = GaugeMetric(
    "phistream_ready", STAGE, "1 when it owns partitions and their table caught up."
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
    "Portions and single records that took more CPU time than they may.",
)
QUARANTINED = GaugeMetric(
    "phistream_quarantined_partitions",
    STAGE,
    "Partitions whose records are processed one at a time, as suspects.",
)

# --- What became of messages and notes; counted from the committed audit events ---
MESSAGES = CounterMetric(
    "phistream_messages_total", ("outcome",), "Messages of hl7.raw by outcome."
)
ROUTED = CounterMetric(
    "phistream_routed_total", ("kind",), "What messages of hl7.raw gave."
)
NOTES = CounterMetric("phistream_notes_total", ("outcome",), "Notes by outcome.")
PHI_SPANS = CounterMetric(
    "phistream_phi_spans_total", ("label",), "Identifiers found in notes."
)
JOIN = CounterMetric(
    "phistream_join_total",
    ("result",),
    "Scrubbed notes whose patient was found, or missing, in the table.",
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

# --- The table of patients, and what waits for it ---
TABLE_RECORDS = GaugeMetric("phistream_table_records", STAGE, "Patients in the table.")
TABLE_BEHIND = GaugeMetric(
    "phistream_table_behind_records",
    ("stage", "partition"),
    "Offsets of patients to read before the partition's table has caught up.",
)
TABLE_RESTORE_SECONDS = GaugeMetric(
    "phistream_table_restore_seconds",
    ("stage", "partition"),
    "How long the partition's table took to catch up; so far, while it does.",
)
PARKED_RECORDS = GaugeMetric(
    "phistream_parked_records", STAGE, "Records that wait for their table."
)
PARKED_OLDEST_SECONDS = GaugeMetric(
    "phistream_parked_oldest_seconds", STAGE, "Age of the oldest of them."
)

# --- What runs ---
MODEL_INFO = GaugeMetric(
    "phistream_model_info",
    ("stage", "preset", "policy", "model", "sha256", "version"),
    "1; detection, replacement, tagger and phistream's version as they run here.",
)

LAG: tuple[Metric, ...] = (
    LAG_RECORDS,
    LAG_SECONDS,
    LAG_STATE,
    COMMITTED_OFFSET,
    STABLE_OFFSET,
    EXPORTER_LAG,
    EXPORTER_LAG_SUM,
    EXPORTER_OFFSET,
    EXPORTER_END,
    LAG_EXPORTER_LAG,
    LAG_EXPORTER_SECONDS,
)
"""What `watch` exports as well."""
LOOP: tuple[Metric, ...] = (
    TRANSACTIONS,
    TRANSACTION_SECONDS,
    BATCH_RECORDS,
    LAST_COMMIT,
    ERRORS,
    FENCED,
    REBUILDS,
    REBALANCES,
    ASSIGNED,
    READY,
    OWNER_DEATHS,
    OVERRUNS,
    QUARANTINED,
    DEAD_LETTERS,
    LATENCY_SECONDS,
    TABLE_RECORDS,
    TABLE_BEHIND,
    TABLE_RESTORE_SECONDS,
    PARKED_RECORDS,
    PARKED_OLDEST_SECONDS,
    MODEL_INFO,
)
INTAKE: tuple[Metric, ...] = (MESSAGES, ROUTED)
SCRUB: tuple[Metric, ...] = (NOTES, PHI_SPANS, JOIN)
CATALOGUE = LAG + LOOP + INTAKE + SCRUB
