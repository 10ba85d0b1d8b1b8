"""Fewer and larger files, and the end of old snapshots with the rows in them.

Both may run while a writer does: the loser of a conflict begins again.  Compaction
carries the offsets on in the summary of its snapshot.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlparse

import pyarrow as pa
from pyarrow.fs import FileSelector, FileSystem, FileType
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import (
    ArrowScan,
    PyArrowFileIO,
    _dataframe_to_data_files,
)

from streams.engine.errors import RetriableError

from .catalog import CONFLICTS, translated
from .columns import OFFSET, PARTITION
from .progress import OFFSETS
from .rows import PATIENT
from .settings import LakeSettings
from .table import MAX_CONFLICTS, LakeTable

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import FileScanTask, Table

log = logging.getLogger(__name__)

COMMIT_BYTES = 512 * 1024 * 1024
"""Of the files that one commit rewrites; the last group may exceed it."""

Group = list["FileScanTask"]


@dataclass(frozen=True, slots=True)
class Compacted:
    """The numbers of files before and after compaction."""

    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class Expired:
    """The numbers of snapshots that ended and of files that were deleted."""

    snapshots: int = 0
    files: int = 0
    orphans: int = 0


def compact(
    lake_table: LakeTable, settings: LakeSettings, *, min_files: int
) -> Compacted:
    """Rewrite the small files of each partition that has at least so many of them.

    Raises:
        RetriableError: Catalog or files did not answer, or others commit all the time.
    """
    before = after = 0
    # Those that were rewritten are larger, or too few.
    for commit in _commits(_groups(lake_table, settings, min_files)):
        done = _rewrite_again(lake_table, commit)
        before, after = before + done.before, after + done.after
    if before:
        log.info("%s: %d small files became %d", lake_table.name, before, after)
    return Compacted(before, after)


def small_files(lake_table: LakeTable, settings: LakeSettings) -> tuple[int, int]:
    """Return the number of files, and the most small ones of a partition."""
    with translated(f"plan {lake_table.name}"):
        groups = _by_partition(lake_table.table)
    count = sum(len(group) for group in groups.values())
    small = (len(_small(group, settings)) for group in groups.values())
    return count, max(small, default=0)


def expire(lake_table: LakeTable, settings: LakeSettings, now: datetime) -> Expired:
    """End snapshots older than `keep_seconds`; delete the files that no other one has.

    Files that were never part of a snapshot, e.g. of a writer that was killed, go when
    they are older than `orphan_seconds`.

    Raises:
        RetriableError: Catalog or files did not answer.
    """
    table = lake_table.table
    with translated(f"expire snapshots of {lake_table.name}"):
        table.refresh()
        old = _old(table, now - timedelta(seconds=settings.keep_seconds))
        before = _references(table) if old else set()
        if old:
            _expire_again(table, old)
        # Listed before the references are read: a commit in between adds both.
        listed = _files_older(table, now - timedelta(seconds=settings.orphan_seconds))
        table.refresh()
        needed = _references(table)
        dropped, orphans = before - needed, set(listed) - needed - before
        for path in sorted(dropped | orphans):
            _delete(table, path)
    found = Expired(len(old), len(dropped), len(orphans))
    if found != Expired():
        log.info(
            "%s: %d snapshots expired, %d files and %d orphans deleted",
            lake_table.name, found.snapshots, found.files, found.orphans,
        )  # fmt: skip
    return found


def _by_partition(table: Table) -> dict[object, Group]:
    groups: dict[object, Group] = defaultdict(list)
    for scan in table.scan().plan_files():
        groups[scan.file.spec_id, scan.file.partition].append(scan)
    return groups


def _small(group: Group, settings: LakeSettings) -> Group:
    return [e for e in group if e.file.file_size_in_bytes < settings.small_bytes]


def _groups(
    lake_table: LakeTable, settings: LakeSettings, min_files: int
) -> list[Group]:
    """Return the small files that become one file each."""
    lake_table.refresh()
    found = []
    with translated(f"plan {lake_table.name}"):
        partitions = _by_partition(lake_table.table)
    for files in partitions.values():
        small = _small(files, settings)
        if len(small) >= max(2, min_files):
            packed = _packed(small, settings.file_bytes)
            found += [each for each in packed if len(each) > 1]
    return found


def _packed(files: Group, most: int) -> Iterator[Group]:
    part: Group = []
    size = 0
    for each in sorted(files, key=lambda e: e.file.file_size_in_bytes):
        if part and size + each.file.file_size_in_bytes > most:
            yield part
            part, size = [], 0
        part.append(each)
        size += each.file.file_size_in_bytes
    yield part


def _commits(groups: Iterable[Group]) -> Iterator[list[Group]]:
    part: list[Group] = []
    size = 0
    for group in groups:
        part.append(group)
        size += sum(each.file.file_size_in_bytes for each in group)
        if size >= COMMIT_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _rewrite_again(lake_table: LakeTable, groups: Sequence[Group]) -> Compacted:
    """Rewrite groups, those of them that are left after a conflict."""
    for _attempt in range(MAX_CONFLICTS):
        lake_table.refresh()
        with translated(f"plan {lake_table.name}"):
            there = {e.file.file_path for e in lake_table.table.scan().plan_files()}
        # An erasure may have rewritten a file meanwhile: its rows must not come back.
        left = [g for g in groups if all(e.file.file_path in there for e in g)]
        if not left:
            return Compacted()
        try:
            with translated(f"compact {lake_table.name}"):
                return _rewrite(lake_table, left)
        except CONFLICTS as error:
            log.info("%s: %s; again", lake_table.name, type(error).__name__)
    raise RetriableError(f"lake: compact {lake_table.name}: too many conflicts")


def _rewrite(lake_table: LakeTable, groups: Sequence[Group]) -> Compacted:
    table = lake_table.table
    transaction = table.transaction()
    summary = lake_table.progress().summary()
    after = 0
    with transaction.update_snapshot(summary).overwrite() as snapshot:
        for group in groups:
            for new in _merged(table, group):
                snapshot.append_data_file(new)
                after += 1
            for each in group:
                snapshot.delete_data_file(each.file)
    transaction.commit_transaction()
    return Compacted(sum(map(len, groups)), after)


def _merged(table: Table, group: Group) -> Iterable[DataFile]:
    scan = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue())
    rows: pa.Table = scan.to_table(group)
    # One patient's rows together: they are read together, and erased together.
    order = [(name, "ascending") for name in (PATIENT, PARTITION, OFFSET)]
    return _dataframe_to_data_files(table.metadata, rows.sort_by(order), table.io)


def _old(table: Table, before: datetime) -> list[int]:
    """Return the snapshots that are older.

    Those that a branch or tag names stay, and those from the current one back to the
    one that holds the offsets: other programs write snapshots without them.
    """
    kept = {each.snapshot_id for each in table.metadata.refs.values()}
    snapshot = table.current_snapshot()
    while snapshot is not None:
        kept.add(snapshot.snapshot_id)
        if snapshot.summary and OFFSETS in snapshot.summary.additional_properties:
            break
        above = snapshot.parent_snapshot_id
        snapshot = None if above is None else table.snapshot_by_id(above)
    limit = before.timestamp() * 1000
    return [
        each.snapshot_id
        for each in table.metadata.snapshots
        if each.snapshot_id not in kept and each.timestamp_ms < limit
    ]


def _expire_again(table: Table, ids: list[int]) -> None:
    for _attempt in range(MAX_CONFLICTS):
        there = {each.snapshot_id for each in table.metadata.snapshots}
        left = [each for each in ids if each in there]
        if not left:
            return
        try:
            table.maintenance.expire_snapshots().by_ids(left).commit()
        except CONFLICTS:
            table.refresh()
        else:
            return
    raise RetriableError("lake: expire snapshots: too many conflicts")


def _references(table: Table) -> set[str]:
    """Return all files that the table's metadata names."""
    metadata = table.metadata
    found = {table.metadata_location, *(e.metadata_file for e in metadata.metadata_log)}
    found |= {each.statistics_path for each in metadata.statistics}
    found |= {each.statistics_path for each in metadata.partition_statistics}
    seen: set[str] = set()
    for snapshot in metadata.snapshots:
        found.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            found.add(manifest.manifest_path)
            if manifest.manifest_path in seen:
                continue
            seen.add(manifest.manifest_path)
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
                found.add(entry.data_file.file_path)
    return found


def _files_older(table: Table, before: datetime) -> list[str]:
    """Return the files below the table's folder that are older, as it names them."""
    location = table.location()
    if not isinstance(table.io, PyArrowFileIO):
        return []
    where = urlparse(location)
    files: FileSystem = table.io.fs_by_scheme(
        where.scheme or "file", where.netloc or None
    )
    _scheme, _netloc, root = PyArrowFileIO.parse_location(location)
    selector = FileSelector(root, recursive=True, allow_not_found=True)
    return [
        location + each.path.removeprefix(root)
        for each in files.get_file_info(selector)
        if each.type is FileType.File
        and each.mtime is not None
        and each.mtime.astimezone(UTC) < before
    ]


def _delete(table: Table, path: str) -> None:
    try:
        table.io.delete(path)
    except FileNotFoundError:
        log.debug("a file to delete is gone already")
