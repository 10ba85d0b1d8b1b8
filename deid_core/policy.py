"""Policies: what is written instead of PHI, as data.

A TOML file, by name in ``policies/`` or by the path of a ``.toml`` file.  Whatever is
not known is refused, with the list of what is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .errors import ConfigError
from .labels import Label
from .surrogates import STYLES
from .toml_files import load_table, name_in, names_in, refuse_unknown

_KEYS = ("name", "default", "labels")


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


def load_policy(name: str) -> Policy:
    """Return the policy of that name or path.

    Raises:
        ConfigError: It does not exist, or holds what is not known.
    """
    table, where = load_table("policy", "policies", name)
    refuse_unknown(table, _KEYS, f"{where}: key")
    labels = table.get("labels", {})
    if not isinstance(labels, dict):
        raise ConfigError(f"{where}: labels must be a table")
    refuse_unknown(labels, [label.value for label in Label], f"{where}: label")
    refuse_unknown([table.get("default")], STYLES, f"{where}: default style")
    refuse_unknown(labels.values(), STYLES, f"{where}: labels: style")
    styles = {Label(label): style for label, style in labels.items()}
    return Policy(name_in(table, where), table["default"], MappingProxyType(styles))


def known_policies() -> list[str]:
    """Return the names of the policies that come with the library."""
    return names_in("policies")
