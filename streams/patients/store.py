"""One partition of a changelog topic on disk, and the offset reached in the same write.

An embedded ordered store (RocksDB) holds it.  What can't be read, or does not belong
to its topic, is CorruptState: the caller drops the table and restores it.  A store that
another process still holds is waited for, and a full disk deletes nothing.

A record of the topic that takes the process down while it is merged is found as one of
the input is (`claim`); what is said of it lies in the table itself, since every owner
merges for himself.
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
"""What RocksDB says; its binding has one exception for everything."""


class Table:
    """Keys and values of one partition.

    Args:
        folder: Where it lies; made if absent.
        identity: The topic's id at its cluster; a table of another is CorruptState.
        oldest: Seconds after the last write when the table counts as too old, because
            the topic may have forgotten deletions since.
        clock: Seconds since 1970.

    Raises:
        CorruptState: It is damaged, too old, or belongs to another topic.
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
            said = self._rows.get(CLAIM)
        self.claim = Claim.read(None if said is None else said.decode("ascii"))
        if meta is not None:
            self._check(meta, oldest)

    @property
    def next_offset(self) -> int:
        """The first offset that is not in the table yet."""
        return self._next_offset

    @property
    def rows(self) -> int:
        """How many keys it holds."""
        return self._count

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        with _translated():
            value: bytes | None = self._rows.get(ROW + key)
        return value

    def say(self, claim: Claim) -> None:
        """Write down what is about to be merged, for who opens the table next."""
        with _translated():
            self._rows.put(CLAIM, str(claim).encode("ascii"))
        self.claim = claim

    def write(
        self,
        changes: Mapping[bytes, bytes | None],
        next_offset: int,
        claim: Claim = Claim(),  # noqa: B008  # frozen
    ) -> None:
        """Put or (None) delete keys, and move the offset, in one atomic write.

        Args:
            changes: Values by key.
            next_offset: The first offset that is not in the table then.
            claim: What is said of the records from there on.
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
        """Move what is in memory and the log into files of rows."""
        with _translated():
            self._rows.flush()

    def close(self) -> None:
        """Let go of the files; the next owner resumes from the offset."""
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
            reason = "its offset can't be read"
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
    # rocksdict raises bare Exception, whose text may show keys.
    try:
        yield
    except CorruptState:
        raise
    except Exception as error:
        raise _meant(str(error), type(error).__name__) from None


def _meant(text: str, name: str) -> StreamError:
    if any(each in text for each in LOCKED):
        return StateLocked("table: another process has the store open; waiting for it")
    if any(each in text for each in FULL):
        return StorageFull(
            "state_dir: no space is left for the tables; make room, then start again"
        )
    return CorruptState(f"table: {name} of the store")
