"""Recipes of published systems: all that training needs but corpus and seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.options import Options
from deid_core.toml_files import load_table, names_in, refuse_unknown

from ..training import recipe as tagger_recipe
from .classes import Classes
from .extractor import Features
from .learners.of_words import WORD_LEARNERS
from .tokenizers import TOKENIZERS

FOLDER = files(__package__) / "recipes"
KIND = "words"
"""What the key ``kind`` of these says; others are for our tagger."""


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
    """How a published system is trained.

    Args:
        name: Of the system; its preset bears the same.
        learner: Name in `WORD_LEARNERS`.
        options: The learner's.
        tokenizer: Name in `TOKENIZERS`.
        classes: What it tells apart.
        features: What it looks at.
        dictionaries: By name and language, where the entries come from; language
            ``any`` is for all.
        no_words: Dictionaries without what is a word; see `without_words`.
        language: ISO 639; who trains may say another.
        documents: It learns from no more than so many; None for all.
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


def is_of_words(name: str) -> bool:
    """Return whether the recipe of that name or path is one of these.

    Raises:
        ConfigError: There is none, or it can't be read.
    """
    table, _ = load_table("recipe", [FOLDER, tagger_recipe.FOLDER], name)
    return table.get("kind") == KIND


def known_recipes() -> list[str]:
    """Return the names of these recipes that come with the library."""
    return names_in(FOLDER)


def load_recipe(name: str) -> Recipe:
    """Return the recipe of that name or path.

    Raises:
        ConfigError: It does not exist, or holds what is not known.
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
        options=_options(table, where),
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


def _options(table: _Table, where: str) -> object:
    kind = WORD_LEARNERS[table.learner].options
    known = tuple(kind.__dataclass_fields__)
    refuse_unknown(list(table.learning), known, f"{where}: learning: key")
    try:
        options: object = TypeAdapter(kind).validate_python(table.learning)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{where}: learning.{place}: {first['msg']}") from None
    return options


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
