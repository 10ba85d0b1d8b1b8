"""One partition of a table on disk: rows, and the offset reached, in one write.

The files are an embedded RocksDB store without a write-ahead log: the changelog is the
log.  Rows and offset are in the same memory table, so that a crash loses the end of
both, and the next owner reads that end again.  If the store is damaged, or belongs to
another topic, it is CorruptState: the caller deletes and restores it.  Nothing else
deletes it (`rocksdb`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import orjson
from rocksdict import (
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    WriteBatch,
    WriteBufferManager,
    WriteOptions,
)

from streams.engine.errors import CorruptState, StreamError
from streams.engine.private_files import private_folder

from .rocksdb import translated

log = logging.getLogger(__name__)

FORMAT = 2
"""Version of the files; a store of another version is restored."""
ROW = b"r"
META = b"m"
MIB = 1024 * 1024
MEMORY_TABLE_BYTES = 16 * MIB


class StoreMemory:
    """The memory that all stores of a table share.

    Args:
        cache_bytes: For blocks of files, their indexes and filters.
        unflushed_bytes: For rows that are not in files yet; a store that exceeds it
            begins to flush its own.
    """

    def __init__(
        self, *, cache_bytes: int = 32 * MIB, unflushed_bytes: int = 64 * MIB
    ) -> None:
        self.cache = Cache(cache_bytes)
        self.buffers = WriteBufferManager(unflushed_bytes, allow_stall=False)


class PartitionStore:
    """Keys and values of one partition.

    Args:
        folder: Of the files; created for its owner alone if absent.
        identity: The topic's id at its cluster; the store of another is CorruptState.
        oldest: Seconds after which the store is too old, because the topic may have
            dropped tombstones since; counted from when it last held all of the topic.
        memory: Shared with the other stores of the table.
        clock: Seconds since 1970.

    Raises:
        CorruptState: The store is damaged, too old, of another version or topic.
        StateLocked: Another process has it open.
        StateUnusable: No space is left, or the folder can't be used.
    """

    def __init__(
        self,
        folder: Path,
        identity: str,
        *,
        oldest: float,
        memory: StoreMemory | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._identity = identity
        self._clock = clock
        self._next_offset = 0
        # Until the first read ends, what the topic held when it began must be there.
        self._current_at = clock()
        self.is_damaged = False
        self._is_purged = True
        self._purging: Thread | None = None
        self.merge_seconds = 0.0
        with self._translated():
            private_folder(folder)
            self._rows = Rdict(str(folder), options=_options(memory or StoreMemory()))
            self._rows.set_write_options(_without_log())
            meta = self._rows.get(META)
        if meta is not None:
            self._check(meta, oldest)

    @property
    def next_offset(self) -> int:
        """The first offset that is not in the store yet."""
        return self._next_offset

    @property
    def rows(self) -> int:
        """The number of keys, as RocksDB estimates it: changed keys count again."""
        with self._translated():
            count = self._rows.property_int_value("rocksdb.estimate-num-keys")
        return max(0, (count or 0) - 1)

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        with self._translated():
            value: bytes | None = self._rows.get(ROW + key)
        return value

    def scan(self, prefix: bytes, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys with a prefix, and their values, in the order of bytes.

        Args:
            prefix: Of the keys.
            start: Smaller keys are left out.
        """
        begin = ROW + prefix
        with self._translated():
            rows = self._rows.iter()
            try:
                rows.seek(max(begin, ROW + start))
                while rows.valid():
                    key: bytes = rows.key()
                    if not key.startswith(begin):
                        return
                    yield key[len(ROW) :], rows.value()
                    rows.next()
                # An iterator ends at damage as it does at the end.
                rows.status()
            finally:
                # It keeps the files open, and the traceback of an error keeps it.
                del rows

    def write(
        self,
        changes: Iterable[tuple[bytes, bytes | None]],
        next_offset: int,
        *,
        is_current: bool,
    ) -> None:
        """Put or (None) delete keys, and set the offset, in one atomic write.

        Args:
            changes: Keys and values; the last one of a key counts.
            next_offset: The first offset that is not in the store afterwards.
            is_current: Whether the store then holds all of the topic.
        """
        batch = WriteBatch(raw_mode=True)
        for key, value in changes:
            if value is None:
                batch.delete(ROW + key)
                self._is_purged = False
            else:
                batch.put(ROW + key, value)
        before = self._next_offset, self._current_at
        self.reach(next_offset, is_current=is_current)
        batch.put(META, self._meta())
        try:
            with self._translated():
                self._rows.write(batch)
        except StreamError:
            # A later flush must not claim that the rows are there: disks get room.
            self._next_offset, self._current_at = before
            raise

    def reach(self, next_offset: int, *, is_current: bool) -> None:
        """Set the offset where no row changes, e.g. after markers of transactions."""
        self._next_offset = max(self._next_offset, next_offset)
        if is_current:
            self._current_at = self._clock()

    def flush(self, *, wait: bool = True) -> None:
        """Write the rows and the offset to files, in the background unless ``wait``."""
        with self._translated():
            self._rows.put(META, self._meta())
            self._rows.flush(wait)

    def purge(self) -> None:
        """Remove what was deleted from the files, which keep it until they are merged.

        They are merged in the background, and as a whole: RocksDB logs the bounds of a
        part, which are keys.  After a crash the next owner of the files does it.
        """
        if self.is_purging:
            return
        if self._purging is not None:
            # The MANIFEST that the merge began still names what was there before it.
            self._purging = None
            self.flush()
        if self._is_purged:
            return
        self.flush()
        self._is_purged = True
        self._purging = Thread(target=self._merge, daemon=True)
        self._purging.start()

    @property
    def is_purging(self) -> bool:
        """True if files are being merged to remove what was deleted."""
        return self._purging is not None and self._purging.is_alive()

    def close(self) -> None:
        """Flush and close the files; the next owner resumes from the offset."""
        if self._purging is not None:
            self._purging.join()
        try:
            self.flush()
        finally:
            with self._translated():
                self._rows.close()

    def _merge(self) -> None:
        begun = time.monotonic()
        try:
            with self._translated():
                self._rows.compact_range(None, None)
            self.merge_seconds = time.monotonic() - begun
        except StreamError as error:
            self._is_purged = False
            log.warning("%s; deleted rows stay in its files for now", error)

    def _meta(self) -> bytes:
        return orjson.dumps(
            {
                "format": FORMAT,
                "identity": self._identity,
                "next_offset": self._next_offset,
                "current_at": self._current_at,
                "is_purged": self._is_purged and not self.is_purging,
            }
        )

    def _check(self, raw: bytes, oldest: float) -> None:
        reason = ""
        try:
            meta = orjson.loads(raw)
            if meta.get("format") != FORMAT:
                reason = "it is of another version"
            elif meta["identity"] != self._identity:
                reason = "it belongs to another topic"
            else:
                self._next_offset = int(meta["next_offset"])
                self._current_at = float(meta["current_at"])
                self._is_purged = meta.get("is_purged") is True
        except (ValueError, KeyError, TypeError, AttributeError):
            reason = "its offset is unreadable"
        if not reason and self._clock() - self._current_at > oldest:
            reason = "it is too old"
        if reason:
            with self._translated():
                self._rows.close()
            raise CorruptState(f"table {self._folder.name}: {reason}")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            with translated(self._folder):
                yield
        except CorruptState:
            self.is_damaged = True
            raise


def _options(memory: StoreMemory) -> Options:
    blocks = BlockBasedOptions()
    blocks.set_block_cache(memory.cache)
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
    blocks.set_block_size(16 * 1024)
    blocks.set_bloom_filter(10, block_based=False)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_paranoid_checks(True)
    options.set_keep_log_file_num(2)
    # It names the first and last key of each file, of those before the last as well:
    # with each change a new one is begun.
    options.set_max_manifest_file_size(1)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_write_buffer_size(MEMORY_TABLE_BYTES)
    options.set_write_buffer_manager(memory.buffers)
    # A restore writes faster than files are merged, and waits for that by default.
    options.set_level_zero_slowdown_writes_trigger(200)
    options.set_level_zero_stop_writes_trigger(400)
    options.set_block_based_table_factory(blocks)
    return options


def _without_log() -> WriteOptions:
    options = WriteOptions()
    options.disable_wal = True  # type: ignore[method-assign, assignment]  # a property
    return options
