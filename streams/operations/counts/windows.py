"""Counts by time: rings of buckets for the last minute, hour and day.

Each partition of each topic has its own rings.  A bucket's ``next_offset`` is the first
offset that it has not counted, so that a record counts once however often it is
delivered.  Keys are bounded: a slot of a ring is reused when its time has passed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Window:
    """A span of time up to now, in ``buckets`` of ``width`` seconds."""

    name: str
    width: int
    buckets: int

    @property
    def seconds(self) -> int:
        """The whole span."""
        return self.width * self.buckets

    @property
    def slots(self) -> int:
        """Slots of the ring: two more, for the bucket being filled and the last one."""
        return self.buckets + 2

    def start_of(self, at: float) -> int:
        """Return the start of the bucket that holds a moment."""
        return int(at // self.width) * self.width

    def first_start(self, now: float) -> int:
        """Return the start of the window's oldest bucket."""
        return self.start_of(now) - (self.buckets - 1) * self.width


MINUTE = Window("minute", 2, 30)
HOUR = Window("hour", 60, 60)
DAY = Window("day", 900, 96)
WINDOWS = (MINUTE, HOUR, DAY)


@dataclass(frozen=True, slots=True)
class RecordCounts:
    """One record's counts.

    Args:
        offset: Within its partition.
        at: The record's timestamp, seconds since 1970.
        counts: The counters that it increments.
    """

    offset: int
    at: float
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Bucket:
    """The counts of one partition in one interval.

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


@dataclass(frozen=True, slots=True)
class WindowCounts:
    """The counts of one window, summed over partitions and topics, by bucket start."""

    window: Window
    now: float
    counts: Mapping[int, Counter[str]]

    @classmethod
    def of(cls, window: Window, now: float, buckets: Iterable[Bucket]) -> WindowCounts:
        """Return the sums of those buckets that lie within the window."""
        sums: defaultdict[int, Counter[str]] = defaultdict(Counter)
        for bucket in buckets:
            if window.first_start(now) <= bucket.start <= now:
                sums[bucket.start].update(bucket.counts)
        return cls(window, now, sums)

    @property
    def starts(self) -> Sequence[int]:
        """The start of each of the window's buckets, oldest first."""
        first = self.window.first_start(self.now)
        return range(first, first + self.window.seconds, self.window.width)

    def total(self, since: float = 0.0) -> Counter[str]:
        """Return the counts of the whole window, or of its buckets from a moment on."""
        total: Counter[str] = Counter()
        for start, counts in self.counts.items():
            if start + self.window.width > since:
                total.update(counts)
        return total

    def at(self, start: int) -> Counter[str]:
        """Return the counts of one bucket."""
        return self.counts.get(start, Counter())


def window_counts(
    buckets: Iterable[tuple[str, Bucket]], now: float
) -> dict[str, WindowCounts]:
    """Return the counts of every window by its name, from buckets with their keys."""
    by_window: dict[str, list[Bucket]] = {window.name: [] for window in WINDOWS}
    for key, bucket in buckets:
        by_window[key.split("/")[1]].append(bucket)
    return {w.name: WindowCounts.of(w, now, by_window[w.name]) for w in WINDOWS}


Lookup = Callable[[str], Bucket | None]


def key_of(partition: int, window: Window, start: int) -> str:
    """Return a bucket's key in the table."""
    return f"{partition}/{window.name}/{start // window.width % window.slots}"


def roll_up(
    look_up: Lookup,
    partition: int,
    records: Sequence[RecordCounts],
    now: float,
    *,
    missed: Container[int] = (),
) -> dict[str, Bucket]:
    """Return the buckets that records of one partition change, by key.

    A record dated ahead of ``now`` (another host's clock) counts as of now; a record
    older than the window is not counted.

    Args:
        look_up: Returns the bucket stored under a key.
        partition: The records' partition.
        records: In the order of their offsets, each offset once.
        now: Seconds since 1970.
        missed: Offsets known not to be counted, regardless of the buckets.
    """
    changed: dict[str, Bucket] = {}
    for window in WINDOWS:
        fresh = _uncounted(look_up, partition, window, records, now, missed)
        for start, group in _by_start(window, fresh, now).items():
            key = key_of(partition, window, start)
            bucket = _with(look_up(key), start, group, missed)
            if bucket is not None:
                changed[key] = bucket
    return changed


def _uncounted(
    look_up: Lookup,
    partition: int,
    window: Window,
    records: Sequence[RecordCounts],
    now: float,
    missed: Container[int],
) -> Sequence[RecordCounts]:
    """Return the records without those dated ahead that some bucket has counted.

    A record dated ahead falls into the bucket of its arrival, which may differ at each
    delivery.
    """
    if all(each.at <= now for each in records):
        return records
    keys = [key_of(partition, window, n * window.width) for n in range(window.slots)]
    reached = max(bucket.next_offset if bucket else 0 for bucket in map(look_up, keys))
    return [
        each
        for each in records
        if each.at <= now or each.offset >= reached or each.offset in missed
    ]


def _by_start(
    window: Window, records: Sequence[RecordCounts], now: float
) -> dict[int, list[RecordCounts]]:
    groups: dict[int, list[RecordCounts]] = defaultdict(list)
    for each in records:
        start = window.start_of(min(each.at, now))
        if start >= window.first_start(now):
            groups[start].append(each)
    return groups


def _with(
    bucket: Bucket | None,
    start: int,
    records: Sequence[RecordCounts],
    missed: Container[int],
) -> Bucket | None:
    """Return the bucket with the records not counted yet; None if it is unchanged."""
    if bucket is not None and bucket.start > start:
        return None
    if bucket is None or bucket.start < start:
        bucket = Bucket(start, 0)
    next_offset = bucket.next_offset
    new = [e for e in records if e.offset >= next_offset or e.offset in missed]
    if not new:
        return None
    counts = Counter(bucket.counts)
    for each in new:
        counts.update(each.counts)
    return Bucket(start, max(next_offset, new[-1].offset + 1), counts)
