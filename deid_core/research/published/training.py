"""Train the published systems: from annotated documents and a recipe to a model."""

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
from .features.dictionaries import dictionary, without_words
from .features.extractor import Extractor
from .features.mesh import installed_mesh, read_mesh
from .features.resources import Resources
from .learners import WORD_LEARNERS
from .model import TokenModel
from .recipe import Recipe
from .rows import Rows, TrainingWords
from .sentences import TOKENIZERS, sentences

_ANY = "any"


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """Options of a training that are not the recipe's.

    Args:
        seed: Of the documents drawn and of the learner.
        language: ISO 639; None is the recipe's.
        without: Feature groups to leave out.
        mesh: A file for `read_mesh`; None is `installed_mesh`.
    """

    seed: int = 1
    language: str | None = None
    without: tuple[str, ...] = ()
    mesh: Path | None = None


def train(
    recipe: Recipe, documents: Sequence[GoldDocument], options: TrainingOptions
) -> TokenModel:
    """Return the model of a recipe; the same arguments give the same model.

    Args:
        recipe: Of a published system.
        documents: Annotated.
        options: Seed, language and features.

    Raises:
        ConfigError: The documents have no annotation that the recipe learns, or a
            feature group needs something that is not installed.
    """
    chosen = _chosen(recipe, documents, options.seed)
    features = recipe.features.without(options.without)
    resources = _resources(recipe, chosen, options)
    extractor = Extractor(features, resources)
    codec = recipe.classes.codec
    names: dict[str, int] = {}
    found: list[list[list[str]]] = []
    labels: list[Any] = []
    for document in chosen:
        spans = list(_spans(recipe, document))
        for sentence in sentences(document.text, TOKENIZERS[recipe.tokenizer]):
            found.append(extractor.names(sentence))
            for name in (name for word in found[-1] for name in word):
                names.setdefault(name, len(names))
            labels.append(codec.encode(sentence.places, spans))
    if not labels:
        raise ConfigError("the corpora hold no text; check their paths")
    rows = Rows.of(found, names)
    words = TrainingWords(rows, np.concatenate(labels), len(codec.labels))
    learn = WORD_LEARNERS[recipe.learner].load()
    return TokenModel(
        recipe.name,
        recipe.tokenizer,
        recipe.classes,
        features,
        resources,
        tuple(names),
        learn(words, recipe.options, options.seed),
        _account(recipe, options, resources.language, len(chosen), len(rows)),
    )


def _chosen(
    recipe: Recipe, documents: Sequence[GoldDocument], seed: int
) -> Sequence[GoldDocument]:
    if recipe.documents is None or len(documents) <= recipe.documents:
        return documents
    return Random(seed).sample(documents, recipe.documents)  # noqa: S311 - no secret


def _resources(
    recipe: Recipe, documents: Sequence[GoldDocument], options: TrainingOptions
) -> Resources:
    language = options.language or recipe.language
    found: dict[str, tuple[str, ...]] = {}
    for name, sources in recipe.dictionaries.items():
        in_language = (*sources.get(_ANY, ()), *sources.get(language, ()))
        if not in_language:
            raise ConfigError(
                f"recipe {recipe.name!r}: dictionary {name!r} has no sources for "
                f"language {language!r}; it has them for: {', '.join(sources)}"
            )
        entries = dictionary(in_language, documents)
        if name in recipe.no_words:
            entries = without_words(entries, documents, language)
        found[name] = entries
    return Resources(language, found, _mesh(recipe, options, language))


def _mesh(recipe: Recipe, options: TrainingOptions, language: str) -> Mapping[str, str]:
    if options.mesh is not None:
        return read_mesh(options.mesh)
    is_used = "mesh" in recipe.features.windows and "mesh" not in options.without
    return installed_mesh(language) if is_used else {}


def _spans(recipe: Recipe, document: GoldDocument) -> Iterable[TagSpan]:
    """Yield the spans of the recipe's classes, the first of any that overlap."""
    end = 0
    for each in document.spans:
        name = recipe.classes.class_of(each.label) if each.label is not None else None
        if name is not None and each.span.start >= end:
            end = each.span.end
            yield TagSpan(each.span.start, end, name)


def _account(
    recipe: Recipe, options: TrainingOptions, language: str, documents: int, words: int
) -> dict[str, Any]:
    return {
        "recipe": recipe.name,
        "learner": recipe.learner,
        "options": asdict(recipe.options),
        "seed": options.seed,
        "language": language,
        "left_out": list(options.without),
        "documents": documents,
        "words": words,
    }
