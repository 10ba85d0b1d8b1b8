"""Counters of outcomes, taken from the audit events that were committed.

The metrics therefore agree with the audit trail, and since an audit event holds no
text, no metric can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
from prometheus_client import CollectorRegistry
from prometheus_client import Counter as PrometheusCounter

from deid_core.labels import Label
from streams.engine.reasons import OTHER, REASONS, bounded
from streams.engine.records import Output
from streams.formats.documents import UnreadableKind
from streams.formats.hl7.embedded import POINTER
from streams.kafka.topics import PATIENT_UPDATES, PHI_AUDIT, Stage
from streams.model.outputs import RECEIVED

from . import catalogue

Event = Mapping[str, Any]


class AuditMetrics:
    """The metrics of one stage's audit events; every series exists from the start.

    Args:
        registry: The registry of the metrics.
        stage: The stage that writes the events.
        clock: Seconds since 1970.
    """

    def __init__(
        self, registry: CollectorRegistry, stage: Stage, clock: Callable[[], float]
    ) -> None:
        self._clock = clock
        self._latency = catalogue.LATENCY_SECONDS.on(registry).labels(stage)
        dead = catalogue.DEAD_LETTERS.on(registry)
        self._dead = {each: dead.labels(stage, each) for each in (*REASONS, OTHER)}
        kind = _NoteCounts if stage is Stage.SCRUB else _Messages
        self._outcomes: _NoteCounts | _Messages = kind(registry)

    def count(self, outputs: Sequence[Output]) -> None:
        """Count the audit events among committed outputs."""
        now = self._clock()
        events = []
        for output in outputs:
            if output.topic == PHI_AUDIT.name and output.value is not None:
                event = orjson.loads(output.value)
                events.append(event)
                # How long a note was held is no latency.
                if not _was_held(event):
                    received = int(output.headers[RECEIVED]) / 1000
                    self._latency.observe(max(0.0, now - received))
        refused = [each for each in events if each["outcome"] == "dead_letter"]
        _add(self._dead, Counter(bounded(each["code"]) for each in refused))
        topics = [each["source"]["topic"] for each in refused]
        self._outcomes.dead_letters.inc(
            len(topics) - topics.count(PATIENT_UPDATES.name)
        )
        accepted = [each for each in events if each["outcome"] != "dead_letter"]
        self._outcomes.count(accepted)


def _was_held(event: Event) -> bool:
    return "held" in event or event["outcome"] in {"held", "discarded"}


class _NoteCounts:
    """Outcomes of notes in scrub."""

    def __init__(self, registry: CollectorRegistry) -> None:
        notes = catalogue.NOTES.on(registry)
        outcomes = ("scrubbed", "rebuilt", "held", "discarded")
        self._notes = {each: notes.labels(each) for each in outcomes}
        self.dead_letters = notes.labels("dead_letter")
        joins = catalogue.JOIN.on(registry)
        self._joins = {each: joins.labels(each) for each in ("found", "missing")}
        spans = catalogue.PHI_SPANS.on(registry)
        self._spans = {each.value: spans.labels(each.value) for each in Label}
        unreadable = catalogue.UNREADABLE.on(registry)
        kinds = (*UnreadableKind, POINTER)
        self._unreadable = {str(each): unreadable.labels(str(each)) for each in kinds}

    def count(self, events: Sequence[Event]) -> None:
        outcomes = ["rebuilt" if "format" in e else e["outcome"] for e in events]
        _add(self._notes, Counter(outcomes))
        # What a rebuilt message holds is counted with its notes.
        scrubbed = [
            each
            for each, outcome in zip(events, outcomes, strict=True)
            if outcome == "scrubbed"
        ]
        _add(self._joins, Counter(each["join"] for each in scrubbed))
        labels = (a["label"] for each in scrubbed for a in each["annotations"])
        _add(self._spans, Counter(labels))
        unreadable: Counter[str] = Counter()
        for each in events:
            unreadable.update(each.get("unreadable", {}))
        _add(self._unreadable, unreadable)


class _Messages:
    """Outcomes of messages in intake."""

    def __init__(self, registry: CollectorRegistry) -> None:
        messages = catalogue.MESSAGES.on(registry)
        outcomes = ("routed", "repeated")
        self._messages = {each: messages.labels(each) for each in outcomes}
        self.dead_letters = messages.labels("dead_letter")
        routed = catalogue.ROUTED.on(registry)
        kinds = ("notes", "patients", "skipped", "repeated", "conflicts")
        self._routed = {each: routed.labels(each) for each in kinds}

    def count(self, events: Sequence[Event]) -> None:
        _add(self._messages, Counter(each["outcome"] for each in events))
        routed: Counter[str] = Counter()
        for each in events:
            counts = each["routed"]
            routed["notes"] += counts["notes"]
            routed["patients"] += counts["patients"]
            routed["skipped"] += sum(counts["skipped"].values())
            routed["repeated"] += counts.get("repeated", 0)
            routed["conflicts"] += counts.get("conflicts", 0)
        _add(self._routed, routed)


def _add(metrics: Mapping[str, PrometheusCounter], counts: Counter[str]) -> None:
    # One increment for each batch: each takes a lock.
    for name, count in counts.items():
        metrics[name].inc(count)
