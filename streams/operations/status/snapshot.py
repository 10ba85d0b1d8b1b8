"""What `phistream status` shows at one moment, wherever it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from streams.cluster.lag import PartitionLag
from streams.cluster.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENTS,
)

EDGES = (
    (HL7_RAW.name, "intake"),
    ("intake", NOTES.name),
    ("intake", PATIENTS.name),
    ("intake", DEAD_LETTERS.name),
    (NOTES.name, "scrub"),
    ("scrub", NOTES_SCRUBBED.name),
    ("scrub", DEAD_LETTERS.name),
)
"""The arrows of the flow."""

Rates = Mapping[tuple[str, str], float]
"""Records a second, by arrow."""


def printable(name: object) -> str:
    """Return a name that somebody else chose, without what could steer a terminal."""
    return "".join(each for each in str(name) if each.isprintable())[:60]


@dataclass(frozen=True, slots=True)
class Member:
    """A worker, as the group's coordinator has it.

    Args:
        name: Of its slot, e.g. ``phistream-scrub-0``.
        host: Where it runs.
        partitions: What is assigned to it.
    """

    name: str
    host: str
    partitions: tuple[int, ...]


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
        group: Who processes it.
        topic: Of the partition.
        partition: Its number.
        suspects: Records that are still to be processed alone.
        record: The offset of the suspect in hand, or last in hand; None for none.
        deaths: Workers that have ended with it in hand.
    """

    group: str
    topic: str
    partition: int
    suspects: int
    record: int | None
    deaths: int


@dataclass(frozen=True, slots=True)
class Refused:
    """How many dead letters there were of late, of one reason."""

    stage: str
    code: str
    count: int


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from hl7.raw on, over the last minute; None where nothing came."""

    p50: float | None
    p90: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that is shown.

    Args:
        at: When it was taken, seconds since 1970.
        source: Who was asked: a cluster's or a watch's address.
        rates: Along each of `EDGES`.
        rate_seconds: What they are over.
        arriving: Records a second into hl7.raw; None if not known yet.
        lags: Of each group and partition.
        is_judged: Whether the lags' states rest on a whole window.
        groups: With their workers; none where watch was asked.
        quarantine: Partitions with suspects; likewise.
        refused: Dead letters of late, the most frequent first.
        refused_seconds: How far back they were counted.
        latency: Of scrubbed notes.
    """

    at: float
    source: str
    rates: Rates = field(default_factory=dict)
    rate_seconds: float = 60.0
    arriving: float | None = None
    lags: tuple[PartitionLag, ...] = ()
    is_judged: bool = False
    groups: tuple[GroupView, ...] = ()
    quarantine: tuple[Quarantine, ...] = ()
    refused: tuple[Refused, ...] = ()
    refused_seconds: float = 3600.0
    latency: Latency | None = None

    def as_json(self) -> dict[str, Any]:
        """Return all of it for programs."""
        told = asdict(self)
        told["rates"] = [
            {"from": source, "to": target, "per_second": round(rate, 3)}
            for (source, target), rate in self.rates.items()
        ]
        return told
