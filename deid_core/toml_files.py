"""Read presets and policies; refuse what is not known, and name what is."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from .errors import ConfigError


def load_table(kind: str, folder: str, name: str) -> tuple[dict[str, Any], str]:
    """Return the table of that name or path, and what to call it in messages.

    Args:
        kind: ``preset`` or ``policy``, for messages.
        folder: Where the named ones lie, beside this module.
        name: A name in the folder, or a path that ends in ``.toml``.

    Raises:
        ConfigError: It does not exist, cannot be read, or is not TOML.
    """
    where = f"{kind} {name!r}"
    try:
        table = tomllib.loads(_path(kind, folder, name).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where}: cannot be read: {type(error).__name__}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not TOML: {error}") from None
    return table, where


def names_in(folder: str) -> list[str]:
    """Return the names of the tables in a folder beside this module."""
    found = (each.name for each in (files(__package__) / folder).iterdir())
    return sorted(
        each.removesuffix(".toml") for each in found if each.endswith(".toml")
    )


def name_in(table: Mapping[str, Any], where: str) -> str:
    """Return the table's own name.

    Raises:
        ConfigError: It has none.
    """
    name = table.get("name")
    if not isinstance(name, str) or not name:
        raise ConfigError(f"{where}: name must be a text")
    return name


def summary_in(table: Mapping[str, Any], where: str) -> str:
    """Return what the table says it is, in a line; "" if it does not say.

    Raises:
        ConfigError: It is no text.
    """
    summary = table.get("summary", "")
    if not isinstance(summary, str):
        raise ConfigError(f"{where}: summary must be a text")
    return summary


def refuse_unknown(given: Collection[Any], known: Collection[str], what: str) -> None:
    """Refuse any of the given that is not known, with the list of what is.

    Raises:
        ConfigError: One is unknown.
    """
    for each in given:
        if not isinstance(each, str) or each not in known:
            raise ConfigError(f"{what} {each!r} is unknown; known: {', '.join(known)}")


def _path(kind: str, folder: str, name: str) -> Path | Traversable:
    if name.endswith(".toml"):
        return Path(name)
    refuse_unknown([name], names_in(folder), kind)
    return files(__package__) / folder / f"{name}.toml"
