"""Presets: which detectors run, and with which options.

A TOML file, by name in ``presets/`` or by the path of a ``.toml`` file.  A detector's
options are in a table of its name.  Unknown keys and names are refused; the error lists
the known ones.

A preset that is ``like`` another has all of it but the summary, except the keys and
single options that it sets itself; the lists in its ``[terms]`` are added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from importlib.metadata import EntryPoint
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .detectors import Detector, detector_names, detector_spec
from .detectors.terms import KeptTerms, TermsDetector
from .errors import ConfigError
from .language.identify import known_languages
from .quiet import QuietOptions
from .runtime.options import Options
from .runtime.plugins import PRESETS, failed, plugins
from .runtime.toml_files import (
    load_table,
    name_in,
    names_in,
    path_of,
    refuse_unknown,
    summary_in,
)
from .term_files import NO_FILES, TermFiles

_SWITCHES = ("recasing", "consistency")
_TERMS = "terms"
_QUIET = "quiet"
_LANGUAGES, _OTHERS = "languages", "other_languages"
_KEYS = (
    "name",
    "like",
    "summary",
    "detectors",
    *_SWITCHES,
    _LANGUAGES,
    _OTHERS,
    _QUIET,
    _TERMS,
)

DEFAULT_LANGUAGES = ("en",)
"""What is read where neither a preset nor a caller says so."""


class OtherLanguages(StrEnum):
    """The treatment of a note in a language that a preset does not read."""

    REFUSE = "refuse"
    MARK = "mark"


@dataclass(frozen=True, slots=True)
class DeidConfig:
    """A preset: which detectors run, and their options.

    Args:
        name: For audit events.
        detectors: Names of `detector_names`, in the order in which they run.
        options: By detector, what is not as the detector has it by default.
        recasing: Detectors read a note in one letter case as if in mixed case.
        consistency: What was found once is found in the rest of the note, and in the
            same patient's other notes of a batch.
        summary: What it is, in a line.
        quiet: When doubtful proposals are dropped; None for never.
        terms: The user's own lists of names and terms to remove and to keep.
        languages: Those that it reads (`known_languages`), English unless it says so;
            none: any, unchecked.
        other_languages: What is done with a note that is surely in another language.
    """

    name: str
    detectors: tuple[str, ...]
    options: Mapping[str, Options] = field(default_factory=dict)
    recasing: bool = True
    consistency: bool = True
    summary: str = ""
    quiet: QuietOptions | None = None
    terms: TermFiles = NO_FILES
    languages: tuple[str, ...] = DEFAULT_LANGUAGES
    other_languages: OtherLanguages = OtherLanguages.REFUSE

    @property
    def first_use_seconds(self) -> int:
        """About how long the first use trains a model; 0 if it trains none."""
        return sum(each.first_use_seconds for each in self.options.values())

    def __reduce__(self) -> tuple[type[DeidConfig], tuple[object, ...]]:
        # Mappings that cannot be changed cannot be pickled either.
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return DeidConfig, (*(values | {"options": dict(self.options)}).values(),)

    def build(self) -> list[Detector]:
        """Return the detectors, in their order; last, that of the lists to remove."""
        named = [self._detector(name) for name in self.detectors]
        removed = self.terms.remove
        return [*named, TermsDetector(removed)] if removed else named

    def kept_terms(self) -> KeptTerms | None:
        """Return what drops proposals of terms to keep; None if no list is named."""
        return KeptTerms(self.terms.keep) if self.terms.keep else None

    def _detector(self, name: str) -> Detector:
        spec = detector_spec(name)
        options = self.options.get(name)
        if options is None:
            options = spec.options.read({}, f"preset {self.name!r}: {name}")
        return spec.make(options)


_NO_BASE = DeidConfig("", ())


def load_preset(name: str) -> DeidConfig:
    """Return the preset of that name or path.

    Raises:
        ConfigError: It does not exist, or holds what is not known.
    """
    return _loaded(name, ())


def _loaded(name: str, variations: tuple[str, ...]) -> DeidConfig:
    """Return a preset.

    Args:
        name: Its name or path.
        variations: The presets that are like it.
    """
    if not name.endswith(".toml"):
        _refuse_unknown_preset(name)
    known = detector_names()
    folders = _folders()
    path = path_of("preset", folders, name)
    table, where = load_table("preset", folders, name)
    refuse_unknown(table, (*_KEYS, *known), f"{where}: key")
    base = _base(table, where, (*variations, name))
    detectors = table.get("detectors", [*base.detectors])
    if not isinstance(detectors, list) or not detectors:
        raise ConfigError(f"{where}: detectors must be a list of at least one name")
    refuse_unknown(detectors, known, f"{where}: detector")
    if len({*detectors}) < len(detectors):
        raise ConfigError(f"{where}: detectors names one twice")
    tables = {key: value for key, value in table.items() if key in known}
    for detector, values in tables.items():
        if detector not in detectors:
            raise ConfigError(f"{where}: [{detector}] but detectors does not name it")
        if not isinstance(values, dict):
            raise ConfigError(f"{where}: {detector} must be a table")
    options = {
        detector: _options(detector, tables.get(detector, {}), base, where)
        for detector in detectors
        if detector in tables or detector in base.options
    }
    return DeidConfig(
        name_in(table, where),
        tuple(detectors),
        MappingProxyType(options),
        **{key: _switch(table, key, where, base) for key in _SWITCHES},
        summary=summary_in(table, where),
        quiet=_quiet(table, base, where),
        terms=base.terms | _terms(table, where).below(Path(str(path)).parent),
        languages=_languages(table, base, where),
        other_languages=_other_languages(table, base, where),
    )


def _base(
    table: Mapping[str, object], where: str, variations: tuple[str, ...]
) -> DeidConfig:
    """Return the preset that a table is ``like``; an empty one if it is like none."""
    name = table.get("like")
    if name is None:
        return _NO_BASE
    # A path would be relative to nothing that the file can know.
    if not isinstance(name, str) or name.endswith(".toml"):
        raise ConfigError(f"{where}: like must be the name of a preset")
    if name in variations:
        raise ConfigError(f"{where}: like {name!r}, which is like it")
    return _loaded(name, variations)


def _options(
    detector: str, values: Mapping[str, Any], base: DeidConfig, where: str
) -> Options:
    inherited = base.options.get(detector)
    kept = {} if inherited is None else inherited.model_dump(exclude_unset=True)
    options = detector_spec(detector).options
    return options.read({**kept, **values}, f"{where}: {detector}")


def _quiet(
    table: Mapping[str, object], base: DeidConfig, where: str
) -> QuietOptions | None:
    values = table.get(_QUIET)
    if values is None:
        return base.quiet
    if not isinstance(values, dict):
        raise ConfigError(f"{where}: {_QUIET} must be a table")
    kept = {} if base.quiet is None else base.quiet.model_dump(exclude_unset=True)
    return QuietOptions.read({**kept, **values}, f"{where}: {_QUIET}")


def _terms(table: Mapping[str, object], where: str) -> TermFiles:
    values = table.get(_TERMS, {})
    if not isinstance(values, dict):
        raise ConfigError(f"{where}: {_TERMS} must be a table")
    return TermFiles.read(values, f"{where}: {_TERMS}")


def _languages(
    table: Mapping[str, object], base: DeidConfig, where: str
) -> tuple[str, ...]:
    values = table.get(_LANGUAGES, [*base.languages])
    if not isinstance(values, list):
        raise ConfigError(f"{where}: {_LANGUAGES} must be a list")
    refuse_unknown(values, known_languages(), f"{where}: {_LANGUAGES}: language")
    return tuple(values)


def _other_languages(
    table: Mapping[str, object], base: DeidConfig, where: str
) -> OtherLanguages:
    value = table.get(_OTHERS, base.other_languages)
    refuse_unknown([value], [*OtherLanguages], f"{where}: {_OTHERS}")
    return OtherLanguages(str(value))


def _refuse_unknown_preset(name: str) -> None:
    known = known_presets()
    if name in known:
        return
    raise ConfigError(f"preset {name!r} is unknown; known: {', '.join(known)}")


def _switch(
    table: Mapping[str, object], key: str, where: str, base: DeidConfig
) -> bool:
    value = table.get(key, getattr(base, key))
    if not isinstance(value, bool):
        raise ConfigError(f"{where}: {key} must be true or false")
    return value


def known_presets() -> list[str]:
    """Return the names of the library's presets and of those other packages add."""
    return names_in(*_folders())


def _folders() -> list[Traversable]:
    """Return where named presets are: ours, then those of entry points."""
    return [files(__package__) / "presets", *map(_folder, plugins(PRESETS).values())]


def _folder(plugin: EntryPoint) -> Traversable:
    try:
        return files(plugin.value)
    except Exception as error:
        raise failed(f"presets {plugin.name!r}", plugin, error) from None
