"""From marked documents and a recipe of a published system to its model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from deid_core.errors import ConfigError
from deid_core.tagger.codec import TagSpan

from ..corpora.corpus import GoldDocument
from .dictionaries import dictionary, without_words
from .extractor import Extractor
from .learners.of_words import WORD_LEARNERS
from .learners.support import Marked
from .model import TokenModel
from .recipe import Recipe
from .resources import Resources, read_mesh
from .rows import Rows
from .sentences import sentences
from .tokenizers import TOKENIZERS
from .vocabulary import installed_vocabulary

_ANY = "any"


@dataclass(frozen=True, slots=True)
class Setting:
    """What who trains may say beside the recipe.

    Args:
        seed: Of the documents drawn and of the learner.
        language: ISO 639; None is the recipe's.
        without: Feature groups to leave out, because what they need is not at hand,
            or to see what they give.
        mesh: A medical vocabulary, see `read_mesh`; without one, what packages hold
            of MeSH in the language, see `vocabulary`.
    """

    seed: int = 1
    language: str | None = None
    without: tuple[str, ...] = ()
    mesh: Path | None = None


def train(
    recipe: Recipe, documents: Sequence[GoldDocument], setting: Setting
) -> TokenModel:
    """Return the model of a recipe; the same arguments give the same model.

    Args:
        recipe: How.
        documents: Marked.
        setting: See there.

    Raises:
        ConfigError: The documents mark nothing that the recipe learns, or a feature
            group needs what is not there.
    """
    chosen = _chosen(recipe, documents, setting.seed)
    features = recipe.features.without(setting.without)
    resources = _resources(recipe, chosen, setting)
    extractor = Extractor(features, resources)
    codec = recipe.classes.codec
    names: dict[str, int] = {}
    found: list[list[list[str]]] = []
    labels: list[Any] = []
    for document in chosen:
        spans = list(_spans(recipe, document))
        for sentence in sentences(document.text, TOKENIZERS[recipe.tokenizer]):
            words = extractor.names(sentence)
            for name in (name for each in words for name in each):
                names.setdefault(name, len(names))
            found.append(words)
            labels.append(codec.encode(sentence.places, spans))
    if not labels:
        raise ConfigError("the corpora hold no text; check their paths")
    rows = Rows.of(found, names)
    marked = Marked(rows, np.concatenate(labels), len(codec.labels), tuple(names))
    learn = WORD_LEARNERS[recipe.learner].make()
    return TokenModel(
        recipe.name,
        recipe.tokenizer,
        recipe.classes,
        features,
        resources,
        tuple(names),
        learn(marked, recipe.options, setting.seed),
        _account(recipe, setting, resources.language, len(chosen), len(rows)),
    )


def _chosen(
    recipe: Recipe, documents: Sequence[GoldDocument], seed: int
) -> Sequence[GoldDocument]:
    if recipe.documents is None or len(documents) <= recipe.documents:
        return documents
    # Which documents are drawn is no secret.
    return Random(seed).sample(documents, recipe.documents)  # noqa: S311


def _resources(
    recipe: Recipe, documents: Sequence[GoldDocument], setting: Setting
) -> Resources:
    language = setting.language or recipe.language
    found: dict[str, tuple[str, ...]] = {}
    for name, sources in recipe.dictionaries.items():
        spoken = (*sources.get(_ANY, ()), *sources.get(language, ()))
        if not spoken:
            raise ConfigError(
                f"recipe {recipe.name!r}: dictionary {name!r} has no sources for "
                f"language {language!r}; it has them for: {', '.join(sources)}"
            )
        entries = dictionary(spoken, documents)
        if name in recipe.no_words:
            entries = without_words(entries, documents, language)
        found[name] = entries
    return Resources(language, found, _mesh(recipe, setting, language))


def _mesh(recipe: Recipe, setting: Setting, language: str) -> Mapping[str, str]:
    if setting.mesh is not None:
        return read_mesh(setting.mesh)
    is_asked = "mesh" in recipe.features.windows and "mesh" not in setting.without
    return installed_vocabulary(language) if is_asked else {}


def _spans(recipe: Recipe, document: GoldDocument) -> Iterable[TagSpan]:
    """Yield the spans of the recipe's classes; where two overlap, the first."""
    end = 0
    for each in document.spans:
        name = recipe.classes.class_of(each.label) if each.label is not None else None
        if name is not None and each.span.start >= end:
            end = each.span.end
            yield TagSpan(each.span.start, end, name)


def _account(
    recipe: Recipe, setting: Setting, language: str, documents: int, words: int
) -> dict[str, Any]:
    return {
        "recipe": recipe.name,
        "learner": recipe.learner,
        "options": asdict(recipe.options),
        "seed": setting.seed,
        "language": language,
        "left_out": list(setting.without),
        "documents": documents,
        "words": words,
    }
