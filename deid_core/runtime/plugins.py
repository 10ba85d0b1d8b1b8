"""Detectors and presets that other installed packages add, by entry point.

``deid_core.research`` registers the published systems in the same way.  A detector is
imported when a preset names it, and a package of presets when presets are looked up.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from deid_core.errors import ConfigError

DETECTORS = "phistream.detectors"
"""Group of entry points: a detector's name, and its `detectors.DetectorSpec`."""

PRESETS = "phistream.presets"
"""Group of entry points: any name, and a package that holds presets as TOML files."""

# Detectors' names appear in audit events, whose schema has this pattern.
_NAME = re.compile(r"[a-z0-9_-]{1,32}")


@cache
def plugins(group: str, reserved: Collection[str] = ()) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name; nothing is imported.

    Args:
        group: `DETECTORS` or `PRESETS`.
        reserved: Names of the product's own.

    Raises:
        ConfigError: A name is malformed, reserved, or taken twice.
    """
    found: dict[str, EntryPoint] = {}
    for each in entry_points(group=group):
        if not _NAME.fullmatch(each.name):
            problem = "its name must be of small letters, digits, _ and -"
        elif each.name in reserved:
            problem = "phistream has one of that name"
        elif each.name in found:
            problem = f"{package_of(found[each.name])} has one of that name, too"
        else:
            found[each.name] = each
            continue
        what = f"entry point {each.name!r} of {group}, from {package_of(each)}"
        raise ConfigError(f"{what}: {problem}; rename it or uninstall the package")
    return found


def package_of(plugin: EntryPoint) -> str:
    """Return the name of the distribution that an entry point comes from."""
    return f"package {plugin.dist.name!r}" if plugin.dist else "an unknown package"


def failed(what: str, plugin: EntryPoint, problem: str | Exception) -> ConfigError:
    """Return the error of a plugin that cannot be used."""
    if isinstance(problem, Exception):
        problem = f"fails: {type(problem).__name__}: {problem}"
    return ConfigError(
        f"{what}, from {package_of(plugin)}: {problem}; "
        "repair the package or uninstall it"
    )
