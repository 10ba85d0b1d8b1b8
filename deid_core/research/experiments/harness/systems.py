"""Train systems and run them as users do: by model folder and preset."""

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
from deid_core.detectors.tagger import TaggerDetector, TaggerOptions
from deid_core.document import Annotation, Document
from deid_core.errors import ConfigError
from deid_core.merge import merge
from deid_core.pipeline import Deidentifier
from deid_core.policy import load_policy
from deid_core.research.corpora.corpus import Corpus, GoldDocument, Prediction
from deid_core.research.published import training as published_training
from deid_core.research.published.features.link_grammar import links_of
from deid_core.research.published.features.mesh import has_installed_mesh
from deid_core.research.published.model import save_model
from deid_core.research.published.options import ClassifierOptions
from deid_core.research.published.recipe import (
    PRESET_FILE,
    Recipe,
    load_recipe,
    write_preset,
)
from deid_core.research.scoring.predict import predict
from deid_core.research.training import recipe as tagger_recipes
from deid_core.research.training import training as tagger_training
from deid_core.tagger import model_files as tagger_files
from deid_core.term_files import NO_FILES

from .splits import Split

BATCH = 64
TAGGER = TaggerDetector.name


@dataclass(frozen=True, slots=True)
class Variant:
    """A published system, possibly changed.

    Args:
        recipe: The name of its recipe.
        without: Feature groups to leave out.
        only: If not empty, all other feature groups are left out.
        tokenizer: Instead of the recipe's.
        learning: Options of the learner instead of the recipe's, as pairs.
        seed: Of the documents drawn and of the learner.
    """

    recipe: str
    without: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    tokenizer: str = ""
    learning: tuple[tuple[str, Any], ...] = ()
    seed: int = 1

    def changed(self) -> Recipe:
        """Return the recipe with all changes except those of the features."""
        recipe = load_recipe(self.recipe)
        return replace(
            recipe,
            options=replace(recipe.options, **dict(self.learning)),
            tokenizer=self.tokenizer or recipe.tokenizer,
        )

    def left_out(self, unavailable: Sequence[str]) -> tuple[str, ...]:
        """Return the feature groups to leave out, with those that are unavailable."""
        groups = load_recipe(self.recipe).features.windows
        others = [each for each in groups if self.only and each not in self.only]
        return tuple(sorted({*self.without, *others, *unavailable}))


@dataclass(frozen=True, slots=True)
class SystemOutput:
    """The output of a system on documents.

    Args:
        predictions: One per document, in order.
        tag_s: Processor seconds for all documents, all threads together.
        train_s: Processor seconds of the training; 0 if the model existed.
    """

    predictions: tuple[Prediction, ...]
    tag_s: float
    train_s: float = 0.0

    @classmethod
    def of_gold(cls, documents: Sequence[GoldDocument]) -> SystemOutput:
        """Return a person's annotations as if they were the output of a system."""
        return cls(tuple(map(_gold_prediction, documents)), 0.0)


def _gold_prediction(document: GoldDocument) -> Prediction:
    found: list[Annotation] = []
    for each in document.spans:
        if each.label and (not found or each.span.start >= found[-1].span.end):
            found.append(Annotation(each.span, each.label, 1.0, "person", tag=each.tag))
    return Prediction(tuple(found))


def unavailable_groups(
    recipe: str, language: str, mesh: Path | None
) -> tuple[str, ...]:
    """Return the recipe's feature groups that need something that is not installed."""
    groups = load_recipe(recipe).features.windows
    has_mesh = mesh is not None or has_installed_mesh(language)
    found = ["mesh"] if "mesh" in groups and not has_mesh else []
    if "syntactic_bigrams" in groups:
        try:
            links_of(("a",), language)
        except ConfigError:
            found.append("syntactic_bigrams")
    return tuple(found)


def train_variant(
    variant: Variant, split: Split, folder: Path, mesh: Path | None
) -> tuple[Path, float]:
    """Return the preset of a system trained on a split, and the processor seconds.

    Args:
        variant: The system.
        split: The training documents.
        folder: Where models are kept; an existing model is reused.
        mesh: A file for `read_mesh`.
    """
    without = variant.left_out(unavailable_groups(variant.recipe, split.language, mesh))
    used = None if "mesh" in without else mesh
    parts = (variant, without, fingerprint(split.learn), split.language)
    name = digest(*parts, *(() if used is None else (used,)))
    place = folder / f"{variant.recipe}-{name}"
    if (place / PRESET_FILE).exists():
        return place / PRESET_FILE, 0.0
    options = published_training.TrainingOptions(
        variant.seed, split.language, without, used
    )
    start = time.process_time()
    model = published_training.train(variant.changed(), split.learn, options)
    seconds = time.process_time() - start
    with TemporaryDirectory(dir=folder) as made:
        save_model(model, Path(made) / "model")
        # Renamed when it is complete: an interrupted run leaves no partial model.
        (Path(made) / "model").rename(place)
    write_preset(variant.recipe, place)
    return place / PRESET_FILE, seconds


def train_tagger(
    recipe: str, corpora: Sequence[Corpus], place: Path, seed: int, version: str
) -> None:
    """Train our tagger and write its model to a folder, unless that exists."""
    if place.exists():
        return
    model = tagger_training.train(
        tagger_recipes.load_recipe(recipe), corpora, seed=seed, version=version
    )
    with TemporaryDirectory(dir=place.parent) as made:
        tagger_files.save_model(model, Path(made) / "model")
        (Path(made) / "model").rename(place)


