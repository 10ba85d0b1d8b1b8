"""Read presets and policies; refuse what is not known, and name what is."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from deid_core.errors import ConfigError


def load_table(
    kind: str, folders: Sequence[Traversable], name: str
) -> tuple[dict[str, Any], str]:
    """Return the table of that name or path, and what to call it in messages.

    Args:
        kind: ``preset`` or ``policy``, for messages.
        folders: Where the named ones are.
        name: A name in a folder, or a path that ends in ``.toml``.

    Raises:
        ConfigError: It does not exist, cannot be read, or is not TOML.
    """
    where = f"{kind} {name!r}"
    try:
        table = tomllib.loads(path_of(kind, folders, name).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where}: cannot be read: {type(error).__name__}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not TOML: {error}") from None
    return table, where


@cache
def table_of(package: str, name: str) -> dict[str, Any]:
    """Return the table ``<name>.toml`` of a package, read once: do not change it."""
    return tomllib.loads((files(package) / f"{name}.toml").read_text("utf-8"))


def names_in(*folders: Traversable) -> list[str]:
    """Return the names of the tables in folders, sorted."""
    found = {each.name for folder in folders for each in folder.iterdir()}
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


def path_of(kind: str, folders: Sequence[Traversable], name: str) -> Path | Traversable:
    """Return the file of that name or path; see `load_table`.

    Raises:
        ConfigError: The name is unknown, or in several folders.
    """
    if name.endswith(".toml"):
        return Path(name)
    refuse_unknown([name], names_in(*folders), kind)
    named = [folder / f"{name}.toml" for folder in folders]
    first, *others = (each for each in named if each.is_file())
    if others:
        problem = f"{first} and {others[0]} have that name; rename one"
        raise ConfigError(f"{kind} {name!r}: {problem}")
    return first
