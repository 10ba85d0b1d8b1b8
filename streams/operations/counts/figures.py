"""Rates, quantiles and sums from counts by window: pure functions to plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    HL7_SCRUBBED,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PHI_AUDIT,
)

from . import allowed_values as allowed
from .quantile_sketch import quantiles
from .windows import MINUTE, WindowCounts

Json = dict[str, Any]
Windows = Mapping[str, WindowCounts]
Edge = tuple[str, str]

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
LIVE_SECONDS = 10
LIVE_DELAY = 4
"""The youngest seconds are left out of a live rate: their records may still arrive."""

EDGES: Mapping[Edge, str] = {
    (HL7_RAW.name, "intake"): "audit/intake",
    ("intake", NOTES.name): "routed/notes",
    ("intake", PATIENT_UPDATES.name): "routed/patients",
    ("intake", PHI_AUDIT.name): "audit/intake",
    ("intake", DEAD_LETTERS.name): "dead/intake",
    (NOTES.name, "scrub"): "taken/notes",
    ("scrub", NOTES_SCRUBBED.name): "published",
    ("scrub", HL7_SCRUBBED.name): "rebuilt",
    ("scrub", PHI_AUDIT.name): "audit/scrub",
    ("scrub", DEAD_LETTERS.name): "dead/scrub",
}
"""The counter of the records along each edge of the flow that audit events count.

They don't count patient updates that scrub has folded."""


def below(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    """Return the counts of a dimension by value, the largest first."""
    cut = len(prefix) + 1
    found = {k[cut:]: n for k, n in counts.items() if k.startswith(prefix + "/") and n}
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def count(counts: Mapping[str, int], prefix: str) -> int:
    """Return the sum of a counter and all below it."""
    return counts.get(prefix, 0) + sum(below(counts, prefix).values())


def latency_quantiles(counts: Mapping[str, int], stage: str) -> list[float | None]:
    """Return `QUANTILES` of a stage's latency in ms; None for each without records."""
    found = below(counts, f"latency/{stage}")
    sketch = {int(bucket): n for bucket, n in found.items()}
    return quantiles(sketch, QUANTILES.values())


def by_stage_and_code(counts: Mapping[str, int], prefix: str) -> list[Json]:
    """Return the counts of dead letters by stage and code, the largest first."""
    return [
        {"stage": stage, "code": code, "count": n}
        for name, n in below(counts, prefix).items()
        for stage, _, code in (name.partition("/"),)
    ]


def live_rate(minute: WindowCounts, prefix: str) -> float:
    """Return records a second over the last ten seconds that are complete."""
    end = minute.window.start_of(minute.now) - LIVE_DELAY
    starts = range(end - LIVE_SECONDS, end, minute.window.width)
    return sum(count(minute.at(start), prefix) for start in starts) / LIVE_SECONDS


def flow(windows: Windows, arriving: float | None) -> Json:
    """Return the rate along each edge; ``arriving`` is the rate into hl7.raw."""
    totals = {name: each.total() for name, each in windows.items()}
    edges = [
        {"from": source, "to": target, "rate": live_rate(windows[MINUTE.name], counter)}
        | {window: count(total, counter) for window, total in totals.items()}
        for (source, target), counter in EDGES.items()
    ]
    rates = {
        name: round(count(total, "published") / windows[name].window.seconds, 1)
        for name, total in totals.items()
    }
    return {
        "arriving": arriving,
        "edges": edges,
        "notes_per_second": rates,
        "series": {n: _series(each, "published") for n, each in windows.items()},
    }


def latency(windows: Windows) -> Json:
    """Return latency quantiles since hl7.raw by window and stage, and over time."""
    return {
        name: {
            stage: _latency(total, stage)
            | {"series": [_latency(window.at(s), stage) for s in window.starts]}
            for stage in allowed.STAGES
        }
        | {"starts": list(window.starts)}
        for name, window in windows.items()
        for total in (window.total(),)
    }


def phi(windows: Windows) -> Json:
    """Return identifiers by label and detector, note types and joins."""
    return {name: _phi(window) for name, window in windows.items()}


def dead_letters(windows: Windows) -> Json:
    """Return dead letters by stage and code, and over time."""
    return {
        name: {
            "rows": by_stage_and_code(window.total(), "dead"),
            "total": count(window.total(), "dead"),
            "starts": list(window.starts),
            "series": _series(window, "dead"),
        }
        for name, window in windows.items()
    }


def versions(day: WindowCounts) -> list[Json]:
    """Return the setups that scrubbed notes in the last day, the latest first."""
    last: dict[str, int] = {}
    for start in day.starts:
        last |= dict.fromkeys(below(day.at(start), "setup"), start)
    fields = ("preset", "policy", "version", "key_id")
    rows = [
        dict(zip(fields, setup.split("/"), strict=True))
        | {"notes": notes, "last": last[setup]}
        for setup, notes in below(day.total(), "setup").items()
    ]
    return sorted(rows, key=lambda row: (-row["last"], -row["notes"]))


def unreadable(windows: Windows) -> Json:
    """Return how many records could not be counted."""
    return {name: count(each.total(), "unreadable") for name, each in windows.items()}


def _phi(window: WindowCounts) -> Json:
    total = window.total()
    dimensions = {"labels": "label", "detectors": "detector", "types": "type"}
    found = {name: below(total, prefix) for name, prefix in dimensions.items()}
    kinds = sorted({label.partition(":")[0] for label in allowed.LABELS})
    return {
        **found,
        "titles": {each: allowed.NOTE_TYPES.get(each, each) for each in found["types"]},
        "joins": {join: total.get(f"join/{join}", 0) for join in allowed.JOINS},
        "total": sum(found["labels"].values()),
        "starts": list(window.starts),
        "series": {kind: _series(window, f"label/{kind}", by=":") for kind in kinds},
    }


def _series(window: WindowCounts, prefix: str, *, by: str = "/") -> list[int]:
    return [
        sum(
            n
            for name, n in window.at(start).items()
            if name == prefix or name.startswith(prefix + by)
        )
        for start in window.starts
    ]


def _latency(counts: Counter[str], stage: str) -> Json:
    found = latency_quantiles(counts, stage)
    rounded = (None if ms is None else round(ms, 1) for ms in found)
    return dict(zip(QUANTILES, rounded, strict=True)) | {
        "count": count(counts, f"latency/{stage}")
    }
