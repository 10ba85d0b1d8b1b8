"""Detectors and presets that other installed packages add, by entry point.

``deid_core.research`` registers the published systems in the same way: nothing of it is
imported before a preset names one of its detectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

DETECTORS = "phistream.detectors"
"""Group of entry points: a detector's name, and its `detectors.DetectorSpec`."""

PRESETS = "phistream.presets"
"""Group of entry points: any name, and a package that holds presets as TOML files."""


@cache
def plugins(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name; nothing is imported."""
    return {each.name: each for each in entry_points(group=group)}
