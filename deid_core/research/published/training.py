"""Train the published systems: from annotated documents and a recipe to a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from deid_core.errors import ConfigError
from deid_core.research.corpora.corpus import GoldDocument
from deid_core.research.training.weights import Progress, no_progress
from deid_core.tagger.codec import TagSpan

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
_READING = 0.3
"""About the share of the work that is reading: the rest is learning."""


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """Options of a training that are not the recipe's.

    Args:
        seed: Of the documents drawn and of the learner.
        language: ISO 639; None is the recipe's.
        without: Feature groups to leave out.
        mesh: A file for `read_mesh`; None is `installed_mesh`.
        documents: Train on at most so many, drawn at random; the recipe may say fewer.
    """

    seed: int = 1
    language: str | None = None
    without: tuple[str, ...] = ()
    mesh: Path | None = None
    documents: int | None = None


def train(
    recipe: Recipe,
    documents: Sequence[GoldDocument],
    options: TrainingOptions,
    progress: Progress = no_progress,
) -> TokenModel:
    """Return the model of a recipe; the same arguments give the same model.

    Args:
        recipe: Of a published system.
        documents: Annotated.
        options: Seed, language and features.
        progress: Called with the share that is done.

    Raises:
        ConfigError: The documents have no annotation that the recipe learns, or a
            feature group needs something that is not installed.
    """
    chosen = _chosen(recipe, documents, options)
    features = recipe.features.without(options.without)
    resources = _resources(recipe, chosen, options)
    extractor = Extractor(features, resources)
    codec = recipe.classes.codec
    names: dict[str, int] = {}
    labels: list[Any] = []

    def read() -> Iterator[list[list[str]]]:
        for number, document in enumerate(chosen):
            progress(_READING * number / len(chosen), "reading")
            spans = list(_spans(recipe, document))
            for sentence in sentences(document.text, TOKENIZERS[recipe.tokenizer]):
                of_words = extractor.names(sentence)
                for name in chain.from_iterable(of_words):
                    names.setdefault(name, len(names))
                labels.append(codec.encode(sentence.places, spans))
                yield of_words

    rows = Rows.of(read(), names)
    if not labels:
        raise ConfigError("the corpora hold no text; check their paths")
    words = TrainingWords(rows, np.concatenate(labels), len(codec.labels))
    learn = WORD_LEARNERS[recipe.learner].load()

    def learning(share: float, step: str) -> None:
        progress(_READING + (1 - _READING) * share, step)

    learning(0.0, recipe.learner)
    return TokenModel(
        recipe.name,
        recipe.tokenizer,
        recipe.classes,
        features,
        resources,
        tuple(names),
        learn(words, recipe.options, options.seed, learning),
        _account(recipe, options, resources.language, len(chosen), len(rows)),
    )


def _chosen(
    recipe: Recipe, documents: Sequence[GoldDocument], options: TrainingOptions
) -> Sequence[GoldDocument]:
    bounds = (recipe.documents, options.documents, len(documents))
    most = min(bound for bound in bounds if bound is not None)
    if most == len(documents):
        return documents
    return Random(options.seed).sample(documents, most)  # noqa: S311 - no secret


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
