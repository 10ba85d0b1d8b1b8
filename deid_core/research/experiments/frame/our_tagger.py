"""Our own tagger, trained on what the published systems are trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from deid_core.config import DeidConfig, load_preset
from deid_core.detectors.tagger import TaggerOptions
from deid_core.research.training.recipe import load_recipe
from deid_core.research.training.training import train
from deid_core.tagger.model_files import save_model

from .runner import Bench
from .splits import Split
from .systems import Said, digest, fingerprint, pipeline_says


def own_trained(bench: Bench, preset: str, split: Split) -> Said:
    """Return what a preset replaces with its tagger trained on the split's documents.

    Args:
        bench: Where models are kept, and the seed.
        preset: Of a tagger whose recipe bears its name: ``meddocan``.
        split: What is learned, what is asked.
    """
    bench.tell(f"{preset}: training on {len(split.learn)} documents")
    model = str(_model(bench, preset, split))
    return pipeline_says(with_tagger(preset, model=model), split.corpus.documents)


def with_tagger(preset: str, **options: object) -> DeidConfig:
    """Return a preset with other options of its tagger."""
    config = load_preset(preset)
    changed = TaggerOptions.model_validate(
        config.options["tagger"].model_dump() | options
    )
    return replace(config, options={**config.options, "tagger": changed})


def _model(bench: Bench, recipe: str, split: Split) -> Path:
    name = digest(recipe, bench.seed, fingerprint(split.learn))
    place = bench.models / f"own-{recipe}-{name}"
    if not place.exists():
        learned = replace(split.corpus, documents=split.learn)
        model = train(load_recipe(recipe), [learned], seed=bench.seed, version="1")
        with TemporaryDirectory(dir=bench.models) as made:
            save_model(model, Path(made) / "model")
            # Whole or not at all: a run that was stopped leaves nothing half made.
            (Path(made) / "model").rename(place)
    return place
