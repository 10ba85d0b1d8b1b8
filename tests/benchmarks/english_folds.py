"""aci-bench by cross-validation: the English system with its tagger and without it.

    python -m tests.benchmarks.english_folds --data ../shared/data

Rows that may be read, in folds by document.  A fold's tagger learns invented notes over
the sections of MTS-Dialog and the documents of the other folds.  The rules, lexicons
and the veto were written with these rows in sight: what is crossed is the tagger alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from deid_core import Deidentifier
from deid_core.carriers import Half, generate, marked, read_carriers, without_shared
from deid_core.config import load_preset
from deid_core.detectors.tagger import TaggerOptions
from deid_core.evaluation.corpus import Corpus, GoldDocument
from deid_core.evaluation.cross_validation import cross_validated
from deid_core.evaluation.evaluation import Evaluation, evaluate
from deid_core.evaluation.readers import read_corpus
from deid_core.policy import load_policy
from deid_core.tagger.model_files import save_model
from deid_core.tagger.recipe import load_recipe
from deid_core.tagger.training import train

SEED = 11
MEASURES = ("recall", "false per 1,000", "precision (words)")


def invented(data: Path, count: int) -> tuple[GoldDocument, ...]:
    """Return notes over the sections that share no text with a corpus of notes."""
    apart = [data / name / "notes.jsonl" for name in ("mtsamples", "aci-bench")]
    sections = read_carriers(data / "mts-dialog" / "sections.jsonl")
    usable = marked(without_shared(sections, apart), without_tagger())
    return tuple(generate(Half.TRAINING, usable, count, SEED))


def without_tagger() -> Deidentifier:
    """Return the preset `lexical`."""
    return Deidentifier.from_names("lexical")


def with_tagger(corpora: Sequence[Corpus], folder: Path) -> Deidentifier:
    """Return the preset `hybrid` with a tagger that learned these corpora alone."""
    recipe = load_recipe("english")
    save_model(train(recipe, corpora, seed=1, version="fold"), folder)
    config = load_preset("hybrid")
    options = config.options["tagger"]
    assert isinstance(options, TaggerOptions)
    own = options.model_copy(update={"model": str(folder), "one_case_model": ""})
    config = replace(config, options={**config.options, "tagger": own})
    return Deidentifier.from_config(config, load_policy("safe-harbor"))


def crossed(corpus: Corpus, notes: Sequence[GoldDocument], k: int) -> Evaluation:
    """Return how the system does when each fold's tagger never saw the fold."""

    def system_of(learn: Sequence[GoldDocument]) -> Deidentifier:
        corpora = [replace(corpus, documents=tuple(each)) for each in (notes, learn)]
        with TemporaryDirectory() as folder:
            return with_tagger(corpora, Path(folder))

    said = cross_validated(corpus, k, SEED, system_of)
    return evaluate(corpus, said, system=f"hybrid, {k} folds")


def main(
    data: Annotated[Path, typer.Option(help="The folder of the corpora.")],
    notes: Annotated[int, typer.Option(help="Invented notes to learn.")] = 2000,
    folds: Annotated[int, typer.Option(min=2)] = 5,
) -> None:
    """Print recall and false words of both systems on the same documents."""
    corpus = read_corpus(data / "aci-bench" / "notes.jsonl", part="dev")
    none = cross_validated(corpus, folds, SEED, lambda _: without_tagger())
    results = [
        evaluate(corpus, none, system="lexical"),
        crossed(corpus, invented(data, notes), folds),
    ]
    shown = Table(title=f"{corpus.name} {corpus.part}, {len(corpus.documents)} notes")
    shown.add_column("system")
    for name in MEASURES:
        shown.add_column(name, justify="right")
    for each in results:
        found = (each.measure("coverage", name) for name in MEASURES)
        values = (None if one is None else one.value for one in found)
        row = ("" if value is None else f"{value:.4f}" for value in values)
        shown.add_row(each.system, *row)
    Console(width=100).print(shown)


if __name__ == "__main__":
    typer.run(main)
