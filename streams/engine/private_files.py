"""Folders and files that only their owner can read: tables and logs hold PHI."""

from __future__ import annotations

import os
import stat
from pathlib import Path

FOLDER_MODE, FILE_MODE, MASK = 0o700, 0o600, 0o077


def keep_files_private() -> None:
    """Have this process, and those that it starts, write files for their owner alone.

    Call it when a service starts.  Commands that write what the user asked for, e.g.
    scrubbed files, leave the user's own mask.
    """
    os.umask(MASK)


def private_folder(folder: Path) -> None:
    """Make a folder, and absent ones above it, for their owner alone.

    One that exists is closed to others if it belongs to this user.

    Raises:
        OSError: It can't be made.
    """
    for absent in reversed([path for path in folder.parents if not path.exists()]):
        absent.mkdir(mode=FOLDER_MODE, exist_ok=True)
    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
    found = folder.stat()
    if is_open_to_others(found) and found.st_uid == os.geteuid():
        folder.chmod(FOLDER_MODE)


def is_open_to_others(found: os.stat_result) -> bool:
    """Return whether group or others may do anything with a file or folder."""
    return bool(stat.S_IMODE(found.st_mode) & MASK)


def replace_private(path: Path, content: bytes) -> None:
    """Write a file for its owner alone; a power cut leaves the old one or the new one.

    Raises:
        OSError: It can't be written.
    """
    partial = path.with_name(f".{path.name}.partial")
    partial.touch(FILE_MODE)
    with partial.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    partial.replace(path)
