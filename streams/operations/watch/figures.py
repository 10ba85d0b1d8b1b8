"""The numbers of the page, from counts: pure functions from buckets to plain JSON."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streams.cluster.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENTS,
    PHI_AUDIT,
)

from . import words
from .sketch import quantiles
from .windows import MINUTE, WINDOWS, Bucket, Window, by_start

Json = dict[str, Any]

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
LIVE_SECONDS = 10
LIVE_DELAY = 4
"""The youngest buckets are left out of a live rate: their records are on the way."""

EDGES: Mapping[tuple[str, str], tuple[str, ...]] = {
    (HL7_RAW.name, "intake"): ("audit/intake",),
    ("intake", NOTES.name): ("routed/notes",),
    ("intake", PATIENTS.name): ("routed/patients",),
    ("intake", PHI_AUDIT.name): ("audit/intake",),
    ("intake", DEAD_LETTERS.name): ("dead/intake",),
    (NOTES.name, "scrub"): ("audit/scrub",),
    ("scrub", NOTES_SCRUBBED.name): ("published",),
    ("scrub", PHI_AUDIT.name): ("audit/scrub",),
    ("scrub", DEAD_LETTERS.name): ("dead/scrub",),
}
"""What moves along each arrow of the flow, by the names of its counts."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The buckets of one window, of all partitions and topics, summed by start."""

    window: Window
    now: float
    counts: Mapping[int, Counter[str]]

    @classmethod
    def of(cls, window: Window, now: float, buckets: Iterable[Bucket]) -> Seen:
        """Return the part of ``buckets`` that the window shows."""
        first = window.first_start(now)
        shown = (b for b in buckets if first <= b.start <= now)
        return cls(window, now, by_start(shown))

    @property
    def starts(self) -> Sequence[int]:
        """The start of each of the window's buckets, oldest first."""
        first = self.window.first_start(self.now)
        end = first + self.window.seconds
        return range(first, end, self.window.width)

    def total(self) -> Counter[str]:
        """Return the counts of the whole window."""
        total: Counter[str] = Counter()
        for counts in self.counts.values():
            total.update(counts)
        return total

    def at(self, start: int) -> Counter[str]:
        """Return the counts of one bucket."""
        return self.counts.get(start, Counter())


Windows = Mapping[str, Seen]


def below(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    """Return the counts of a dimension by their words, the largest first."""
    cut = len(prefix) + 1
    found = {k[cut:]: n for k, n in counts.items() if k.startswith(prefix + "/") and n}
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def count(counts: Mapping[str, int], prefix: str) -> int:
    """Return the sum of a name and all below it."""
    return counts.get(prefix, 0) + sum(below(counts, prefix).values())


def live_rate(minute: Seen, prefix: str) -> float:
    """Return records a second over the last ten seconds that are complete."""
    end = minute.window.start_of(minute.now) - LIVE_DELAY
    starts = range(end - LIVE_SECONDS, end, minute.window.width)
    return sum(count(minute.at(start), prefix) for start in starts) / LIVE_SECONDS


def flow(windows: Windows, arriving: float | None) -> Json:
    """Return the rates along each arrow; ``arriving`` is that into hl7.raw."""
    minute = windows[MINUTE.name]
    totals = {name: seen.total() for name, seen in windows.items()}
    edges = [
        {
            "from": source,
            "to": target,
            "rate": sum(live_rate(minute, name) for name in names),
        }
        | {
            window: sum(count(total, name) for name in names)
            for window, total in totals.items()
        }
        for (source, target), names in EDGES.items()
    ]
    rates = {
        name: _rounded(count(total, "published") / windows[name].window.seconds)
        for name, total in totals.items()
    }
    return {
        "arriving": arriving,
        "edges": edges,
        "notes_per_second": rates,
        "series": {n: _series(s, "published") for n, s in windows.items()},
    }


def latency(windows: Windows) -> Json:
    """Return the quantiles from hl7.raw on, by stage and window, and over time."""
    return {
        name: {
            stage: _quantiles(total, stage)
            | {"series": [_quantiles(seen.at(start), stage) for start in seen.starts]}
            for stage in words.STAGES
        }
        | {"starts": list(seen.starts)}
        for name, seen in windows.items()
        for total in (seen.total(),)
    }


def phi(windows: Windows) -> Json:
    """Return what was found by label, detector and note type, and joins."""
    return {name: _phi(seen) for name, seen in windows.items()}


def dead_letters(windows: Windows) -> Json:
    """Return the dead letters by stage and code, and over time."""
    return {
        name: {
            "rows": [
                {"stage": key.partition("/")[0], "code": key.partition("/")[2]}
                | {"count": n}
                for key, n in below(seen.total(), "dead").items()
            ],
            "total": count(seen.total(), "dead"),
            "starts": list(seen.starts),
            "series": _series(seen, "dead"),
        }
        for name, seen in windows.items()
    }


def versions(day: Seen) -> list[Json]:
    """Return which setups have scrubbed in the last day, the latest first."""
    last: dict[str, int] = {}
    for start in day.starts:
        last |= dict.fromkeys(below(day.at(start), "setup"), start)
    notes = below(day.total(), "setup")
    rows = [
        dict(
            zip(("preset", "policy", "version", "key_id"), key.split("/"), strict=True)
        )
        | {"notes": notes[key], "last": last[key]}
        for key in notes
    ]
    return sorted(rows, key=lambda row: (-row["last"], -row["notes"]))


def unreadable(windows: Windows) -> Json:
    """Return how many records could not be counted."""
    return {name: count(seen.total(), "unreadable") for name, seen in windows.items()}


def seen_windows(buckets: Mapping[str, Sequence[Bucket]], now: float) -> Windows:
    """Return all windows, from the buckets of each by its name."""
    return {w.name: Seen.of(w, now, buckets.get(w.name, ())) for w in WINDOWS}


def _phi(seen: Seen) -> Json:
    total = seen.total()
    names = {"labels": "label", "detectors": "detector", "types": "type"}
    found = {name: below(total, prefix) for name, prefix in names.items()}
    groups = sorted({label.partition(":")[0] for label in words.LABELS})
    return {
        **found,
        "titles": {each: words.NOTE_TYPES.get(each, each) for each in found["types"]},
        "joins": {word: total.get(f"join/{word}", 0) for word in words.JOINS},
        "total": sum(found["labels"].values()),
        "starts": list(seen.starts),
        "series": {group: _series(seen, f"label/{group}", by=":") for group in groups},
    }


def _series(seen: Seen, prefix: str, *, by: str = "/") -> list[int]:
    return [
        sum(
            n
            for name, n in seen.at(start).items()
            if name == prefix or name.startswith(prefix + by)
        )
        for start in seen.starts
    ]


def _quantiles(counts: Mapping[str, int], stage: str) -> Json:
    sketch: dict[int, int] = defaultdict(int)
    for bucket, n in below(counts, f"latency/{stage}").items():
        sketch[int(bucket)] += n
    found = quantiles(sketch, QUANTILES.values())
    values = {k: _rounded(v) for k, v in zip(QUANTILES, found, strict=True)}
    return values | {"count": sum(sketch.values())}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
