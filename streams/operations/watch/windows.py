"""Counts by time: rings of buckets for the last minute, hour and day.

Each partition of each topic has its own rings, so that a bucket's ``next`` (the first
offset that it has not counted) makes every record count once, however often it comes.
Keys are bounded: a bucket's place in its ring is reused when its time has passed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Window:
    """A span of time before now, in ``buckets`` of ``width`` seconds."""

    name: str
    width: int
    buckets: int

    @property
    def seconds(self) -> int:
        """The whole span."""
        return self.width * self.buckets

    @property
    def slots(self) -> int:
        """The places of the ring: two more, for the bucket that fills and the last."""
        return self.buckets + 2

    def start_of(self, at: float) -> int:
        """Return the start of the bucket that a moment lies in."""
        return int(at // self.width) * self.width

    def first_start(self, now: float) -> int:
        """Return the start of the oldest bucket that the window shows."""
        return self.start_of(now) - (self.buckets - 1) * self.width


MINUTE = Window("minute", 2, 30)
HOUR = Window("hour", 60, 60)
DAY = Window("day", 900, 96)
WINDOWS = (MINUTE, HOUR, DAY)


@dataclass(frozen=True, slots=True)
class Fact:
    """One record's counts.

    Args:
        offset: Where it lies in its partition.
        at: Seconds since 1970 when it was written.
        counts: What it adds.
    """

    offset: int
    at: float
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Bucket:
    """The counts of one span of time of one partition.

    Raises:
        ValueError: A number is negative.
    """

    start: int
    next_offset: int
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if self.start < 0 or self.next_offset < 0:
            raise ValueError("a bucket's start and next offset are not negative")

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Bucket:
        """Return the bucket that `to_json` wrote."""
        return cls(value["start"], value["next"], Counter(value["counts"]))

    def to_json(self) -> dict[str, Any]:
        """Return the bucket as the table holds it."""
        counts = dict(self.counts)
        return {"start": self.start, "next": self.next_offset, "counts": counts}


Lookup = Callable[[str], Bucket | None]


def key_of(partition: int, window: Window, start: int) -> str:
    """Return the table's key of a bucket."""
    return f"{partition}/{window.name}/{start // window.width % window.slots}"


def fold(
    look_up: Lookup,
    partition: int,
    facts: Sequence[Fact],
    now: float,
    *,
    missed: Container[int] = (),
) -> dict[str, Bucket]:
    """Return the buckets that facts of one partition change, each by its key.

    A fact dated ahead of ``now`` (another host's clock) counts as of now; one whose
    bucket has passed out of the ring counts nowhere.

    Args:
        look_up: Gives the bucket that stands under a key.
        partition: Where the facts come from.
        facts: In the order of their offsets, each offset once.
        now: Seconds since 1970.
        missed: Offsets that are known not to be counted, whatever the buckets say.
    """
    changed: dict[str, Bucket] = {}

    def current(key: str) -> Bucket | None:
        return changed.get(key) or look_up(key)

    for window in WINDOWS:
        fresh = _uncounted(look_up, partition, window, facts, now, missed)
        for start, group in _by_start(window, fresh, now).items():
            key = key_of(partition, window, start)
            bucket = _with(current(key), start, group, missed)
            if bucket is not None:
                changed[key] = bucket
    return changed


def totals(buckets: Iterable[Bucket], first: int, last: int) -> Counter[str]:
    """Return the sum of the buckets whose start lies in [first, last)."""
    total: Counter[str] = Counter()
    for bucket in buckets:
        if first <= bucket.start < last:
            total.update(bucket.counts)
    return total


def by_start(buckets: Iterable[Bucket]) -> dict[int, Counter[str]]:
    """Return the sums of buckets of the same start, whatever partition they are of."""
    sums: dict[int, Counter[str]] = defaultdict(Counter)
    for bucket in buckets:
        sums[bucket.start].update(bucket.counts)
    return sums


def _uncounted(
    look_up: Lookup,
    partition: int,
    window: Window,
    facts: Sequence[Fact],
    now: float,
    missed: Container[int],
) -> Sequence[Fact]:
    """Return the facts without those dated ahead that some bucket has counted.

    The bucket of such a fact is that of its arrival: it may be another one each time.
    """
    if all(fact.at <= now for fact in facts):
        return facts
    keys = [key_of(partition, window, n * window.width) for n in range(window.slots)]
    reached = max(bucket.next_offset if bucket else 0 for bucket in map(look_up, keys))
    return [
        fact
        for fact in facts
        if fact.at <= now or fact.offset >= reached or fact.offset in missed
    ]


def _by_start(
    window: Window, facts: Sequence[Fact], now: float
) -> dict[int, list[Fact]]:
    groups: dict[int, list[Fact]] = defaultdict(list)
    for fact in facts:
        start = window.start_of(min(fact.at, now))
        if start >= window.first_start(now):
            groups[start].append(fact)
    return groups


def _with(
    bucket: Bucket | None, start: int, facts: Sequence[Fact], missed: Container[int]
) -> Bucket | None:
    """Return the bucket with the facts that it has not counted; None for no change."""
    if bucket is not None and bucket.start > start:
        return None
    if bucket is None or bucket.start < start:
        bucket = Bucket(start, 0)
    next_offset = bucket.next_offset
    new = [f for f in facts if f.offset >= next_offset or f.offset in missed]
    if not new:
        return None
    counts = Counter(bucket.counts)
    for fact in new:
        counts.update(fact.counts)
    reached = max(fact.offset for fact in new) + 1
    return Bucket(start, max(next_offset, reached), counts)
