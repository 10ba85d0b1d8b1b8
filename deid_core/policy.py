"""Policies: what is written instead of PHI, as data.

A TOML file, by name in ``policies/`` or by the path of a ``.toml`` file.  Unknown
keys and names are refused; the error lists the known ones.

    name = "ours"
    default = "tag"                       # for labels that are not listed
    dates = "year"                        # the style of DATE; or under [labels]

    [labels]
    "AGE" = "generalise"

    [note_type."11506-3".labels]          # progress notes (LOINC)
    "NAME:DOCTOR" = "surrogate"

    [options]                             # see SurrogateOptions
    keep_weekday = true

A consumer gets the policy that the settings of its feed name: one scrubber, with its
group, writes for one audience.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from .errors import ConfigError
from .labels import Label
from .runtime.toml_files import load_table, name_in, names_in, refuse_unknown
from .surrogates import STYLES
from .surrogates.options import SurrogateOptions

FOLDER = files(__package__) / "policies"
_KEYS = ("name", "default", "dates", "labels", "note_type", "options")
_KEYS_OF_NOTE_TYPE = ("default", "dates", "labels")


@dataclass(frozen=True, slots=True)
class Policy:
    """The style in which each label is written.

    Args:
        name: For audit events.
        default: Name in `STYLES`, for labels that are not listed.
        labels: The others.
        note_types: For notes of a type, every label's style.
        options: How surrogates are made.
    """

    name: str
    default: str
    labels: Mapping[Label, str] = field(default_factory=dict)
    note_types: Mapping[str, Mapping[Label, str]] = field(default_factory=dict)
    options: SurrogateOptions = field(default_factory=SurrogateOptions)

    def style(self, label: Label, note_type: str = "") -> str:
        """Return the name of the style in which a label is written."""
        special = self.note_types.get(note_type)
        if special is not None:
            return special[label]
        return self.labels.get(label, self.default)

    def __reduce__(self) -> tuple[type[Policy], tuple[object, ...]]:
        # Mappings that cannot be changed cannot be pickled either.
        note_types = {name: dict(each) for name, each in self.note_types.items()}
        labels = dict(self.labels)
        return Policy, (self.name, self.default, labels, note_types, self.options)

    @property
    def styles(self) -> frozenset[str]:
        """The names of all styles that the policy may write."""
        types = ("", *self.note_types)
        return frozenset(self.style(label, each) for label in Label for each in types)


def load_policy(name: str) -> Policy:
    """Return the policy of that name or path.

    Raises:
        ConfigError: It does not exist, or holds what is not known.
    """
    table, where = load_table("policy", [FOLDER], name)
    refuse_unknown(table, _KEYS, f"{where}: key")
    refuse_unknown([table.get("default")], STYLES, f"{where}: default style")
    labels = _labels(table, where)
    note_types = _note_types(table, labels, where)
    options = SurrogateOptions.read(
        _table(table, "options", where), f"{where}: options"
    )
    policy = Policy(
        name_in(table, where),
        table["default"],
        MappingProxyType(labels),
        MappingProxyType(note_types),
        options,
    )
    for note_type in ("", *note_types):
        for label in Label:
            _refuse_unfit(policy.style(label, note_type), label, where)
    return policy


def known_policies() -> list[str]:
    """Return the names of the policies that come with the library."""
    return names_in(FOLDER)


def _labels(table: Mapping[str, Any], where: str) -> dict[Label, str]:
    labels = _table(table, "labels", where)
    refuse_unknown(labels, [label.value for label in Label], f"{where}: label")
    refuse_unknown(labels.values(), STYLES, f"{where}: labels: style")
    styles = {Label(label): style for label, style in labels.items()}
    if "dates" in table:
        if Label.DATE in styles:
            raise ConfigError(f"{where}: set either dates or DATE under labels")
        refuse_unknown([table["dates"]], STYLES, f"{where}: dates: style")
        styles[Label.DATE] = table["dates"]
    return styles


def _note_types(
    table: Mapping[str, Any], labels: Mapping[Label, str], where: str
) -> dict[str, Mapping[Label, str]]:
    note_types: dict[str, Mapping[Label, str]] = {}
    for name, special in _table(table, "note_type", where).items():
        place = f"{where}: note_type {name!r}"
        if not name or not isinstance(special, dict):
            raise ConfigError(f"{place}: must be a code and a table")
        refuse_unknown(special, _KEYS_OF_NOTE_TYPE, f"{place}: key")
        default = special.get("default", table["default"])
        refuse_unknown([default], STYLES, f"{place}: default style")
        # A default of its own applies to all labels that it does not list.
        base = {} if "default" in special else labels
        own = {**base, **_labels(special, place)}
        note_types[name] = MappingProxyType(
            {label: own.get(label, default) for label in Label}
        )
    return note_types


def _refuse_unfit(style: str, label: Label, where: str) -> None:
    if label not in STYLES[style].labels:
        fit = ", ".join(name for name in STYLES if label in STYLES[name].labels)
        raise ConfigError(
            f"{where}: style {style!r} is not for {label.value}; those are: {fit}"
        )


def _table(table: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{where}: {key} must be a table")
    return found
