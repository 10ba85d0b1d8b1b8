"""Translate RocksDB's errors, find the holder of a store's lock, and drop a store.

The binding raises one class of exception for everything, so that the text decides.
Only what RocksDB calls corruption, or a file that is not there, is damage: everything
else may pass, and then deleting the store would only hide the cause.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streams.engine.errors import (
    DamagedState,
    FatalError,
    StateLocked,
    StorageFailed,
    StorageFull,
    StreamError,
)

LOCK = "LOCK"
"""The file that RocksDB locks while a process has the store open."""
MIB = 1024 * 1024

_LOCKED = ("While lock file", "lock hold by current process")
_FULL = {
    errno.ENOSPC: "free some space, or set state_dir to a larger disk",
    errno.EDQUOT: "raise the quota of the service's user, or free some space",
    errno.EFBIG: "raise the limit of a file's size (ulimit -f, LimitFSIZE)",
}
_FAILED = {
    errno.EACCES: "give the folder to the service's user",
    errno.EPERM: "give the folder to the service's user",
    errno.EROFS: "mount the file system for writing",
    errno.EIO: "check the disk, or set state_dir to another one",
    errno.EMFILE: "raise the limit of open files (ulimit -n, LimitNOFILE)",
    errno.ENFILE: "raise the host's limit of open files (fs.file-max)",
    errno.ENOMEM: "give the worker more memory",
    errno.ENOTDIR: "set state_dir to a folder",
    errno.EEXIST: "set state_dir to a folder",
}
"""What may be done about an error of the system, by its number."""
_DAMAGE = (
    "block checksum mismatch",
    "checksum mismatch",
    "CURRENT file",
    "file size mismatch",
    "MANIFEST",
    "wal_dir contains existing log file",
    "No such file or directory",
    "bad block",
    "truncated",
)
"""Kinds of damage that a message may name: the rest of RocksDB's text may show keys."""


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Translate exceptions of the store in a folder, and of the system.

    Raises:
        DamagedState: RocksDB says that its files are damaged or absent.
        StateLocked: The store is open already.
        StorageFull: No space is left, or a quota or limit of size is reached.
        StorageFailed: The folder can't be read or written for another reason.
        FatalError: A bug, e.g. the store is used after it was closed.
    """
    try:
        yield
    except StreamError:
        raise
    except OSError as error:
        raise _of_system(error.errno or 0, folder) from None
    except Exception as error:
        raise _of_rocksdb(str(error), type(error).__name__, folder) from None


def drop_store(folder: Path) -> None:
    """Delete a store's files under its lock, which nobody else can hold meanwhile.

    The folder and its lock stay, so that whoever waits for the lock has the one that
    counts.

    Raises:
        StateLocked: Another process has the store open; nothing is deleted.
        StorageFailed: A file can't be deleted.
    """
    with translated(folder):
        if not folder.exists():
            return
        if holder(folder) == os.getpid():
            # Its own locks don't stop a process, and closing the file drops them.
            raise _locked(folder)
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                raise _locked(folder) from None
            for path in folder.iterdir():
                if path.name == LOCK:
                    continue
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        finally:
            os.close(handle)


def holder(folder: Path) -> int | None:
    """Return the id of the process that holds a store's lock, if Linux tells.

    Nothing is known of a process in another container.
    """
    try:
        lock = (folder / LOCK).stat()
        device = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}"
        wanted = f"{device}:{lock.st_ino}"
        for line in Path("/proc/locks").read_text("ascii").splitlines():
            fields = line.split()
            if wanted in fields and "->" not in fields:
                return int(fields[fields.index(wanted) - 1])
    except (OSError, ValueError):
        pass
    return None


def _of_rocksdb(text: str, name: str, folder: Path) -> StreamError:
    # Paths may hold any words.
    text = text.replace(str(folder), "")
    if any(words in text for words in _LOCKED):
        return _locked(folder)
    # First: RocksDB reports as corruption that it can't open a file while it starts.
    for number in (*_FULL, *_FAILED):
        if os.strerror(number) in text:
            return _of_system(number, folder)
    is_absent = os.strerror(errno.ENOENT) in text
    if text.startswith("Corruption") or is_absent:
        kind = next((damage for damage in _DAMAGE if damage in text), "corruption")
        return DamagedState(f"table {folder.name}: RocksDB reports damage: {kind}")
    if re.search(r"\b(?:already|is|was) closed\b", text):
        return FatalError(f"table {folder.name}: used after it was closed: report it")
    return StorageFailed(
        f"table {folder.name}: RocksDB failed ({name}); nothing was deleted: look at "
        f"{folder}/LOG; without this folder the table is restored from its topic"
    )


def _of_system(number: int, folder: Path) -> StreamError:
    problem = os.strerror(number)
    if number in _FULL:
        return StorageFull(
            f"state_dir: {problem} in {folder} ({_free(folder)}); the tables are kept: "
            f"{_FULL[number]}, then start again"
        )
    step = _FAILED.get(number, "check the folder and its disk")
    return StorageFailed(
        f"state_dir: {problem} in {folder}; nothing was deleted: {step}, "
        "then start again"
    )


def _locked(folder: Path) -> StateLocked:
    pid = holder(folder)
    who = "this process" if pid == os.getpid() else f"process {pid}"
    return StateLocked(
        f"table {folder.name}: {who if pid else 'another process'} has {folder} open"
    )


def _free(folder: Path) -> str:
    existing = next((path for path in (folder, *folder.parents) if path.exists()), None)
    if existing is None:
        return "free space unknown"
    return f"{shutil.disk_usage(existing).free / MIB:,.1f} MiB free"
