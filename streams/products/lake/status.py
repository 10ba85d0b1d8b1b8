"""The status of tables and topics: rows, files, snapshots, and what is not read yet."""

from __future__ import annotations

from dataclasses import dataclass

from streams.kafka.client import admin_client
from streams.kafka.offsets import end_offsets
from streams.operations.settings import Settings

from .maintenance import small_files
from .settings import LakeSettings
from .table import LakeTable


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One table and its topic.

    Args:
        topic: The topic's name.
        table: The table's name.
        rows: In the current snapshot; None without a table.
        files: In the current snapshot; 0 without a table.
        small: Small files of the partition that has most.
        snapshots: That have not expired.
        behind: Offsets of the topic that are not in the table, markers included.
    """

    topic: str
    table: str
    rows: int | None
    files: int
    small: int
    snapshots: int
    behind: int


def status_of_table(
    settings: Settings, lake: LakeSettings, table: LakeTable, partitions: int
) -> TableStatus:
    """Return how one table stands; it is not made.

    Raises:
        RetriableError: Catalog or cluster did not answer.
    """
    topic = table.rows.topic.name
    ends = end_offsets(admin_client(settings), topic, range(partitions))
    if not table.load():
        return TableStatus(topic, table.name, None, 0, 0, 0, sum(ends.values()))
    snapshot = table.table.current_snapshot()
    files, small = small_files(table, lake) if snapshot is not None else (0, 0)
    reached = table.progress().offsets
    rows = 0
    if snapshot is not None and snapshot.summary is not None:
        rows = int(snapshot.summary.additional_properties.get("total-records", 0))
    return TableStatus(
        topic,
        table.name,
        rows,
        files,
        small,
        len(table.table.snapshots()),
        sum(max(0, end - reached.get(p, 0)) for p, end in ends.items()),
    )
