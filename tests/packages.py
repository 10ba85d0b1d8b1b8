"""Packages of data that the tables of a build.py are made from."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module, metadata
from types import ModuleType

import pytest


def build_from(name: str, versions: Mapping[str, str]) -> ModuleType:
    """Return a build.py, or skip: a package is absent, or of another version.

    Args:
        name: The module.
        versions: Those that the tables were made from.
    """
    for package, version in versions.items():
        try:
            installed = metadata.version(package)
        except metadata.PackageNotFoundError:
            pytest.skip(f"{package} is not installed (extra build)")
        if installed != version:
            pytest.skip(f"the tables are from {package} {version}, not {installed}")
    return import_module(name)
