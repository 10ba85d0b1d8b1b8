"""The alerts that `watch` evaluates by itself, as data.

deploy/prometheus/alerts.yml holds the queries of the same alerts for Prometheus; a test
compares names, thresholds, times, reasons and texts.
`streams/operations/watch/alerts.py` evaluates them on watch's own counts.
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
        threshold: The value that must be exceeded.
        window: Seconds over which the value is taken; 0 for a current value.
        hold: Seconds for which the condition must hold before the alert fires.
        reasons: Codes of the dead letters that count; () for all.
    """

    name: str
    severity: Severity
    meaning: str
    threshold: float = 0
    window: int = 0
    hold: int = 0
    reasons: tuple[str, ...] = ()


_ALERTS = (
    Alert(
        "PhistreamLagStop",
        "page",
        "Records wait and the whole group has committed nothing for a minute.",
        hold=1 * MINUTE,
    ),
    Alert(
        "PhistreamLagStall",
        "page",
        "Records of this partition wait; those of other partitions are processed.",
        hold=2 * MINUTE,
    ),
    Alert(
        "PhistreamLagGrows",
        "ticket",
        "Lag has grown for a quarter of an hour although records are processed.",
        hold=15 * MINUTE,
    ),
    Alert(
        "PhistreamLagOld",
        "ticket",
        "The oldest record that is not processed is older than ten minutes.",
        threshold=600,
        hold=5 * MINUTE,
    ),
    Alert(
        "PhistreamLatencyHigh",
        "ticket",
        "From the arrival on hl7.raw to the commit on notes.scrubbed.",
        threshold=30,
        window=10 * MINUTE,
        hold=10 * MINUTE,
    ),
    Alert(
        "PhistreamResidueRefused",
        "ticket",
        "Nothing was published; the detectors missed a value that verification found.",
        window=15 * MINUTE,
        reasons=("residue",),
    ),
    Alert(
        "PhistreamDeadLetters",
        "ticket",
        "More than 2% of the messages or notes can't be processed.",
        threshold=0.02,
        window=10 * MINUTE,
        hold=10 * MINUTE,
    ),
    Alert(
        "PhistreamOwnBug",
        "ticket",
        "A decoder or detector failed; the record was refused, not passed through.",
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
        "All other records were processed; this one needs a person.",
        window=15 * MINUTE,
        reasons=("poison", "deadline"),
    ),
    Alert(
        "PhistreamForeignProducer",
        "page",
        "Only intake and scrub write notes, only scrub patients; feeds need murmur2.",
        window=15 * MINUTE,
        reasons=("wrong_key", "wrong_partition", "patient_record"),
    ),
    Alert(
        "PhistreamJoinMisses",
        "ticket",
        "Only rules, lexicons and tagger are used for them; admissions may not arrive.",
        threshold=0.2,
        window=30 * MINUTE,
        hold=15 * MINUTE,
    ),
    Alert(
        "PhistreamWorkerDown",
        "page",
        "The process is gone, or its port can't be reached.",
        hold=2 * MINUTE,
    ),
    Alert(
        "PhistreamWorkerNotReady", "ticket", "Its /readyz says why.", hold=5 * MINUTE
    ),
    Alert(
        "PhistreamStageIdle",
        "page",
        "They answer, but the group assigns them no partitions.",
        hold=5 * MINUTE,
    ),
    Alert(
        "PhistreamVersionsDiffer",
        "ticket",
        "A roll-out is incomplete: notes are not all scrubbed in the same way.",
        threshold=1,
        hold=30 * MINUTE,
    ),
)
ALERTS: Mapping[str, Alert] = MappingProxyType({each.name: each for each in _ALERTS})

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
        "PhistreamHeldLate",
        "PhistreamHeldGrows",
        "PhistreamWatchDown",
        "PhistreamUnreadableDocuments",
        "PhistreamMllpNotReady",
        "PhistreamMllpRefused",
    }
)
"""Alerts that need the workers' own counters, or tell that watch is down."""
