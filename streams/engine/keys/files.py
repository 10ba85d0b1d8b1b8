"""Files of secret keys: made for their owner alone, and refused if others can read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from streams.engine.errors import ConfigError

MAX_BYTES = 64 * 1024
"""No key is larger; a larger file is another file."""


def write_private(path: Path, content: bytes) -> None:
    """Write a new file that only its owner can read.

    Raises:
        ConfigError: It exists, or can't be written.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; no key was written") from None
    with os.fdopen(handle, "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def is_exposed(found: os.stat_result) -> bool:
    """Return whether others than owner and group can read or change a key's file.

    The group may read it: Kubernetes mounts secrets so for a user that is not root.
    """
    return bool(stat.S_IMODE(found.st_mode) & (stat.S_IRWXO | stat.S_IWGRP))


def read_private(path: Path, where: str, make: str) -> bytes:
    """Return the content of a file that others can't read.

    Args:
        path: The file.
        where: The setting or option, for messages.
        make: The command that makes such a file, for messages.

    Raises:
        ConfigError: It is unreadable, too large, or others can read or change it.
    """
    content = _read(path, where, make, is_private=True)
    if not content.strip():
        raise ConfigError(f"{where}: the file is empty; make a key with: {make}")
    return content


def read_password(path: Path, where: str) -> str:
    """Return the password that a file holds, without the end of its line.

    Args:
        path: The file, which others can't read.
        where: The setting, for messages.

    Raises:
        ConfigError: It is unreadable, others can read or change it, or it is not one
            line of text.
    """
    content = _read(path, where, f"umask 077; cat > {path}", is_private=True)
    try:
        found = content.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ConfigError(f"{where}: not UTF-8") from None
    if not found or not found.isprintable():
        raise ConfigError(f"{where}: must hold one line, the password")
    return found


def read_public(path: Path, where: str, make: str) -> bytes:
    """Return the content of a file that anybody may read.

    Raises:
        ConfigError: It is unreadable or too large.
    """
    return _read(path, where, make, is_private=False)


def _read(path: Path, where: str, make: str, *, is_private: bool) -> bytes:
    try:
        with path.expanduser().open("rb") as file:
            # Of the open file, so that nobody can replace it in between.
            if is_private and is_exposed(os.fstat(file.fileno())):
                raise ConfigError(
                    f"{where}: others can read or change the file; run: chmod 600 "
                    f"{path} (Kubernetes: defaultMode 0400 of the secret)"
                )
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            f"{where}: can't be read ({error.strerror}); make it with: {make}"
        ) from None
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{where}: over {MAX_BYTES} bytes: no key; choose its file")
    return content
