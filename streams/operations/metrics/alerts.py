"""The alerts that `watch` evaluates by itself, as data.

deploy/prometheus/alerts.yml holds the same alerts for Prometheus; a test compares
names, queries, thresholds, times and texts.  `streams/operations/watch/alerts.py`
evaluates them on watch's own counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Severity = Literal["page", "ticket"]

MINUTE = 60


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert.

    Args:
        name: As in alerts.yml; the runbook has a section of this name.
        severity: Whether somebody must act now (page) or look today (ticket).
        meaning: One or two sentences for the person alerted.
        promql: The condition as a query; ``{threshold}``, ``{window}`` and
            ``{reasons}`` are replaced by the fields below.
        threshold: The value that must be exceeded.
        window: Seconds over which the value is taken; 0 for a current value.
        hold: Seconds for which the condition must hold before the alert fires.
        reasons: Codes of the dead letters that count; () for all.
    """

    name: str
    severity: Severity
    meaning: str
    promql: str
    threshold: float = 0
    window: int = 0
    hold: int = 0
    reasons: tuple[str, ...] = ()

    def query(self) -> str:
        """Return the condition as a query of Prometheus."""
        parts = {
            "{threshold}": f"{self.threshold:g}",
            "{window}": f"{self.window // MINUTE}m",
            "{reasons}": "|".join(self.reasons),
        }
        query = self.promql
        for name, value in parts.items():
            query = query.replace(name, value)
        return query


def _by_name(*alerts: Alert) -> Mapping[str, Alert]:
    return MappingProxyType({each.name: each for each in alerts})


_IN_STATE = (
    'max by (group, topic, partition) (phistream_lag_state{{state="{0}"}}) == 1'.format
)

ALERTS = _by_name(
    Alert(
        "PhistreamLagStop",
        "page",
        "Records wait and the whole group has committed nothing for a minute.",
        _IN_STATE("STOP"),
        hold=1 * MINUTE,
    ),
    Alert(
        "PhistreamLagStall",
        "page",
        "Records of this partition wait; those of others are processed.",
        _IN_STATE("STALL"),
        hold=2 * MINUTE,
    ),
    Alert(
        "PhistreamLagGrows",
        "ticket",
        "Lag has grown for a quarter of an hour although records are processed.",
        _IN_STATE("WARN"),
        hold=15 * MINUTE,
    ),
    Alert(
        "PhistreamLagOld",
        "ticket",
        "The oldest record that is not processed is older than ten minutes.",
        "max by (group, topic) (phistream_lag_seconds) > {threshold}",
        threshold=600,
        hold=5 * MINUTE,
    ),
    Alert(
        "PhistreamLatencyHigh",
        "ticket",
        "From its arrival on hl7.raw to its being visible on notes.scrubbed.",
        "histogram_quantile(0.99, sum by (le) "
        '(rate(phistream_latency_seconds_bucket{stage="scrub"}[{window}]))) '
        "> {threshold}",
        threshold=30,
        window=10 * MINUTE,
        hold=10 * MINUTE,
    ),
    Alert(
        "PhistreamResidueRefused",
        "ticket",
        "Nothing was published; the detectors missed what the last look found.",
        'sum(increase(phistream_dead_letters_total{reason="{reasons}"}[{window}])) '
        "> {threshold}",
        window=15 * MINUTE,
        reasons=("residue",),
    ),
    Alert(
        "PhistreamDeadLetters",
        "ticket",
        "More than two in a hundred records can't be processed.",
        "sum by (stage) (rate(phistream_dead_letters_total[{window}])) "
        "/ sum by (stage) (rate(phistream_batch_records_sum[{window}])) > {threshold}",
        threshold=0.02,
        window=10 * MINUTE,
        hold=10 * MINUTE,
    ),
    Alert(
        "PhistreamOwnBug",
        "ticket",
        "A decoder or detector broke; the record was refused, not passed through.",
        "sum by (stage, reason) "
        '(increase(phistream_dead_letters_total{reason=~"{reasons}"}[{window}])) '
        "> {threshold}",
        window=15 * MINUTE,
        reasons=(
            "decoder_failed",
            "detector_failed",
            "merge_failed",
            "deid_error",
            "other",
        ),
    ),
    Alert(
        "PhistreamPoison",
        "ticket",
        "Everything around it was processed; the record itself waits for a person.",
        # A worker that has just started has a first sample, and no increase yet.
        "sum by (stage, reason) "
        '(increase(phistream_dead_letters_total{reason=~"{reasons}"}[{window}])) > 0 '
        "or sum by (stage, reason) "
        '(phistream_dead_letters_total{reason=~"{reasons}"} unless '
        'phistream_dead_letters_total{reason=~"{reasons}"} offset {window}) '
        "> {threshold}",
        window=15 * MINUTE,
        reasons=("poison", "deadline"),
    ),
    Alert(
        "PhistreamForeignProducer",
        "page",
        "Only intake writes notes and patients; with another's partitioner the join "
        "misses.",
        "sum by (reason) "
        '(increase(phistream_dead_letters_total{reason=~"{reasons}"}[{window}])) '
        "> {threshold}",
        window=15 * MINUTE,
        reasons=("wrong_key", "wrong_partition", "patient_record"),
    ),
    Alert(
        "PhistreamJoinMisses",
        "ticket",
        "They are found by rules, lists and tagger alone; admissions may not arrive.",
        'sum(rate(phistream_join_total{result="missing"}[{window}])) '
        "/ sum(rate(phistream_join_total[{window}])) > {threshold}",
        threshold=0.2,
        window=30 * MINUTE,
        hold=15 * MINUTE,
    ),
    Alert(
        "PhistreamWorkerDown",
        "page",
        "The process is gone, or its port can't be reached.",
        'up{job=~"phistream-(intake|scrub)"} == 0',
        hold=2 * MINUTE,
    ),
    Alert(
        "PhistreamWorkerNotReady",
        "ticket",
        "Its /readyz says why.",
        "phistream_ready == 0 and phistream_assigned_partitions > 0",
        hold=5 * MINUTE,
    ),
    Alert(
        "PhistreamStageIdle",
        "page",
        "They answer, but the group gives them nothing to do.",
        "sum by (stage) (phistream_assigned_partitions) == 0",
        hold=5 * MINUTE,
    ),
    Alert(
        "PhistreamVersionsDiffer",
        "ticket",
        "A roll-out that stopped half way: notes are not all scrubbed alike.",
        "count(count by (preset, policy, model, sha256, version) "
        '(phistream_model_info{stage="scrub"})) > {threshold}',
        threshold=1,
        hold=30 * MINUTE,
    ),
)

OF_PROMETHEUS_ALONE = frozenset(
    {
        "PhistreamNoCommits",
        "PhistreamFencedStorm",
        "PhistreamTransactionsFail",
        "PhistreamProducerRebuilds",
        "PhistreamRebalances",
        "PhistreamTableRestoreStuck",
        "PhistreamTableDropped",
        "PhistreamQuarantine",
        "PhistreamOwnersDie",
        "PhistreamParked",
        "PhistreamWatchDown",
    }
)
"""Alerts that need the workers' own counters, or tell that watch is down."""
