"""A recipe: all that a training needs to know but the corpus and the seed, as TOML.

What belongs to one language or one house (cues, lists, how names and dates are
written) stands here, never in code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.tagger.features import FeatureSet, WordLists
from deid_core.toml_files import load_table, name_in, names_in, refuse_unknown

from .augment import Augmentation, Follower, Renaming
from .learners import LEARNERS
from .list_sources import words_of
from .rescoring_options import RescoringOptions
from .value_generators import MAKERS, LocaleData

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    T = TypeVar("T", bound=DataclassInstance)

FOLDER = files(__package__) / "recipes"
_KEYS = (
    "name",
    "language",
    "corpus",
    "learner",
    "options",
    "tags",
    "unlearned",
    "recase",
    "small_letters",
    "learned_as",
    "features",
    "cues",
    "cue_patterns",
    "lists",
    "world",
    "augment",
    "rescoring",
    "least_seen",
    "least_weight",
    "draws",
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is trained.

    Args:
        name: Of the recipe, and of its model.
        language: ISO 639, two letters.
        corpus: Whose conventions the marked corpora follow; None: each its own.
        learner: Name in `LEARNERS`.
        options: The learner's.
        tags: Labels of tags that the corpus's conventions give none.
        features: What the model looks at.
        lists: What it knows of words.
        world: What values of copies are made of, without the corpus's own.
        augment: How copies are made; None for none.
        least_seen: Values of properties that are seen less often make no feature.
        least_weight: Smaller weights are dropped.
        draws: How many times copies are drawn and learned from; the model is the mean.
        rescoring: How the best of the chain's best paths is learned; None for the
            chain's own best.
        unlearned: Tags that rules find better: taken as no identifiers.
        recase: Whether notes in one letter case are learned as they are tagged, with
            their capitals back (`casing.truecased`).
        small_letters: Whether notes are learned in small letters, whatever their case.
        learned_as: If not empty, our labels are learned instead of the corpora's tags,
            so that corpora of several tag sets can be mixed; some as another label.
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
        """Return the recipe of the chains that a rescorer learns from."""
        options, augment = self.options, self.augment
        if self.rescoring and self.rescoring.epochs:
            options = replace(options, epochs=self.rescoring.epochs)
        if self.rescoring and self.rescoring.copies and augment:
            augment = replace(augment, copies=self.rescoring.copies)
        return replace(self, options=options, augment=augment)

    def world_of(self, pools: Mapping[str, Sequence[str]]) -> LocaleData:
        """Return what values are made of, with the corpus's own by tag."""
        return LocaleData(**self.world, language=self.language, pools=pools)


def load_recipe(name: str) -> Recipe:
    """Return the recipe of that name or path.

    Raises:
        ConfigError: It does not exist, or holds what is not known.
    """
    table, where = load_table("recipe", [FOLDER], name)
    refuse_unknown(table, _KEYS, f"{where}: key")
    learner = table.get("learner", "crf")
    refuse_unknown([learner], tuple(LEARNERS), f"{where}: learner")
    lists = {
        each: " ".join(sorted(set[str]().union(*map(words_of, sources))))
        for each, sources in table.get("lists", {}).items()
    }
    words = WordLists(table.get("cues", {}), table.get("cue_patterns", {}), lists)
    return Recipe(
        name=name_in(table, where),
        language=_text(table, "language", where),
        corpus=table.get("corpus"),
        learner=learner,
        options=_checked(LEARNERS[learner].options, table.get("options", {}), where),
        tags={tag: Label(label) for tag, label in table.get("tags", {}).items()},
        features=FeatureSet.read(table.get("features", {})),
        lists=words,
        world=_world(table.get("world", {})),
        augment=_augmentation(table, where),
        least_seen=int(table.get("least_seen", 2)),
        least_weight=float(table.get("least_weight", 0.05)),
        draws=int(table.get("draws", 1)),
        rescoring=_rescoring(table, learner, where),
        unlearned=frozenset(table.get("unlearned", ())),
        recase=bool(table.get("recase", False)),
        small_letters=bool(table.get("small_letters", False)),
        learned_as=_labels(table.get("learned_as", {})),
    )


def known_recipes() -> list[str]:
    """Return the names of the recipes that come with the library."""
    return names_in(FOLDER)


def _augmentation(table: Mapping[str, Any], where: str) -> Augmentation | None:
    if "augment" not in table:
        return None
    inner = dict(table["augment"])
    for key, kind in (("renamings", Renaming), ("followers", Follower)):
        inner[key] = [_checked(kind, each, where) for each in inner.get(key, ())]
    augmentation = _checked(Augmentation, inner, where)
    makers = augmentation.makers.values()
    refuse_unknown(list(makers), tuple(MAKERS), f"{where}: maker")
    return augmentation


def _rescoring(
    table: Mapping[str, Any], learner: str, where: str
) -> RescoringOptions | None:
    if "rescoring" not in table:
        return None
    found = _checked(RescoringOptions, table["rescoring"], where)
    known = [each.name for each in fields(LEARNERS[learner].options)]
    if found.epochs is not None and "epochs" not in known:
        raise ConfigError(f"{where}: rescoring: {learner!r} knows no epochs")
    return found


def _labels(table: Mapping[str, str]) -> Mapping[Label, Label]:
    return {Label(label): Label(other) for label, other in table.items()}


def _world(table: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**table, "locales": tuple(table.get("locales", ()))}


def _checked(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    known = tuple(each.name for each in fields(kind))
    refuse_unknown(list(values), known, f"{where}: {kind.__name__}: key")
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{where}: {place}: {first['msg']}") from None


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{where}: {key} must be a text")
    return value
