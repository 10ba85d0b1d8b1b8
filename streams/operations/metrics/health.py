"""A worker's health as served over HTTP; the loop writes it, the server reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from streams.engine.observer import TableProgress
from streams.kafka.topics import Stage


@dataclass(frozen=True, slots=True)
class Identity:
    """Stage, slot and versions; constant for the life of a process."""

    stage: Stage
    slot: int
    version: str
    preset: str
    policy: str
    model: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LoopState:
    """The state after the last iteration of the loop; replaced as a whole."""

    assigned: frozenset[int] = frozenset()
    paused: frozenset[int] = frozenset()
    table: tuple[TableProgress, ...] = ()
    last_commit: float | None = None
    records: int = 0
    quarantined: int = 0

    def trouble(self) -> str:
        """Return why the worker is not ready; empty when it is."""
        behind = [each for each in self.table if each.behind]
        if not self.assigned:
            return "no partition is assigned"
        if behind:
            left = sum(each.behind for each in behind)
            return f"the table of {len(behind)} partitions is {left} offsets behind"
        if self.paused:
            return f"{len(self.paused)} partitions wait for their table"
        return ""


class Health:
    """The answers of /healthz, /readyz and /status.

    Args:
        identity: The worker.
        silent: Returns the seconds since the loop's last beat.
        limit: Returns the seconds of silence after which the loop is not alive: more
            while it starts, when it waits for a broker, loads models and compiles.
    """

    def __init__(
        self,
        identity: Identity,
        silent: Callable[[], float],
        limit: Callable[[], float],
    ) -> None:
        self.identity = identity
        self.now = LoopState()
        self._silent = silent
        self._limit = limit

    def alive(self) -> tuple[bool, str]:
        """Return whether the loop is alive, and a line about it."""
        silent = self._silent()
        return silent <= self._limit(), f"the loop's last beat was {silent:.1f} s ago"

    def ready(self) -> tuple[bool, str]:
        """Return whether records can be processed, and why not."""
        trouble = self.now.trouble()
        return not trouble, trouble or "assigned, and the table has caught up"

    def status(self) -> dict[str, Any]:
        """Return everything as JSON: positions and counts, no PHI."""
        now, identity = self.now, self.identity
        is_alive, is_ready = self.alive()[0], self.ready()[0]
        return {
            "stage": identity.stage,
            "slot": identity.slot,
            "version": identity.version,
            "preset": identity.preset,
            "policy": identity.policy,
            "model": dict(identity.model),
            "alive": is_alive,
            "ready": is_ready,
            "reason": now.trouble(),
            "partitions": sorted(now.assigned),
            "waiting": sorted(now.paused),
            "quarantined": now.quarantined,
            "table": [_row(each) for each in now.table],
            "last_commit": _iso(now.last_commit),
            "records_committed": now.records,
        }


def _row(progress: TableProgress) -> dict[str, Any]:
    return {
        "partition": progress.partition,
        "next_offset": progress.next_offset,
        "behind": progress.behind,
        "restore_seconds": round(progress.seconds, 3),
        "rows": progress.rows,
    }


def _iso(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
