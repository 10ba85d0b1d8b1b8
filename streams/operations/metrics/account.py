"""Counts what became of records, from the very audit events that were committed.

So the metrics say what the audit says; and since an audit event holds no text, no
metric can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
from prometheus_client import CollectorRegistry
from prometheus_client import Counter as PrometheusCounter

from deid_core.labels import Label
from streams.cluster.topics import PHI_AUDIT
from streams.engine.records import Output
from streams.events.outputs import RECEIVED, Stage
from streams.events.reasons import OTHER, REASONS, bounded

from . import catalogue

Event = Mapping[str, Any]


class Account:
    """The metrics of one stage's audit events; every series is there from the start.

    Args:
        registry: Where they are shown.
        stage: Whose they are.
        clock: Seconds since 1970.
    """

    def __init__(
        self, registry: CollectorRegistry, stage: Stage, clock: Callable[[], float]
    ) -> None:
        self._clock = clock
        self._latency = catalogue.LATENCY_SECONDS.on(registry).labels(stage)
        dead = catalogue.DEAD_LETTERS.on(registry)
        self._dead = {each: dead.labels(stage, each) for each in (*REASONS, OTHER)}
        kind = _Notes if stage == "scrub" else _Messages
        self._done: _Notes | _Messages = kind(registry)

    def count(self, outputs: Sequence[Output]) -> None:
        """Count committed outputs; all but the audit events are passed over."""
        now = self._clock()
        events = []
        for output in outputs:
            if output.topic == PHI_AUDIT.name and output.value is not None:
                events.append(orjson.loads(output.value))
                received = int(output.headers[RECEIVED]) / 1000
                self._latency.observe(max(0.0, now - received))
        refused = [each for each in events if each["outcome"] == "dead_letter"]
        _add(self._dead, Counter(bounded(each["code"]) for each in refused))
        self._done.dead_letters.inc(len(refused))
        self._done.count([each for each in events if each["outcome"] != "dead_letter"])


class _Notes:
    """What scrub made of notes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        notes = catalogue.NOTES.on(registry)
        self._scrubbed = notes.labels("scrubbed")
        self.dead_letters = notes.labels("dead_letter")
        joins = catalogue.JOIN.on(registry)
        self._joins = {each: joins.labels(each) for each in ("found", "missing")}
        spans = catalogue.PHI_SPANS.on(registry)
        self._spans = {each.value: spans.labels(each.value) for each in Label}

    def count(self, events: Sequence[Event]) -> None:
        self._scrubbed.inc(len(events))
        _add(self._joins, Counter(each["join"] for each in events))
        found = (a["label"] for each in events for a in each["annotations"])
        _add(self._spans, Counter(found))


class _Messages:
    """What intake made of messages."""

    def __init__(self, registry: CollectorRegistry) -> None:
        messages = catalogue.MESSAGES.on(registry)
        self._routed = messages.labels("routed")
        self.dead_letters = messages.labels("dead_letter")
        made = catalogue.ROUTED.on(registry)
        kinds = ("notes", "patients", "skipped")
        self._made = {each: made.labels(each) for each in kinds}

    def count(self, events: Sequence[Event]) -> None:
        self._routed.inc(len(events))
        made: Counter[str] = Counter()
        for each in events:
            said = each["routed"]
            made["notes"] += said["notes"]
            made["patients"] += said["patients"]
            made["skipped"] += sum(said["skipped"].values())
        _add(self._made, made)


def _add(metrics: Mapping[str, PrometheusCounter], counts: Counter[str]) -> None:
    # Once a batch: each increment takes a lock.
    for name, count in counts.items():
        metrics[name].inc(count)
