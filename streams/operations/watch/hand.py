"""Which record watch has in hand, in memory that it shares with its guard."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import SpawnContext

NOTHING = -1


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Where a record stands."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]@{self.offset}"


class Hand:
    """The record that is being read; what ended the process is known by it.

    Args:
        context: Starts the process that this is handed to.
        topics: Those that records may come from.
    """

    def __init__(self, context: SpawnContext, topics: Sequence[str]) -> None:
        self._topics = tuple(topics)
        self._shared = context.RawArray(ctypes.c_int64, 3)
        self.skipped: frozenset[Position] = frozenset()
        self.empty()

    @contextmanager
    def holding(self, position: Position) -> Iterator[None]:
        """Have a record in hand."""
        self._shared[1] = position.partition
        self._shared[2] = position.offset
        self._shared[0] = self._topics.index(position.topic)
        yield
        # Not in a finally clause: what raises may end the process as well.
        self.empty()

    def empty(self) -> None:
        """Have nothing in hand."""
        self._shared[0] = NOTHING

    def held(self) -> Position | None:
        """Return what is in hand."""
        topic, partition, offset = self._shared
        return (
            None
            if topic == NOTHING
            else Position(self._topics[topic], partition, offset)
        )
