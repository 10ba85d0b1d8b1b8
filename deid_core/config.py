"""Presets and policies: what is detected, and what is written instead.

Both are TOML files, by name in ``presets/`` and ``policies/`` or by the path of a
``.toml`` file.  Whatever is not known is refused, with the list of what is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .detectors import DETECTORS
from .detectors.known.options import KnownOptions
from .errors import ConfigError
from .labels import Label
from .surrogates import STYLES

_PRESET_KEYS = ("name", "detectors", "known")
_POLICY_KEYS = ("name", "default", "labels")


@dataclass(frozen=True, slots=True)
class DeidConfig:
    """A preset: which detectors run, and their options.

    Args:
        name: For audit events.
        detectors: Names in `DETECTORS`, in the order in which they run.
        known: Options of the detector ``known``.
    """

    name: str
    detectors: tuple[str, ...]
    known: KnownOptions = field(default_factory=KnownOptions)


@dataclass(frozen=True, slots=True)
class Policy:
    """Which style is written for which label.

    Args:
        name: For audit events.
        default: Name in `STYLES`, for labels that are not listed.
        labels: The others.
    """

    name: str
    default: str
    labels: Mapping[Label, str] = field(default_factory=dict)

    def style(self, label: Label) -> str:
        """Return the name of the style in which a label is written."""
        return self.labels.get(label, self.default)


def load_preset(name: str) -> DeidConfig:
    """Return the preset of that name or path.

    Raises:
        ConfigError: It does not exist, or holds what is not known.
    """
    table, where = _load("preset", name)
    _refuse_unknown(table, _PRESET_KEYS, f"{where}: key")
    detectors = table.get("detectors")
    if not isinstance(detectors, list) or not detectors:
        raise ConfigError(f"{where}: detectors must be a list of at least one name")
    _refuse_unknown(detectors, DETECTORS, f"{where}: detector")
    if len({*detectors}) < len(detectors):
        raise ConfigError(f"{where}: detectors names one twice")
    for option in {"known"} & table.keys():
        if option not in detectors:
            raise ConfigError(f"{where}: [{option}] but detectors does not name it")
    known = _known_options(table.get("known", {}), where)
    return DeidConfig(_name(table, where), tuple(detectors), known)


def load_policy(name: str) -> Policy:
    """Return the policy of that name or path.

    Raises:
        ConfigError: It does not exist, or holds what is not known.
    """
    table, where = _load("policy", name)
    _refuse_unknown(table, _POLICY_KEYS, f"{where}: key")
    labels = table.get("labels", {})
    if not isinstance(labels, dict):
        raise ConfigError(f"{where}: labels must be a table")
    _refuse_unknown(labels, [label.value for label in Label], f"{where}: label")
    _refuse_unknown([table.get("default")], STYLES, f"{where}: default style")
    _refuse_unknown(labels.values(), STYLES, f"{where}: labels: style")
    styles = {Label(label): style for label, style in labels.items()}
    return Policy(_name(table, where), table["default"], MappingProxyType(styles))


def known_presets() -> list[str]:
    """Return the names of the presets that come with the library."""
    return _names("presets")


def known_policies() -> list[str]:
    """Return the names of the policies that come with the library."""
    return _names("policies")


def _known_options(table: object, where: str) -> KnownOptions:
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: known must be a table")
    _refuse_unknown(
        table, [each.name for each in fields(KnownOptions)], f"{where}: known"
    )
    threshold = table.get("threshold", KnownOptions().threshold)
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise ConfigError(f"{where}: known.threshold must be a number")
    try:
        return KnownOptions(threshold=float(threshold))
    except ValueError as error:
        raise ConfigError(f"{where}: known.{error}") from None


def _load(kind: str, name: str) -> tuple[dict[str, Any], str]:
    where = f"{kind} {name!r}"
    try:
        table = tomllib.loads(_path(kind, name).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where}: cannot be read: {type(error).__name__}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not TOML: {error}") from None
    return table, where


def _path(kind: str, name: str) -> Path | Traversable:
    if name.endswith(".toml"):
        return Path(name)
    folder = {"preset": "presets", "policy": "policies"}[kind]
    _refuse_unknown([name], _names(folder), kind)
    return files(__package__) / folder / f"{name}.toml"


def _names(folder: str) -> list[str]:
    found = (each.name for each in (files(__package__) / folder).iterdir())
    return sorted(
        each.removesuffix(".toml") for each in found if each.endswith(".toml")
    )


def _name(table: Mapping[str, Any], where: str) -> str:
    name = table.get("name")
    if not isinstance(name, str) or not name:
        raise ConfigError(f"{where}: name must be a text")
    return name


def _refuse_unknown(given: Collection[Any], known: Collection[str], what: str) -> None:
    for each in given:
        if not isinstance(each, str) or each not in known:
            raise ConfigError(f"{what} {each!r} is unknown; known: {', '.join(known)}")
