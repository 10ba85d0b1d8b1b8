"""The folder of the tables' stores: writable, room enough, and a store opens in it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from streams.engine.errors import CorruptState
from streams.patients.store import Table

from .context import CheckContext
from .finding import Finding, fail, ok, warn

MIB = 1024 * 1024
SCARCE, LOW = 200 * MIB, 2048 * MIB


def state_dir(context: CheckContext) -> Iterator[Finding]:
    """Write a store into the state folder, read it back, and take it away."""
    folder = context.settings.state_dir.expanduser()
    if folder.exists() and not folder.is_dir():
        yield fail(f"{folder}: is no folder", "set state_dir to a folder")
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
    yield ok(f"{folder}: {len(stores)} partitions are stored")


def probe(base: Path, folder: Path) -> Finding:
    """Return whether a store can be written and read back.

    Raises:
        OSError: The folder can't be written.
    """
    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=base) as place:
        try:
            value = written_and_read(Path(place) / "store")
        except CorruptState as error:
            return fail(f"{folder}: {error}", "look at the disk; set state_dir")
    if value != b"value":
        return fail(f"{folder}: a store gives back what it was not given",
                    "look at the disk; set state_dir")  # fmt: skip
    return ok(f"{folder}: a store opens, and gives back what it was given")


def written_and_read(folder: Path) -> bytes | None:
    """Return what a store gives back after it was closed and opened again."""
    for _ in range(2):
        table = Table(folder, "doctor", oldest=60)
        if table.next_offset == 0:
            table.write({b"key": b"value"}, 1)
        value = table.get(b"key")
        table.close()
    return value


def judge_space(free: int) -> Finding:
    """Return whether there is room for the tables."""
    said = f"{free / MIB / 1024:,.1f} GiB free"
    if free < SCARCE:
        return fail(said, "make room, or set state_dir to a larger disk")
    if free < LOW:
        return warn(said, "make room: a table takes some KiB a patient")
    return ok(said)


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest above it that is there."""
    return next(each for each in (folder, *folder.absolute().parents) if each.is_dir())
