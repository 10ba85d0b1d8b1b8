"""The catalog, and the errors of all that is behind it, translated in one place."""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    ValidationException,
)

from streams.engine.errors import ConfigError, RetriableError, StreamError
from streams.engine.exit_status import is_full
from streams.engine.keys.files import is_exposed
from streams.engine.private_files import private_folder

from .settings import LakeSettings

log = logging.getLogger(__name__)

CONFLICTS = (CommitFailedException, CommitStateUnknownException, ValidationException)
"""Exceptions of a commit that failed, or whose outcome is unknown."""


def open_catalog(settings: LakeSettings) -> Catalog:
    """Return the catalog.

    Raises:
        ConfigError: Its properties are wrong, or it does not answer.
    """
    properties = _properties(settings)
    try:
        return load_catalog(settings.catalog, **properties)
    except Exception as error:
        if is_full(error):
            raise
        # The text of the error may show an address with a password.
        names = ", ".join(sorted(properties))
        raise ConfigError(
            f"lake: the catalog can't be opened ({type(error).__name__}); check "
            f"lake.properties ({names}), and which extra of pyiceberg it needs"
        ) from None


def _properties(settings: LakeSettings) -> dict[str, str]:
    properties = dict(settings.properties)
    if settings.properties_file is not None:
        properties |= _from_file(settings.properties_file)
    is_folder = "://" not in settings.warehouse
    folder = Path(settings.warehouse).expanduser().absolute()
    warehouse = folder.as_uri() if is_folder else settings.warehouse
    if "type" not in properties and "uri" not in properties:
        if not is_folder:
            raise ConfigError(
                "lake.properties: type and uri are missing; SQLite is the default for "
                "a warehouse in a folder alone"
            )
        private_folder(folder)
        # A second process waits for the lock in place of failing.
        database = f"sqlite:///{folder / 'catalog.db'}?timeout=30"
        properties |= {"type": "sql", "uri": database}
    return {"warehouse": warehouse, **properties}


def _from_file(path: Path) -> dict[str, str]:
    where = "lake.properties_file"
    try:
        with path.expanduser().open("rb") as file:
            # Of the open file, so that nobody can replace it in between.
            if is_exposed(os.fstat(file.fileno())):
                raise ConfigError(
                    f"{where}: others can read or change the file; run: chmod 600 "
                    f"{path}"
                )
            found = tomllib.loads(file.read().decode())
    except OSError as error:
        raise ConfigError(f"{where}: can't be read ({error.strerror})") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise ConfigError(f"{where}: is not TOML in UTF-8") from None
    for name, value in found.items():
        if not isinstance(value, str):
            raise ConfigError(f'{where}: {name}: must be text; names with dots need ""')
    return found


@contextmanager
def translated(call: str) -> Iterator[None]:
    """Translate errors of catalog and files; conflicts of commits pass.

    Each library behind pyiceberg raises its own, and their texts may show addresses
    with credentials.
    """
    try:
        yield
    except (StreamError, *CONFLICTS):
        raise
    except Exception as error:
        if is_full(error):
            raise
        log.warning("lake: %s", call, exc_info=True)
        raise RetriableError(
            f"lake: {call}: {type(error).__name__}: catalog or files did not answer "
            "as expected"
        ) from None
