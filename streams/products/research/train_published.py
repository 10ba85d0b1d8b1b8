"""`phistream train` for recipes of published systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from deid_core.research.corpora.corpus import GoldDocument
from deid_core.research.published.model import save_model
from deid_core.research.published.recipe import load_recipe, write_preset
from deid_core.research.published.training import TrainingOptions, train


def train_published(
    name: str, documents: Sequence[GoldDocument], out: Path, options: TrainingOptions
) -> None:
    """Train the model of a recipe; write its folder and a preset that names it."""
    recipe = load_recipe(name)
    with Progress(console=Console(stderr=True), transient=True) as shown:
        bar = shown.add_task(f"training {recipe.name}", total=1.0)
        model = train(
            recipe,
            documents,
            options,
            lambda share, step: shown.update(bar, completed=share, description=step),
        )
    save_model(model, out)
    preset = write_preset(recipe.name, out)
    trained = model.trained
    Console().print(
        f"{out}: {trained['documents']} documents, {trained['words']:,} words, "
        f"{len(model.names):,} features"
        + (f"; use it with --preset {preset}" if preset else ""),
        highlight=False,
        soft_wrap=True,
    )
