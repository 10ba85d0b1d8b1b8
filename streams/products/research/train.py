"""`phistream train`: a model for the tagger, from a recipe and an annotated corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from deid_core.research.corpora.conventions import conventions_for
from deid_core.research.corpora.installed import (
    TRAINING,
    paths_of,
    require_learnable,
)
from deid_core.research.corpora.readers import READERS, read_corpus
from streams.cli.options import Seed
from streams.pipeline.files.sources import require_present


def train(
    recipe: Annotated[str, typer.Option(help="Training recipe: a name or file.")],
    out: Annotated[Path, typer.Option(help="Folder for the model.")],
    corpus: Annotated[
        list[Path] | None,
        typer.Option(
            "--corpus",
            help="Annotated corpus; see --format. Default: the invented English notes "
            "that come with phistream.",
            show_default=False,
        ),
    ] = None,
    tags_of: Annotated[
        str | None, typer.Option(help="Tag set of the corpus; default: the recipe's.")
    ] = None,
    part: Annotated[
        str,
        typer.Option(
            help="dev, test or all of each corpus; others without parts are whole."
        ),
    ] = "all",
    format: Annotated[
        str, typer.Option("--format", help=f"auto, {', '.join(READERS)}.")
    ] = "auto",
    notes: Annotated[
        int | None,
        typer.Option(
            min=1, help="Learn at most so many notes, for a published system."
        ),
    ] = None,
    version: Annotated[str, typer.Option(help="Version of the model.")] = "1",
    seed: Seed = 1,
    language: Annotated[
        str | None, typer.Option(help="Language, for a published system.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(help="Feature group to leave out, for a published system."),
    ] = None,
    mesh: Annotated[
        Path | None, typer.Option(help="MeSH vocabulary: TERM<tab>TREE NUMBER lines.")
    ] = None,
) -> None:
    """Train the tagger; a preset names the folder as `model` in its table \\[tagger].

    Needs the extra "train".  The model contains words of the corpus as features:
    protect it like the corpus.
    """
    paths = corpus or [TRAINING]
    require_present(paths_of(paths))
    from deid_core.research.published import recipe as published
    from deid_core.research.published.training import TrainingOptions
    from deid_core.research.training.recipe import load_recipe
    from deid_core.research.training.training import train as train_model
    from deid_core.tagger.model_files import save_model

    from .train_published import train_published

    loaded = None if published.is_published(recipe) else load_recipe(recipe)
    if not corpus:
        learner = loaded or published.load_recipe(recipe)
        tags = tags_of or (loaded.corpus if loaded else None)
        require_learnable(recipe, language or learner.language, tags)
    conventions = tags_of if loaded is None else tags_of or loaded.corpus
    corpora = [
        read_corpus(
            path,
            format=format,
            conventions=conventions,
            part=part if conventions_for(path, conventions).parts else "all",
        )
        for path in paths
    ]
    if loaded is None:
        documents = [each for one in corpora for each in one.documents]
        options = TrainingOptions(seed, language, tuple(without or ()), mesh, notes)
        train_published(recipe, documents, out, options)
        return
    with Progress(console=Console(stderr=True), transient=True) as shown:
        bar = shown.add_task(f"training {loaded.name}", total=1.0)
        model = train_model(
            loaded,
            corpora,
            seed=seed,
            version=version,
            progress=lambda share, step: shown.update(
                bar, completed=share, description=step
            ),
        )
    save_model(model, out)
    size = sum(file.stat().st_size for file in out.iterdir()) / 1e6
    Console().print(
        f"{out}: {len(model.weights.names):,} features, "
        f"{len(model.weights.values):,} weights, {size:.1f} MB",
        highlight=False,
        soft_wrap=True,
    )
