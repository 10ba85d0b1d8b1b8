"""``phistream train``: a model for the tagger, from a recipe and a marked corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from deid_core.research.corpora.corpus import Corpus
from deid_core.research.corpora.readers import READERS, read_corpus

from ..engine.errors import FatalError
from ..files.sources import require_present


def train(
    recipe: Annotated[str, typer.Option(help="How to train: a name or file.")],
    corpus: Annotated[
        list[Path],
        typer.Option("--corpus", help="Marked: JSON lines, or a folder of brat files."),
    ],
    out: Annotated[Path, typer.Option(help="The model's folder; made if need be.")],
    tags_of: Annotated[
        str | None, typer.Option(help="Whose tags these are; else as the recipe says.")
    ] = None,
    part: Annotated[str, typer.Option(help="dev, test or all of each corpus.")] = "all",
    format: Annotated[
        str, typer.Option("--format", help=f"auto, {', '.join(READERS)}.")
    ] = "auto",
    version: Annotated[str, typer.Option(help="What to call the result.")] = "1",
    seed: Annotated[int, typer.Option(help="Same seed, same model.")] = 1,
    language: Annotated[
        str | None, typer.Option(help="Of a published system; else the recipe's.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(help="A published system's feature group to leave out."),
    ] = None,
    mesh: Annotated[
        Path | None, typer.Option(help="Its vocabulary: TERM<tab>TREE NUMBER a line.")
    ] = None,
) -> None:
    """Train the tagger; the folder is what `model` in a preset's \\[tagger] may name.

    Needs the extra "train".  The model holds words of the corpus, as features: treat
    it as you treat the corpus.
    """
    require_present(corpus)
    try:
        from deid_core.research.published.recipe import is_published
        from deid_core.research.published.training import TrainingOptions
        from deid_core.research.training.recipe import load_recipe
        from deid_core.research.training.training import train as train_model
        from deid_core.tagger.model_files import save_model

        from .train_words import train_words
    except ModuleNotFoundError as error:
        raise FatalError(
            f"{error.name} is missing; install: pip install 'phistream[train]'"
        ) from None
    if is_published(recipe):
        found = [
            read_corpus(path, format=format, conventions=tags_of, part=part)
            for path in corpus
        ]
        documents = [each for one in found for each in one.documents]
        setting = TrainingOptions(seed, language, tuple(without or ()), mesh)
        train_words(recipe, documents, out, setting)
        return
    how = load_recipe(recipe)
    corpora: list[Corpus] = [
        read_corpus(path, format=format, conventions=tags_of or how.corpus, part=part)
        for path in corpus
    ]
    console = Console(stderr=True)
    with Progress(console=console, transient=True) as shown:
        bar = shown.add_task(f"training {how.name}", total=1.0)

        def tell(share: float, word: str) -> None:
            shown.update(bar, completed=share, description=word)

        model = train_model(how, corpora, seed=seed, version=version, progress=tell)
    save_model(model, out)
    size = sum(file.stat().st_size for file in out.iterdir()) / 1e6
    Console().print(
        f"{out}: {len(model.weights.names):,} features, "
        f"{len(model.weights.values):,} weights, {size:.1f} MB",
        highlight=False,
        soft_wrap=True,
    )
