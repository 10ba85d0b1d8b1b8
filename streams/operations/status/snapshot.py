"""The snapshot that `phistream status` shows.

Only counts, positions, and names from a fixed list or made printable are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from streams.kafka.lag import PartitionLag
from streams.kafka.topics import DEAD_LETTERS, PHI_AUDIT
from streams.operations.counts import figures
from streams.operations.counts.figures import Edge

EDGES: Mapping[Edge, str] = {
    edge: counter.replace("dead/", "refused/") if DEAD_LETTERS.name in edge else counter
    for edge, counter in figures.EDGES.items()
    if PHI_AUDIT.name not in edge
}
"""The edges shown.  Dead letters are counted by their audit events: a reader of
phi.audit need not be allowed to read dead.letters, which hold the originals."""


def printable(name: object) -> str:
    """Return a foreign name without the characters that control a terminal."""
    return "".join(each for each in str(name) if each.isprintable())[:60]


@dataclass(frozen=True, slots=True)
class Member:
    """A worker, as reported by the group's coordinator.

    Args:
        name: Of its slot, e.g. ``phistream-scrub-0``.
        host: Its host.
        partitions: Assigned to it, by topic.
    """

    name: str
    host: str
    partitions: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class GroupView:
    """A consumer group and its workers."""

    name: str
    state: str
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A partition whose records are processed one at a time, as suspects.

    Args:
        group: The group that processes it.
        topic: Of the partition.
        partition: Its number.
        suspects: Records still to be processed one at a time.
        record: The offset of the current or last suspect; None for none.
        deaths: Workers that ended while they processed it.
    """

    group: str
    topic: str
    partition: int
    suspects: int
    record: int | None
    deaths: int


@dataclass(frozen=True, slots=True)
class Held:
    """The notes that wait for the demographics of their patient.

    Args:
        notes: Their number.
        since: When the oldest was held, seconds since 1970; None for none.
    """

    notes: int
    since: float | None


@dataclass(frozen=True, slots=True)
class Repeated:
    """The recent messages that their senders had sent before.

    Args:
        messages: Their number.
        conflicts: Messages with the control id of another one; they were processed.
    """

    messages: int
    conflicts: int


@dataclass(frozen=True, slots=True)
class DeadLetterCount:
    """The recent dead letters of one stage and reason."""

    stage: str
    code: str
    count: int


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds since hl7.raw, over the last minute; None without records."""

    p50: float | None
    p90: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that is shown.

    Args:
        at: When it was taken, seconds since 1970.
        source: The address of the cluster.
        rates: Records a second along each of `EDGES`.
        rate_seconds: The time that rates are taken over.
        arriving: Records a second into hl7.raw; None if not known yet.
        lags: Of each group and partition.
        is_judged: Whether the lags' states rest on a whole window.
        groups: With their workers.
        quarantine: Partitions with suspects.
        held: Notes that wait for demographics.
        repeated: Recent messages that were sent before.
        refused: Recent dead letters, the most frequent first.
        refused_seconds: The time that both are counted over.
        latency: Of scrubbed notes.
    """

    at: float
    source: str
    rates: Mapping[Edge, float] = field(default_factory=dict)
    rate_seconds: float = 60.0
    arriving: float | None = None
    lags: tuple[PartitionLag, ...] = ()
    is_judged: bool = False
    groups: tuple[GroupView, ...] = ()
    quarantine: tuple[Quarantine, ...] = ()
    held: Held = Held(0, None)
    repeated: Repeated = Repeated(0, 0)
    refused: tuple[DeadLetterCount, ...] = ()
    refused_seconds: float = 3600.0
    latency: Latency | None = None

    def as_json(self) -> dict[str, Any]:
        """Return everything for `--json`."""
        rates = [
            {"from": source, "to": target, "per_second": round(rate, 3)}
            for (source, target), rate in self.rates.items()
        ]
        return asdict(self) | {"rates": rates}