def with_tagger(preset: str, **options: object) -> DeidConfig:
    """Return a preset with other options of its tagger."""
    return _with_tagger(load_preset(preset), options)


def without_absent_tags(config: DeidConfig) -> DeidConfig:
    """Return a preset whose tagger's options name no tag that its model lacks.

    A model that is trained on a part of a corpus may not have seen all of its tags.
    """
    options = config.options["tagger"].model_dump()
    tags = tagger_files.load_tables(options["model"]).tags
    left_out = {tag: words for tag, words in options["left_out"].items() if tag in tags}
    return _with_tagger(config, {"left_out": left_out})


def _with_tagger(config: DeidConfig, options: Mapping[str, object]) -> DeidConfig:
    changed = TaggerOptions.model_validate(
        config.options["tagger"].model_dump() | dict(options)
    )
    return replace(config, options={**config.options, "tagger": changed})


def classifier_output(
    preset: Path, documents: Sequence[GoldDocument], options: Mapping[str, Any]
) -> SystemOutput:
    """Return the merged proposals of a trained published system, without propagation.

    Args:
        preset: As `train_variant` returned it.
        documents: The scored documents.
        options: Of its detector, instead of the preset's.
    """
    config = load_preset(str(preset))
    found = config.options["classifier"].model_dump() | dict(options)
    changed = {"classifier": ClassifierOptions.model_validate(found)}
    return detector_output(replace(config, options=changed).build(), documents)


def preset_output(preset: str, documents: Sequence[GoldDocument]) -> SystemOutput:
    """Return what a preset detects, by the whole pipeline."""
    return pipeline_output(load_preset(preset), documents)


def pipeline_output(
    config: DeidConfig, documents: Sequence[GoldDocument]
) -> SystemOutput:
    """Return what a loaded preset detects, by the whole pipeline."""
    # Systems are scored on corpora of any language.
    config = replace(config, languages=())
    system = Deidentifier.from_config(config, load_policy("safe-harbor"))
    list(predict(system, documents[:1]))  # Compiles and loads what it needs.
    start = time.process_time()
    predictions = tuple(predict(system, documents))
    return SystemOutput(predictions, time.process_time() - start)


class TaggerSweep:
    """A preset with one change of its tagger after another, on the same documents.

    All other detectors read the documents once.

    Args:
        preset: With a tagger.
        documents: The scored documents.
    """

    def __init__(self, preset: str, documents: Sequence[GoldDocument]) -> None:
        self._config, self._documents = load_preset(preset), documents
        names = [each for each in self._config.detectors if each != TAGGER]
        others = replace(self._config, detectors=tuple(names)).build()
        self._others = {each.name: _Once(each) for each in others}
        self._policy = load_policy("safe-harbor")

    def output(
        self, *, quiet_threshold: float | None = None, **options: object
    ) -> SystemOutput:
        """Return what the preset detects with these options of its tagger.

        Args:
            quiet_threshold: In place of the preset's, if it has one.
            options: Of the tagger.
        """
        config = _with_tagger(self._config, options)
        quiet = config.quiet
        if quiet is not None and quiet_threshold is not None:
            quiet = quiet.model_copy(update={"threshold": quiet_threshold})
        [tagger] = replace(config, detectors=(TAGGER,), terms=NO_FILES).build()
        detectors = {**self._others, TAGGER: tagger}
        # Lists to remove are read by the last detector, which no preset names.
        last = [each for each in detectors if each not in config.detectors]
        system = Deidentifier(
            [detectors[name] for name in (*config.detectors, *last)],
            self._policy,
            recasing=config.recasing,
            consistency=config.consistency,
            kept=config.kept_terms(),
            languages=config.languages,
            other_languages=config.other_languages,
            quiet=quiet,
        )
        start = time.process_time()
        predictions = tuple(predict(system, self._documents))
        return SystemOutput(predictions, time.process_time() - start)


class _Once:
    """A detector that reads a batch once, and proposes the same for it again."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self.name, self.reads_as_written = detector.name, detector.reads_as_written
        self._found: dict[tuple[Document, ...], list[list[Annotation]]] = {}

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        batch = tuple(documents)
        if batch not in self._found:
            self._found[batch] = self._detector(batch)
        return self._found[batch]


def detector_output(
    detectors: Sequence[Detector], documents: Sequence[GoldDocument]
) -> SystemOutput:
    """Return the merged proposals of detectors, without the rest of the pipeline."""
    inputs = [Document(each.id, each.text, each.known) for each in documents]
    _proposals(detectors, inputs[:1])  # Compiles and loads what it needs.
    start = time.process_time()
    found = [
        each
        for at in range(0, len(inputs), BATCH)
        for each in _proposals(detectors, inputs[at : at + BATCH])
    ]
    seconds = time.process_time() - start
    return SystemOutput(tuple(Prediction(tuple(merge(e))) for e in found), seconds)


def _proposals(
    detectors: Sequence[Detector], documents: Sequence[Document]
) -> list[list[Annotation]]:
    by_detector = [detect(documents) for detect in detectors]
    return [
        [a for each in found for a in each] for found in zip(*by_detector, strict=True)
    ]


def fingerprint(documents: Sequence[GoldDocument]) -> str:
    """Return a hash of documents and their annotations."""
    parts = ((d.id, d.text, [(s.span, s.tag) for s in d.spans]) for d in documents)
    return digest(*parts)


def digest(*parts: object) -> str:
    """Return a short hash of values by their repr."""
    hashed = hashlib.sha256()
    for each in parts:
        hashed.update(repr(each).encode())
    return hashed.hexdigest()[:12]
