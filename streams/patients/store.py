"""The table of one partition on disk: rows, and the offset reached, in one write.

The table is an embedded RocksDB store.  If it is unreadable, or belongs to another
topic, it is CorruptState: the caller deletes and restores it.  A store that another
process has open is waited for, and a full disk deletes nothing.

A record of the topic that ends the process while it is merged is found like one of the
input (`claim`); its claim is kept in the table itself, since every owner merges alone.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import orjson
from rocksdict import Options, Rdict, WriteBatch

from ..engine.claim import Claim
from ..engine.errors import CorruptState, StateLocked, StorageFull, StreamError

ROW = b"r"
META = b"m"
CLAIM = b"c"

LOCKED = ("While lock file", "lock hold by current process")
FULL = ("No space left on device", "Disk quota exceeded")
"""RocksDB's messages; its binding raises one class of exception for everything."""


class Table:
    """Keys and values of one partition.

    Args:
        folder: Of the store; created if absent.
        identity: The topic's id at its cluster; the table of another is CorruptState.
        oldest: Seconds after the last write at which the table is too old, because the
            topic may have dropped tombstones since.
        clock: Seconds since 1970.

    Raises:
        CorruptState: The table is damaged, too old, or of another topic.
        StateLocked: Another process has it open.
        StorageFull: No space is left.
    """

    def __init__(
        self,
        folder: Path,
        identity: str,
        *,
        oldest: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._identity = identity
        self._clock = clock
        self._next_offset = self._count = 0
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _translated():
            self._rows = Rdict(str(folder), options=_options())
            meta = self._rows.get(META)
            claim = self._rows.get(CLAIM)
        self.claim = Claim.read(None if claim is None else claim.decode("ascii"))
        if meta is not None:
            self._check(meta, oldest)

    @property
    def next_offset(self) -> int:
        """The first offset that is not in the table yet."""
        return self._next_offset

    @property
    def rows(self) -> int:
        """The number of keys."""
        return self._count

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        with _translated():
            value: bytes | None = self._rows.get(ROW + key)
        return value

    def write_claim(self, claim: Claim) -> None:
        """Write the claim on the records to be merged next, for the next owner."""
        with _translated():
            self._rows.put(CLAIM, str(claim).encode("ascii"))
        self.claim = claim

    def write(
        self,
        changes: Mapping[bytes, bytes | None],
        next_offset: int,
        claim: Claim = Claim(),  # noqa: B008  # frozen
    ) -> None:
        """Put or (None) delete keys, and set the offset, in one atomic write.

        Args:
            changes: Values by key.
            next_offset: The first offset that is not in the table afterwards.
            claim: The claim on the records from there on.
        """
        batch = WriteBatch(raw_mode=True)
        count = self._count
        for key, value in changes.items():
            count += (value is not None) - (self.get(key) is not None)
            if value is None:
                batch.delete(ROW + key)
            else:
                batch.put(ROW + key, value)
        batch.put(META, self._meta(next_offset, count))
        batch.put(CLAIM, str(claim).encode("ascii"))
        with _translated():
            self._rows.write(batch)
        self._next_offset, self._count = next_offset, count
        self.claim = claim

    def flush(self) -> None:
        """Flush rows from memory and the write-ahead log to files."""
        with _translated():
            self._rows.flush()

    def close(self) -> None:
        """Close the files; the next owner resumes from the offset."""
        with _translated():
            self._rows.close()

    def _meta(self, next_offset: int, count: int) -> bytes:
        return orjson.dumps(
            {
                "identity": self._identity,
                "next_offset": next_offset,
                "rows": count,
                "saved_at": self._clock(),
            }
        )

    def _check(self, raw: bytes, oldest: float) -> None:
        try:
            meta = orjson.loads(raw)
            identity, reached = str(meta["identity"]), int(meta["next_offset"])
            count = int(meta["rows"])
            age = self._clock() - float(meta["saved_at"])
        except (ValueError, KeyError, TypeError):
            reason = "its offset is unreadable"
        else:
            reason = "it belongs to another topic" if identity != self._identity else ""
            reason = reason or ("it is too old" if age > oldest else "")
        if reason:
            self.close()
            raise CorruptState(f"table {self._folder.name}: {reason}; it is restored")
        self._next_offset, self._count = reached, count


def drop_table(folder: Path) -> None:
    """Delete a table's files."""
    shutil.rmtree(folder, ignore_errors=True)


def _options() -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_paranoid_checks(True)
    options.set_keep_log_file_num(2)
    options.set_write_buffer_size(16 * 1024 * 1024)
    return options


@contextmanager
def _translated() -> Iterator[None]:
    # rocksdict raises plain Exception, whose text may show keys.
    try:
        yield
    except CorruptState:
        raise
    except Exception as error:
        raise _stream_error(str(error), type(error).__name__) from None


def _stream_error(text: str, name: str) -> StreamError:
    if any(each in text for each in LOCKED):
        return StateLocked("table: another process has the store open; waiting for it")
    if any(each in text for each in FULL):
        return StorageFull(
            "state_dir: no space is left for the tables; make room, then start again"
        )
    return CorruptState(f"table: {name} of the store")
