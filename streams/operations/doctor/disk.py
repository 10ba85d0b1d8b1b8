"""Checks of folders: who can read them, space, and a store that works."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from streams.engine.errors import CorruptState, StateUnusable
from streams.engine.private_files import is_open_to_others
from streams.kafka.tables.store import PartitionStore, StoreMemory

from .context import CheckContext
from .finding import Finding, fail, ok, warn

MIB = 1024 * 1024
MAX_FILES = 100_000
"""How many files and folders of a folder are looked at."""
FAIL_BYTES, WARN_BYTES = 200 * MIB, 2048 * MIB


def state_dir(context: CheckContext) -> Iterator[Finding]:
    """Write a store into the state folder, read it back, and remove it."""
    folder = context.settings.state_dir.expanduser()
    if folder.exists() and not folder.is_dir():
        yield fail(f"{folder}: not a folder", "set state_dir to a folder")
        return
    base = _existing(folder)
    yield judge_space(shutil.disk_usage(base).free)
    try:
        yield probe(base, folder)
    except OSError as error:
        yield fail(f"{folder}: can't be written ({error.strerror})",
                   "give it to the service's user, or set state_dir")  # fmt: skip
        return
    stores = [*folder.glob("*/*/patients-*")]
    yield ok(f"{folder}: holds {len(stores)} partitions")


def private_folders(context: CheckContext) -> Iterator[Finding]:
    """Check that only the service's user can read tables and a local broker's data."""
    for name in ("state_dir", "broker_dir"):
        folder = getattr(context.settings, name).expanduser()
        if folder.is_dir():
            yield judge_privacy(folder, os.geteuid())


def judge_privacy(folder: Path, user: int) -> Finding:
    """Check that a folder and everything in it is its user's own, and closed.

    Args:
        folder: It holds PHI.
        user: Whose it should be.
    """
    wider: list[str] = []
    foreign: list[str] = []
    for path, found in islice(_files(folder), MAX_FILES):
        if is_open_to_others(found):
            wider.append(f"{path} has mode {stat.S_IMODE(found.st_mode):04o}")
        # Root reads everything anyway, and owns what is mounted.
        if found.st_uid not in (user, 0):
            foreign.append(f"{path} belongs to user {found.st_uid}")
    if foreign:
        seen = f"{foreign[0]}, not to {user} ({len(foreign)} such)"
        return warn(seen, f"chown -R {user} {folder}, or run doctor as the service")
    if wider:
        seen = f"{wider[0]}: others may read PHI ({len(wider)} such)"
        return warn(seen, f"chmod -R go= {folder} (Kubernetes: fsGroup without others)")
    return ok(f"{folder}: private")


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield a folder and what is in it; links are not followed."""
    yield folder, folder.stat()
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            try:
                found = path.lstat()
            except FileNotFoundError:
                continue  # a table has just replaced it
            if not stat.S_ISLNK(found.st_mode):
                yield path, found


def probe(base: Path, folder: Path) -> Finding:
    """Check that a store can be written and read back.

    Raises:
        OSError: The folder is not writable.
    """
    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=base) as place:
        try:
            value = written_and_read(Path(place) / "store")
        except (CorruptState, StateUnusable) as error:
            return fail(f"{folder}: {error}", "check the disk, or set state_dir")
    if value != b"value":
        return fail(f"{folder}: a store returned another value than was written",
                    "check the disk, or set state_dir")  # fmt: skip
    return ok(f"{folder}: a store can be written and read")


def written_and_read(folder: Path) -> bytes | None:
    """Return the value of a store after it was closed and reopened."""
    for _ in range(2):
        store = PartitionStore(folder, "doctor", oldest=60, memory=StoreMemory())
        if store.next_offset == 0:
            store.write({b"key": b"value"}.items(), 1, is_current=True)
        value = store.get(b"key")
        store.close()
    return value


def judge_space(free: int) -> Finding:
    """Check the space for the tables."""
    seen = f"{free / MIB / 1024:,.1f} GiB free"
    if free < FAIL_BYTES:
        return fail(seen, "free some space, or set state_dir to a larger disk")
    if free < WARN_BYTES:
        return warn(seen, "free some space: a table takes some KiB for each patient")
    return ok(seen)


def _existing(folder: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    return next(each for each in (folder, *folder.absolute().parents) if each.is_dir())
