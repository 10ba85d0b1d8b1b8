"""The consumed offsets of a table, in the summaries of its snapshots.

They are written in the same commit as the rows, so rows and offsets can't disagree, and
a start reads them from the table alone.  Snapshots of other programs have none: the
offsets are then those of the latest ancestor that has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from streams.engine.errors import FatalError

if TYPE_CHECKING:
    from pyiceberg.table.snapshots import Snapshot

OFFSETS, TOPIC_ID = "phistream.offsets", "phistream.topic-id"


class LostProgress(FatalError):
    """A table has rows, and no snapshot that says up to which offsets."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a table in its topic.

    Args:
        topic: The topic's name.
        topic_id: Which the cluster gave the topic when it was made; "" before the
            first commit.
        offsets: By partition, the offset of the next record.
    """

    topic: str
    topic_id: str
    offsets: Mapping[int, int]

    def summary(self) -> dict[str, str]:
        """Return it as properties of a snapshot's summary."""
        by_partition = {str(p): self.offsets[p] for p in sorted(self.offsets)}
        offsets = orjson.dumps({self.topic: by_partition}).decode()
        return {OFFSETS: offsets, TOPIC_ID: self.topic_id}


def progress_of(
    topic: str,
    current: Snapshot | None,
    parent: Callable[[int], Snapshot | None],
) -> Progress:
    """Return how far a table has come.

    Args:
        topic: The topic's name.
        current: The table's current snapshot.
        parent: Returns a snapshot by its id; None if it has expired.

    Raises:
        LostProgress: The table has snapshots, and none of them says it.
    """
    snapshot = current
    while snapshot is not None:
        found = _read(topic, snapshot)
        if found is not None:
            return found
        above = snapshot.parent_snapshot_id
        if above is None:
            break
        snapshot = parent(above)
    if current is not None:
        raise LostProgress(
            f"{topic}: no snapshot of its table holds {OFFSETS}; roll the table back "
            "to one that does, or drop it and write it anew (runbook, The lake)"
        )
    return Progress(topic, "", {})


def _read(topic: str, snapshot: Snapshot) -> Progress | None:
    if snapshot.summary is None:
        return None
    said = snapshot.summary.additional_properties
    if OFFSETS not in said:
        return None
    try:
        offsets = {
            int(p): int(o) for p, o in orjson.loads(said[OFFSETS])[topic].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LostProgress(
            f"{topic}: {OFFSETS} of a snapshot can't be read; is it another topic's "
            "table? (runbook, The lake)"
        ) from None
    return Progress(topic, said.get(TOPIC_ID, ""), offsets)
