"""Evaluate the conditions of `operations.metrics.alerts` on watch's own figures.

The counts equal those that Prometheus has from the workers: both come from committed
audit events.  As with Prometheus, a condition must hold for a while before its alert
fires; until then it is pending.  A restart resets the wait.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streams.kafka.lag import LagState, PartitionLag
from streams.operations.counts import allowed_values as allowed
from streams.operations.counts.figures import count, latency_quantiles
from streams.operations.counts.windows import WindowCounts
from streams.operations.metrics.alerts import ALERTS, OF_PROMETHEUS_ALONE, Alert

Json = dict[str, Any]
Values = Mapping[str, float]
"""The value of each subject (partition, stage, worker) for which a condition holds."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything that conditions are evaluated on.

    Args:
        hour: Counts by minute.
        lags: Of all groups, watch's own included.
        workers: The rows of `Workers.json`; empty when no address is configured.
    """

    hour: WindowCounts
    lags: Sequence[PartitionLag]
    workers: Sequence[Mapping[str, Any]]

    def counts(self, seconds: int) -> Counter[str]:
        """Return the counts of the last minutes, the current one included."""
        total: Counter[str] = Counter()
        for start, counts in self.hour.counts.items():
            if start > self.hour.now - seconds:
                total.update(counts)
        return total


class Alerts:
    """Evaluates the conditions, and keeps since when each holds."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], float] = {}

    def judge(self, seen: Observation) -> Json:
        """Return the alerts that fire or are pending, the most severe first."""
        now = seen.hour.now
        holding: dict[tuple[str, str], float] = {}
        rows = []
        for name, alert in ALERTS.items():
            subjects = []
            for subject, value in CONDITIONS[name](alert, seen).items():
                since = holding[name, subject] = self._since.get((name, subject), now)
                is_firing = now - since >= alert.hold
                subjects.append(_subject(subject, value, since, is_firing=is_firing))
            if subjects:
                rows.append(_row(alert, subjects))
        self._since = holding
        # Without the workers' addresses some conditions can't be evaluated.
        unknown = frozenset() if seen.workers else frozenset(_OF_WORKERS)
        return {
            # Firing before pending, pages before tickets.
            "rows": sorted(rows, key=lambda row: (row["state"], row["severity"])),
            "judged": sorted(ALERTS.keys() - unknown),
            "not_judged": sorted(OF_PROMETHEUS_ALONE | unknown),
        }


def _subject(subject: str, value: float, since: float, *, is_firing: bool) -> Json:
    return {
        "subject": subject,
        "value": round(value, 4),
        "since": since,
        "state": "firing" if is_firing else "pending",
    }


def _row(alert: Alert, subjects: list[Json]) -> Json:
    return {
        "name": alert.name,
        "severity": alert.severity,
        "meaning": alert.meaning,
        "threshold": alert.threshold,
        "window": alert.window,
        "hold": alert.hold,
        "state": min(each["state"] for each in subjects),
        "subjects": sorted(subjects, key=lambda each: (each["state"], each["since"])),
    }


Condition = Callable[[Alert, Observation], Values]


def _in_state(state: LagState) -> Condition:
    def judge(_alert: Alert, seen: Observation) -> Values:
        bad = (lag for lag in seen.lags if lag.state is state)
        return {f"{e.group} ← {e.topic}[{e.partition}]": e.records for e in bad}

    return judge


def _old(alert: Alert, seen: Observation) -> Values:
    oldest: defaultdict[str, float] = defaultdict(float)
    for lag in seen.lags:
        place = f"{lag.group} ← {lag.topic}"
        oldest[place] = max(oldest[place], lag.seconds or 0.0)
    return _over(alert, oldest)


def _slow(alert: Alert, seen: Observation) -> Values:
    *_, p99 = latency_quantiles(seen.counts(alert.window), "scrub")
    return _over(alert, {"scrub": (p99 or 0.0) / 1000})


def _refused_share(alert: Alert, seen: Observation) -> Values:
    counts = seen.counts(alert.window)
    return _over(
        alert,
        {
            stage: _share(count(counts, f"refused/{stage}"), counts[f"audit/{stage}"])
            for stage in allowed.STAGES
        },
    )


def _refused(subject: str) -> Condition:
    """Return a condition on dead letters; ``subject`` may name the stage and code."""

    def judge(alert: Alert, seen: Observation) -> Values:
        counts = seen.counts(alert.window)
        total: Counter[str] = Counter()
        for stage in allowed.STAGES:
            for code in alert.reasons:
                name = subject.format(stage=stage, code=code)
                total[name] += counts[f"refused/{stage}/{code}"]
        return _over(alert, total)

    return judge


def _join_misses(alert: Alert, seen: Observation) -> Values:
    counts = seen.counts(alert.window)
    share = _share(counts["join/missing"], count(counts, "join"))
    return _over(alert, {"scrub": share})


def _down(_alert: Alert, seen: Observation) -> Values:
    return {each["worker"]: 1 for each in seen.workers if not each["reachable"]}


def _not_ready(_alert: Alert, seen: Observation) -> Values:
    return {
        each["worker"]: each["partitions"]
        for each in seen.workers
        if each["partitions"] and not each["ready"]
    }


def _idle(_alert: Alert, seen: Observation) -> Values:
    owned: Counter[str] = Counter()
    for each in seen.workers:
        if each["reachable"]:
            owned[each["stage"]] += each["partitions"]
    return {stage: 0 for stage, partitions in owned.items() if not partitions}


def _versions_differ(alert: Alert, seen: Observation) -> Values:
    setups = {each["setup"] for each in seen.workers if each["stage"] == "scrub"}
    return _over(alert, {"scrub": len(setups)})


def _over(alert: Alert, found: Mapping[str, float]) -> Values:
    return {each: value for each, value in found.items() if value > alert.threshold}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


_OF_WORKERS: Mapping[str, Condition] = {
    "PhistreamWorkerDown": _down,
    "PhistreamWorkerNotReady": _not_ready,
    "PhistreamStageIdle": _idle,
    "PhistreamVersionsDiffer": _versions_differ,
}
CONDITIONS: Mapping[str, Condition] = {
    "PhistreamLagStop": _in_state(LagState.STOP),
    "PhistreamLagStall": _in_state(LagState.STALL),
    "PhistreamLagGrows": _in_state(LagState.WARN),
    "PhistreamLagOld": _old,
    "PhistreamLatencyHigh": _slow,
    "PhistreamResidueRefused": _refused("{code}"),
    "PhistreamDeadLetters": _refused_share,
    "PhistreamOwnBug": _refused("{stage}: {code}"),
    "PhistreamPoison": _refused("{stage}: {code}"),
    "PhistreamForeignProducer": _refused("{code}"),
    "PhistreamJoinMisses": _join_misses,
    **_OF_WORKERS,
}
"""The condition of each alert."""
