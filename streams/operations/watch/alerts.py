"""Judge which alerts would fire, by the conditions of `operations.metrics.alerts`.

The counts are those that Prometheus has from the workers: both come from the audit
events that were committed.  As with Prometheus, a condition must hold for a while
before it is an alert; until then it is pending, and a restart begins the wait anew.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streams.cluster.lag import LagState, PartitionLag

from ..metrics.alerts import ALERTS, OF_PROMETHEUS_ALONE, Alert
from . import figures, words
from .figures import Seen
from .sketch import quantiles

Json = dict[str, Any]
Figures = Mapping[str, float]
"""What a condition is true of (partition, stage or worker), and the figure there."""


@dataclass(frozen=True, slots=True)
class Sight:
    """All that watch sees at one moment.

    Args:
        hour: Counts by minute.
        lags: Of all groups, watch's own among them.
        workers: A row each, as `Workers.json` has it; empty when none is named.
    """

    hour: Seen
    lags: Sequence[PartitionLag]
    workers: Sequence[Mapping[str, Any]]

    def counts(self, seconds: int) -> Counter[str]:
        """Return the counts of the last minutes, the one that runs included."""
        total: Counter[str] = Counter()
        for start, counts in self.hour.counts.items():
            if start > self.hour.now - seconds:
                total.update(counts)
        return total


class Alerts:
    """Judges again and again, and remembers since when each condition holds."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], float] = {}

    def judge(self, sight: Sight) -> Json:
        """Return the alerts that fire or are pending, the worst first."""
        now = sight.hour.now
        held: dict[tuple[str, str], float] = {}
        rows = []
        for name, alert in ALERTS.items():
            subjects = []
            for subject, value in CONDITIONS[name](alert, sight).items():
                since = held[name, subject] = self._since.get((name, subject), now)
                is_firing = now - since >= alert.hold
                subjects.append(_subject(subject, value, since, is_firing=is_firing))
            if subjects:
                rows.append(_row(alert, subjects))
        self._since = held
        return {
            "rows": sorted(rows, key=_rank),
            "judged": sorted(ALERTS.keys() - _unseen(sight)),
            "not_judged": sorted(OF_PROMETHEUS_ALONE | _unseen(sight)),
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


def _rank(row: Json) -> tuple[str, str]:
    """Order what fires before what is pending, and pages before tickets."""
    return row["state"], row["severity"]


def _unseen(sight: Sight) -> frozenset[str]:
    """Return what can't be judged without the addresses of the workers."""
    return frozenset() if sight.workers else frozenset(_OF_WORKERS)


# --- the conditions: what is true of whom, with the figure that is over the threshold


def _in_state(state: LagState) -> Callable[[Alert, Sight], Figures]:
    def judge(_alert: Alert, sight: Sight) -> Figures:
        bad = (lag for lag in sight.lags if lag.state is state)
        return {f"{e.group} ← {e.topic}[{e.partition}]": e.records for e in bad}

    return judge


def _old(alert: Alert, sight: Sight) -> Figures:
    oldest: defaultdict[str, float] = defaultdict(float)
    for lag in sight.lags:
        place = f"{lag.group} ← {lag.topic}"
        oldest[place] = max(oldest[place], lag.seconds or 0.0)
    return _over(alert, oldest)


def _slow(alert: Alert, sight: Sight) -> Figures:
    found = figures.below(sight.counts(alert.window), "latency/scrub")
    sketch = {int(bucket): count for bucket, count in found.items()}
    [p99] = quantiles(sketch, (0.99,))
    return _over(alert, {"scrub": (p99 or 0.0) / 1000})


def _refused_share(alert: Alert, sight: Sight) -> Figures:
    counts = sight.counts(alert.window)
    return _over(
        alert,
        {
            stage: _share(
                figures.count(counts, f"refused/{stage}"),
                counts.get(f"audit/{stage}", 0),
            )
            for stage in words.STAGES
        },
    )


def _refused_by_stage(alert: Alert, sight: Sight) -> Figures:
    return _over(alert, _refused(alert, sight, lambda s, code: f"{s}: {code}"))


def _refused_by_reason(alert: Alert, sight: Sight) -> Figures:
    return _over(alert, _refused(alert, sight, lambda _, code: code))


def _refused(
    alert: Alert, sight: Sight, subject: Callable[[str, str], str]
) -> Mapping[str, float]:
    counts = sight.counts(alert.window)
    total: defaultdict[str, float] = defaultdict(float)
    for stage in words.STAGES:
        for code in alert.reasons:
            total[subject(stage, code)] += counts.get(f"refused/{stage}/{code}", 0)
    return total


def _join_misses(alert: Alert, sight: Sight) -> Figures:
    counts = sight.counts(alert.window)
    missing, all_joins = counts.get("join/missing", 0), figures.count(counts, "join")
    return _over(alert, {"scrub": _share(missing, all_joins)})


def _down(_alert: Alert, sight: Sight) -> Figures:
    return {each["worker"]: 1 for each in sight.workers if not each["reachable"]}


def _not_ready(_alert: Alert, sight: Sight) -> Figures:
    here = (each for each in sight.workers if each["partitions"] and not each["ready"])
    return {each["worker"]: each["partitions"] for each in here}


def _idle(_alert: Alert, sight: Sight) -> Figures:
    owned: Counter[str] = Counter()
    for each in sight.workers:
        if each["reachable"]:
            owned[each["stage"]] += each["partitions"]
    return {stage: 0 for stage, partitions in owned.items() if not partitions}


def _versions_differ(alert: Alert, sight: Sight) -> Figures:
    setups = {each["setup"] for each in sight.workers if each["stage"] == "scrub"}
    return _over(alert, {"scrub": len(setups)})


def _over(alert: Alert, found: Mapping[str, float]) -> Figures:
    return {each: value for each, value in found.items() if value > alert.threshold}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


_OF_WORKERS: Mapping[str, Callable[[Alert, Sight], Figures]] = {
    "PhistreamWorkerDown": _down,
    "PhistreamWorkerNotReady": _not_ready,
    "PhistreamStageIdle": _idle,
    "PhistreamVersionsDiffer": _versions_differ,
}
CONDITIONS: Mapping[str, Callable[[Alert, Sight], Figures]] = {
    "PhistreamLagStop": _in_state(LagState.STOP),
    "PhistreamLagStall": _in_state(LagState.STALL),
    "PhistreamLagGrows": _in_state(LagState.WARN),
    "PhistreamLagOld": _old,
    "PhistreamLatencyHigh": _slow,
    "PhistreamResidueRefused": _refused_by_reason,
    "PhistreamDeadLetters": _refused_share,
    "PhistreamOwnBug": _refused_by_stage,
    "PhistreamPoison": _refused_by_stage,
    "PhistreamForeignProducer": _refused_by_reason,
    "PhistreamJoinMisses": _join_misses,
    **_OF_WORKERS,
}
"""How each condition is told; a test sees that none of the table is left out."""
