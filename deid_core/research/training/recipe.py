"""Recipes of our tagger: its training, except corpus and seed, as TOML.

Whatever belongs to one language or one institution (cues, lists, formats of names and
dates) is in a recipe, never in code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.runtime.options import Options
from deid_core.runtime.toml_files import load_table, names_in, refuse_unknown
from deid_core.tagger.features import FeatureSet, WordLists

from .augment import Augmentation, Follower, Renaming
from .learners import LEARNERS
from .list_sources import words_of
from .rescorer_learning import RescoringOptions
from .value_generators import MAKERS, LocaleData

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    T = TypeVar("T", bound=DataclassInstance)

FOLDER = files(__package__) / "recipes"


_Label = Annotated[Label, Field(strict=False)]


class _Table(Options):
    """The keys of a recipe's file."""

    name: str = Field(min_length=1)
    language: str = Field(min_length=1)
    corpus: str | None = None
    learner: str = "crf"
    options: dict[str, Any] = Field(default_factory=dict)
    tags: dict[str, _Label] = Field(default_factory=dict)
    unlearned: list[str] = Field(default_factory=list)
    recase: bool = False
    small_letters: bool = False
    learned_as: dict[_Label, _Label] = Field(default_factory=dict)
    features: dict[str, Any] = Field(default_factory=dict)
    cues: dict[str, str] = Field(default_factory=dict)
    cue_patterns: dict[str, str] = Field(default_factory=dict)
    lists: dict[str, list[str]] = Field(default_factory=dict)
    world: dict[str, Any] = Field(default_factory=dict)
    augment: dict[str, Any] | None = None
    rescoring: dict[str, Any] | None = None
    least_seen: int = 2
    least_weight: float = 0.05
    draws: int = 1


@dataclass(frozen=True, slots=True)
class Recipe:
    """The recipe by which a model is trained.

    Args:
        name: The name of the recipe and of its model.
        language: ISO 639, two letters.
        corpus: The conventions of the training corpora; None: each has its own.
        learner: Name in `LEARNERS`.
        options: The learner's options.
        tags: Labels of tags to which the conventions of the corpus give none.
        features: The features of words.
        lists: Word lists and cues.
        world: The sources of values in copies, except the corpus itself.
        augment: How copies are made; None for no copies.
        least_seen: Less frequent values of properties are no features.
        least_weight: Smaller weights are dropped.
        draws: Number of models, each with other copies; the result is their mean.
        rescoring: How the choice among the best paths is learned; None for the best
            path of the chain.
        unlearned: Tags that rules find better; they are learned as no identifiers.
        recase: Whether training notes in one letter case are truecased.
        small_letters: Whether all training notes are in lower case.
        learned_as: If not empty, our labels are learned instead of the corpora's tags,
            so that corpora with different tag sets can be mixed; the labels in it are
            learned as other labels.
    """

    name: str
    language: str
    corpus: str | None
    learner: str
    options: Any
    tags: Mapping[str, Label]
    features: FeatureSet
    lists: WordLists = field(repr=False)
    world: Mapping[str, Any] = field(repr=False)
    augment: Augmentation | None
    least_seen: int = 2
    least_weight: float = 0.05
    draws: int = 1
    rescoring: RescoringOptions | None = None
    unlearned: frozenset[str] = frozenset()
    recase: bool = False
    small_letters: bool = False
    learned_as: Mapping[Label, Label] = field(default_factory=dict)

    def of_parts(self) -> Recipe:
        """Return the recipe of the chains whose paths a rescorer learns from."""
        options, augment = self.options, self.augment
        if self.rescoring and self.rescoring.epochs:
            options = replace(options, epochs=self.rescoring.epochs)
        if self.rescoring and self.rescoring.copies and augment:
            augment = replace(augment, copies=self.rescoring.copies)
        return replace(self, options=options, augment=augment)

    def world_of(self, pools: Mapping[str, Sequence[str]]) -> LocaleData:
        """Return the sources of values, with those of the corpus by tag."""
        return LocaleData(**self.world, language=self.language, pools=pools)


def load_recipe(name: str) -> Recipe:
    """Return the recipe of that name or path.

    Raises:
        ConfigError: It does not exist, or holds an unknown key or value.
    """
    values, where = load_table("recipe", [FOLDER], name)
    table = _Table.read(values, where)
    refuse_unknown([table.learner], tuple(LEARNERS), f"{where}: learner")
    options = LEARNERS[table.learner].options
    lists = {
        each: " ".join(sorted(set[str]().union(*map(words_of, sources))))
        for each, sources in table.lists.items()
    }
    return Recipe(
        name=table.name,
        language=table.language,
        corpus=table.corpus,
        learner=table.learner,
        options=checked(options, table.options, f"{where}: options"),
        tags=table.tags,
        features=FeatureSet.read(table.features),
        lists=WordLists(table.cues, table.cue_patterns, lists),
        world={**table.world, "locales": tuple(table.world.get("locales", ()))},
        augment=_augmentation(table, where),
        least_seen=table.least_seen,
        least_weight=table.least_weight,
        draws=table.draws,
        rescoring=_rescoring(table, where),
        unlearned=frozenset(table.unlearned),
        recase=table.recase,
        small_letters=table.small_letters,
        learned_as=table.learned_as,
    )


def known_recipes() -> list[str]:
    """Return the names of the recipes in the library."""
    return names_in(FOLDER)


def _augmentation(table: _Table, where: str) -> Augmentation | None:
    if table.augment is None:
        return None
    values = dict(table.augment)
    for key, kind in (("renamings", Renaming), ("followers", Follower)):
        values[key] = [
            checked(kind, each, f"{where}: augment.{key}")
            for each in values.get(key, ())
        ]
    augmentation = checked(Augmentation, values, f"{where}: augment")
    makers = augmentation.makers.values()
    refuse_unknown(list(makers), tuple(MAKERS), f"{where}: maker")
    return augmentation


def _rescoring(table: _Table, where: str) -> RescoringOptions | None:
    if table.rescoring is None:
        return None
    found = checked(RescoringOptions, table.rescoring, f"{where}: rescoring")
    known = [each.name for each in fields(LEARNERS[table.learner].options)]
    if found.epochs is not None and "epochs" not in known:
        raise ConfigError(f"{where}: rescoring: {table.learner!r} has no epochs")
    return found


def checked(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    """Return the options that a table holds.

    Raises:
        ConfigError: A key is unknown or a value is wrong; names the key.
    """
    known = tuple(each.name for each in fields(kind))
    refuse_unknown(list(values), known, f"{where}: key")
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{where}.{place}: {first['msg']}") from None
