"""Where a secret key comes from: what a source names, read once at the start.

=====================  =========================================================
``file:PATH``          a file that others can't read
``env:NAME``           a variable of the environment
``command:ARGUMENTS``  what a program prints, e.g. the client of a secret store
``directory:PATH``     the files ``*.key`` of a folder, e.g. of a Kubernetes secret
=====================  =========================================================

No message shows what was read.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from streams.engine.errors import ConfigError

from .files import read_private

MAKE = "phistream key FILE"
MIN_BYTES = 32
COMMAND_SECONDS = 30.0
FIRST = "first"
"""Stem of the file of a folder's first key, in force from the beginning."""
MOMENT = "%Y%m%dT%H%M%SZ"
"""Stems of the other files: from when on their keys are in force, in UTC."""
DIRECTORY = "directory"

Environment = Mapping[str, str]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_key(path: Path, where: str) -> bytes:
    """Return the secret key that a file holds.

    Args:
        path: A file written by ``phistream key``.
        where: The setting or option, for messages.

    Raises:
        ConfigError: The file is unreadable, others can read it, or the key is too
            short.
    """
    return _checked(read_private(path, where, MAKE), where)


def read_source(source: str, where: str, environment: Environment) -> bytes:
    """Return the secret key of a source that names one.

    Args:
        source: As in the table of this module.
        where: The setting, for messages.
        environment: The process's variables.

    Raises:
        ConfigError: The source is unknown or unreadable, or the key too short.
    """
    kind, _, rest = source.partition(":")
    if kind not in _READERS or not rest:
        known = ", ".join(f"{each}:" for each in (*_READERS, DIRECTORY))
        raise ConfigError(f"{where}: names no source; known: {known}")
    return _checked(_READERS[kind](rest, where, environment), where)


def directory_of(source: str) -> Path | None:
    """Return the folder that a source names, if it is one of a folder."""
    kind, _, rest = source.partition(":")
    return Path(rest).expanduser() if kind == DIRECTORY and rest else None


def read_directory(folder: Path, where: str) -> dict[datetime | None, bytes]:
    """Return the keys of a folder by when they come into force; None for the first.

    Raises:
        ConfigError: A file is unreadable or named otherwise, or there is none.
    """
    found: dict[datetime | None, bytes] = {}
    # Kubernetes mounts symbolic links, next to folders whose names begin with two dots.
    for file in sorted(folder.glob("*.key")):
        try:
            start = None if file.stem == FIRST else _moment(file.stem)
        except ValueError:
            raise ConfigError(
                f"{where}: a file is named neither {FIRST}.key nor like "
                "20261201T000000Z.key; keys rotate names them"
            ) from None
        found[start] = read_key(file, where)
    if not found:
        raise ConfigError(f"{where}: the folder has no file {FIRST}.key")
    return found


def _moment(stem: str) -> datetime:
    return datetime.strptime(stem, MOMENT).replace(tzinfo=UTC)


def _checked(content: bytes, where: str) -> bytes:
    key = content.strip()
    if len(key) < MIN_BYTES:
        raise ConfigError(
            f"{where}: holds less than {MIN_BYTES} bytes; make a key with: {MAKE}"
        )
    return key


def _file(path: str, where: str, _environment: Environment) -> bytes:
    return read_private(Path(path), where, MAKE)


def _variable(name: str, where: str, environment: Environment) -> bytes:
    if not _VARIABLE.fullmatch(name) or name.startswith("PHISTREAM_"):
        raise ConfigError(
            f"{where}: env: needs the name of a variable, not of a setting"
        )
    if name not in environment:
        raise ConfigError(f"{where}: the variable {name} is not set")
    return environment[name].encode("utf-8", "surrogateescape")


def _command(line: str, where: str, _environment: Environment) -> bytes:
    try:
        arguments = shlex.split(line)
        done = subprocess.run(  # noqa: S603  # the operator's own command, no shell
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            # It may show the key.
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=COMMAND_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(
            f"{where}: the command did not end within {COMMAND_SECONDS:.0f} s"
        ) from None
    except (OSError, ValueError, IndexError) as error:
        raise ConfigError(
            f"{where}: the command can't be run ({type(error).__name__})"
        ) from None
    if done.returncode:
        raise ConfigError(f"{where}: the command ended with status {done.returncode}")
    return done.stdout


_READERS: Mapping[str, Callable[[str, str, Environment], bytes]] = {
    "file": _file,
    "env": _variable,
    "command": _command,
}
