"""The published systems, trained and asked as users do: by model files and preset."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deid_core.config import DeidConfig, load_preset
from deid_core.detectors import Detector
from deid_core.document import Annotation, Document
from deid_core.errors import ConfigError
from deid_core.merge import merge
from deid_core.pipeline import Deidentifier
from deid_core.policy import load_policy
from deid_core.research.corpora.corpus import GoldDocument, Prediction
from deid_core.research.published.classifier import ClassifierOptions
from deid_core.research.published.link_grammar import links_of
from deid_core.research.published.model_files import save_model
from deid_core.research.published.preset import FILE, write_preset
from deid_core.research.published.recipe import Recipe, load_recipe
from deid_core.research.published.training import Setting, train
from deid_core.research.published.vocabulary import has_vocabulary

from .splits import Split

BATCH = 64


@dataclass(frozen=True, slots=True)
class Variant:
    """A published system, changed for a question.

    Args:
        recipe: Its name.
        without: Feature groups left out.
        only: When given, all other feature groups are left out.
        tokenizer: Instead of the recipe's.
        learning: Learner's options instead of the recipe's, as pairs.
        seed: Of documents drawn and learner.
    """

    recipe: str
    without: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    tokenizer: str = ""
    learning: tuple[tuple[str, Any], ...] = ()
    seed: int = 1

    def changed(self) -> Recipe:
        """Return the recipe with what is changed but for the features."""
        recipe = load_recipe(self.recipe)
        return replace(
            recipe,
            options=replace(recipe.options, **dict(self.learning)),
            tokenizer=self.tokenizer or recipe.tokenizer,
        )

    def left_out(self, absent: Sequence[str]) -> tuple[str, ...]:
        """Return the feature groups to leave out.

        Args:
            absent: Those that need what is not at hand.
        """
        groups = load_recipe(self.recipe).features.windows
        others = [each for each in groups if self.only and each not in self.only]
        return tuple(sorted({*self.without, *others, *absent}))


@dataclass(frozen=True, slots=True)
class Said:
    """What a system said of the scored documents.

    Args:
        predictions: One a document, in order.
        tag_s: Seconds of the processor for all documents, of all its threads.
        train_s: Likewise; 0 where the model was already there.
    """

    predictions: tuple[Prediction, ...]
    tag_s: float
    train_s: float = 0.0


def absent(recipe: str, language: str, mesh: Path | None) -> tuple[str, ...]:
    """Return the recipe's feature groups that need what is not at hand."""
    groups = load_recipe(recipe).features.windows
    has_mesh = mesh is not None or has_vocabulary(language)
    found = ["mesh"] if "mesh" in groups and not has_mesh else []
    if "syntactic_bigrams" in groups:
        try:
            links_of(("a",), language)
        except ConfigError:
            found.append("syntactic_bigrams")
    return tuple(found)


def trained(
    variant: Variant, split: Split, folder: Path, mesh: Path | None
) -> tuple[Path, float]:
    """Return the preset of a system trained on a split, and the processor's seconds.

    Args:
        folder: Where models are kept; one that is there already is taken.
        mesh: See `read_mesh`.
    """
    without = variant.left_out(absent(variant.recipe, split.language, mesh))
    used = None if "mesh" in without else mesh
    parts = (variant, without, fingerprint(split.learn), split.language)
    name = digest(*parts, *(() if used is None else (used,)))
    place = folder / f"{variant.recipe}-{name}"
    if (place / FILE).exists():
        return place / FILE, 0.0
    setting = Setting(variant.seed, split.language, without, used)
    start = time.process_time()
    model = train(variant.changed(), split.learn, setting)
    seconds = time.process_time() - start
    with TemporaryDirectory(dir=folder) as made:
        save_model(model, Path(made))
        # Whole or not at all: a run that was stopped leaves nothing half made.
        (Path(made)).rename(place)
        Path(made).mkdir()
    write_preset(variant.recipe, place)
    return place / FILE, seconds


def classifier_says(
    preset: Path, documents: Sequence[GoldDocument], options: Mapping[str, Any]
) -> Said:
    """Return what a trained system alone proposes, merged: no echoes.

    Args:
        preset: As `trained` gives it.
        documents: What is asked.
        options: Of its detector, instead of the preset's.
    """
    config = load_preset(str(preset))
    found = config.options["classifier"].model_dump() | dict(options)
    changed = {"classifier": ClassifierOptions.model_validate(found)}
    return proposed(replace(config, options=changed).build(), documents)


def preset_says(preset: str, documents: Sequence[GoldDocument]) -> Said:
    """Return what a whole preset of the library's own replaces, echoes and all."""
    return pipeline_says(load_preset(preset), documents)


def pipeline_says(config: DeidConfig, documents: Sequence[GoldDocument]) -> Said:
    """Return what a loaded preset replaces."""
    from deid_core.research.scoring.predict import predict

    system = Deidentifier.from_config(config, load_policy("safe-harbor"))
    list(predict(system, documents[:1]))  # Compiles and loads what it needs.
    start = time.process_time()
    predictions = tuple(predict(system, documents))
    return Said(predictions, time.process_time() - start)


def proposed(detectors: Sequence[Detector], documents: Sequence[GoldDocument]) -> Said:
    """Return what detectors propose, merged; nothing that follows them has a say."""
    asked = [Document(each.id, each.text, each.known) for each in documents]
    _proposals(detectors, asked[:1])  # Likewise.
    start = time.process_time()
    found = [
        each
        for at in range(0, len(asked), BATCH)
        for each in _proposals(detectors, asked[at : at + BATCH])
    ]
    seconds = time.process_time() - start
    return Said(tuple(Prediction(tuple(merge(each))) for each in found), seconds)


def _proposals(
    detectors: Sequence[Detector], documents: Sequence[Document]
) -> list[list[Annotation]]:
    by_detector = [detect(documents) for detect in detectors]
    return [
        [a for each in found for a in each] for found in zip(*by_detector, strict=True)
    ]


def fingerprint(documents: Sequence[GoldDocument]) -> str:
    """Return what tells these documents and their marks from any others."""
    parts = ((d.id, d.text, [(s.span, s.tag) for s in d.spans]) for d in documents)
    return digest(*parts)


def digest(*parts: object) -> str:
    """Return a short hash of values by what they print as."""
    hashed = hashlib.sha256()
    for each in parts:
        hashed.update(repr(each).encode())
    return hashed.hexdigest()[:12]
