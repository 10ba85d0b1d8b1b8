"""Recipes of the published systems: their training, except corpus and seed, as TOML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field

from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.research.training import recipe as tagger_recipe
from deid_core.research.training.recipe import checked
from deid_core.runtime.options import Options
from deid_core.runtime.toml_files import load_table, names_in, refuse_unknown

from .classes import Classes
from .features.extractor import Features
from .learners import WORD_LEARNERS
from .sentences import TOKENIZERS

FOLDER = files(__package__) / "recipes"
KIND = "words"
"""The value of their key ``kind``; recipes of our own tagger have none."""
PRESET_FILE = "preset.toml"
_FIRST_USE = re.compile(r"^training_.*\n", re.MULTILINE)
"""The options of a preset that say nothing to one that names a model."""


class _Table(Options):
    """The keys of a recipe's file."""

    name: str
    kind: str
    learner: str
    tokenizer: str
    scheme: str
    language: str = "en"
    documents: int | None = Field(default=None, gt=0)
    learning: dict[str, Any] = Field(default_factory=dict)
    features: dict[str, list[int]]
    classes: dict[str, list[str]]
    dictionaries: dict[str, dict[str, list[str]]] = Field(default_factory=dict)
    no_words: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The recipe by which a published system is trained.

    Args:
        name: The name of the system and of its preset.
        learner: Name in `WORD_LEARNERS`.
        options: The learner's options.
        tokenizer: Name in `TOKENIZERS`.
        classes: The classes that it distinguishes.
        features: The features of words.
        dictionaries: Sources of entries by dictionary and language; language ``any`` is
            for all.
        no_words: Dictionaries without ordinary words; see `without_words`.
        language: Default language, ISO 639.
        documents: It is trained on at most so many, drawn at random; None for all.
    """

    name: str
    learner: str
    options: Any
    tokenizer: str
    classes: Classes
    features: Features
    dictionaries: Mapping[str, Mapping[str, tuple[str, ...]]] = field(repr=False)
    no_words: tuple[str, ...]
    language: str
    documents: int | None


def is_published(name: str) -> bool:
    """Return whether the recipe of that name or path is a published system's.

    Raises:
        ConfigError: There is none, or it cannot be read.
    """
    table, _ = load_table("recipe", [FOLDER, tagger_recipe.FOLDER], name)
    return table.get("kind") == KIND


def known_recipes() -> list[str]:
    """Return the names of the published systems' recipes in the library."""
    return names_in(FOLDER)


def load_recipe(name: str) -> Recipe:
    """Return the recipe of that name or path.

    Raises:
        ConfigError: It does not exist, or holds an unknown key or value.
    """
    values, where = load_table("recipe", [FOLDER], name)
    if values.get("kind") != KIND:
        known = ", ".join(known_recipes())
        raise ConfigError(f"{where}: no recipe of kind {KIND!r}; those are: {known}")
    table = _Table.read(values, where)
    refuse_unknown([table.learner], tuple(WORD_LEARNERS), f"{where}: learner")
    refuse_unknown([table.tokenizer], tuple(TOKENIZERS), f"{where}: tokenizer")
    refuse_unknown(table.no_words, tuple(table.dictionaries), f"{where}: no_words")
    return Recipe(
        name=table.name,
        learner=table.learner,
        options=checked(
            WORD_LEARNERS[table.learner].options, table.learning, f"{where}: learning"
        ),
        tokenizer=table.tokenizer,
        classes=Classes(table.scheme, _labels(table, where)),
        features=Features(_windows(table, where)),
        dictionaries={
            name: {language: tuple(each) for language, each in sources.items()}
            for name, sources in table.dictionaries.items()
        },
        no_words=tuple(table.no_words),
        language=table.language,
        documents=table.documents,
    )


def _labels(table: _Table, where: str) -> dict[str, tuple[Label, ...]]:
    known = [label.value for label in Label]
    for labels in table.classes.values():
        refuse_unknown(labels, known, f"{where}: classes: label")
    return {name: tuple(map(Label, each)) for name, each in table.classes.items()}


def _windows(table: _Table, where: str) -> dict[str, tuple[int, int]]:
    for name, window in table.features.items():
        if len(window) != 2:
            raise ConfigError(f"{where}: features: {name}: not [first, last]")
    return {name: (first, last) for name, (first, last) in table.features.items()}


def write_preset(recipe: str, folder: Path) -> Path | None:
    """Write the preset of a trained system into its model's folder; return its path.

    It is the library's preset with the folder as its model.  Return None if the library
    has no preset of the recipe's name.
    """
    preset = files(__package__) / "presets" / f"{recipe}.toml"
    if not preset.is_file():
        return None
    text = _FIRST_USE.sub("", preset.read_text("utf-8"))
    path = str(folder.resolve()).replace("\\", "\\\\").replace('"', '\\"')
    line = f'recipe = "{recipe}"\n'
    target = folder / PRESET_FILE
    target.write_text(text.replace(line, f'{line}model = "{path}"\n'), "utf-8")
    return target
