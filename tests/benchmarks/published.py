"""The published systems, trained and scored on the corpora at hand, in one table.

    python -m tests.benchmarks.published --corpus meddocan --quick
    python -m tests.benchmarks.published --corpus aci-bench

``meddocan`` (Spanish) is trained on its train part and scored on dev; ``aci-bench``
(English) is its dev rows by five-fold cross-validation by document.  What counts is
what the preset's detector proposes, merged: no echoes, no rules of the product's own.

*Strict* is micro precision, recall and F1 of spans, in the classes that the system
tells apart; identifiers that it has no class for are left out.  *Blind* is by token,
whatever the class, of all identifiers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.table import Table

from deid_core import ConfigError, Document
from deid_core.config import load_preset
from deid_core.evaluation.agreement import agreement, exact
from deid_core.evaluation.corpus import Corpus, GoldDocument, Prediction
from deid_core.evaluation.readers import read_corpus
from deid_core.evaluation.scorers import SCORERS, Outcome
from deid_core.merge import merge
from deid_core.tagger.token_models.link_grammar import links_of
from deid_core.tagger.token_models.model_files import save_model
from deid_core.tagger.token_models.preset import write_preset
from deid_core.tagger.token_models.recipe import Recipe, known_recipes, load_recipe
from deid_core.tagger.token_models.training import Setting, train

DATA = Path(__file__).parents[3] / "shared/data"
FOLDS = 5
QUICK_TRAIN, QUICK_TEST = 50, 30
# Chains over all documents take more than three minutes on these machines.
MOST_TRAIN = 200
Fold = tuple[Sequence[GoldDocument], Sequence[GoldDocument]]


@dataclass(frozen=True)
class Setup:
    """A corpus, its language, and how it is cut."""

    corpus: Corpus
    language: str
    folds: list[Fold]


@dataclass
class Result:
    """What a preset did, over all folds."""

    trained_on: str = ""
    train_s: float = 0.0
    tag_s: float = 0.0
    documents: list[GoldDocument] = field(default_factory=list)
    said: list[Prediction] = field(default_factory=list)


def meddocan(data: Path, *, quick: bool, most: int) -> Setup:
    """Train on train, score on dev."""
    parts = [read_corpus(data / "meddocan" / part) for part in ("train", "dev")]
    learn, score = (list(each.documents) for each in parts)
    chance = Random(1)
    learn = chance.sample(learn, min(len(learn), QUICK_TRAIN if quick else most))
    score = score[:QUICK_TEST] if quick else score
    return Setup(parts[1], "es", [(learn, score)])


def aci_bench(data: Path, *, quick: bool, most: int) -> Setup:
    """Five folds of the dev rows; one alone with `quick`."""
    corpus = read_corpus(data / "aci-bench" / "notes.jsonl", part="dev")
    documents = list(corpus.documents)
    Random(1).shuffle(documents)
    folds: list[Fold] = []
    for number in range(1 if quick else FOLDS):
        score = documents[number::FOLDS]
        learn = [each for each in documents if each not in score][:most]
        folds.append((learn, score))
    return Setup(corpus, "en", folds)


SETUPS = {"meddocan": meddocan, "aci-bench": aci_bench}


def absent(recipe: Recipe, language: str) -> tuple[str, ...]:
    """Return the recipe's feature groups that need what is not here."""
    found = []
    for name in recipe.features.windows:
        if name == "mesh":
            found.append(name)
        if name == "syntactic_bigrams":
            try:
                links_of(("a",), language)
            except ConfigError:
                found.append(name)
    return tuple(found)


def run(name: str, setup: Setup, seed: int) -> Result:
    """Train and tag, fold by fold, through the model's files and the preset."""
    recipe, result = load_recipe(name), Result()
    setting = Setting(seed, setup.language, absent(recipe, setup.language))
    for learn, score in setup.folds:
        with TemporaryDirectory() as place:
            folder = Path(place)
            start = time.perf_counter()
            model = train(recipe, learn, setting)
            result.train_s += time.perf_counter() - start
            result.trained_on = (
                f"{model.trained['documents']} / {model.trained['words']:,}"
            )
            save_model(model, folder)
            preset = write_preset(name, folder)
            [detector] = load_preset(str(preset)).build()
            documents = [Document(each.id, each.text) for each in score]
            detector(documents[:1])  # Compiles and loads what it needs.
            start = time.perf_counter()
            proposals = detector(documents)
            result.tag_s += time.perf_counter() - start
        result.documents += score
        result.said += [Prediction(tuple(merge(each))) for each in proposals]
    return result


def figures(name: str, setup: Setup, result: Result) -> list[float]:
    """Return P, R, F1 of strict spans and of blind tokens."""
    corpus = replace(setup.corpus, documents=tuple(result.documents))
    outcome = Outcome.of(corpus, result.said)
    classes = load_recipe(name).classes
    strict = agreement(
        outcome.sides, corpus.conventions, agree=exact, category=classes.class_of
    ).measures()[:3]
    blind = SCORERS["token, blind"](outcome)[:3]
    return [100 * (each.value or 0.0) for each in (*strict, *blind)]


def rows(
    names: Sequence[str], setup: Setup, seed: int
) -> Iterator[tuple[str, Result, list[float]]]:
    for name in names:
        result = run(name, setup, seed)
        yield name, result, figures(name, setup, result)


def main(
    corpus: Annotated[str, typer.Option(help=", ".join(SETUPS))] = "meddocan",
    preset: Annotated[list[str] | None, typer.Option(help="Else all.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A part of each.")] = False,
    most: Annotated[int, typer.Option(help="Training documents.")] = MOST_TRAIN,
    data: Annotated[Path, typer.Option(help="Where the corpora lie.")] = DATA,
    json: Annotated[Path | None, typer.Option(help="Write the figures here.")] = None,
    seed: Annotated[int, typer.Option()] = 1,
) -> None:
    """Print the table, a row as it comes."""
    setup = SETUPS[corpus](data, quick=quick, most=most)
    console = Console(width=130)
    scored = sum(len(score) for _, score in setup.folds)
    table = Table(title=f"{corpus}: {scored} documents scored, seed {seed}")
    table.add_column("preset", no_wrap=True)
    for column in ("documents / words", "P", "R", "F1", "blind P", "R", "F1"):
        table.add_column(column, justify="right")
    for column in ("train s", "documents/s", "without"):
        table.add_column(column, justify="right")
    kept = {}
    for name, result, values in rows(preset or known_recipes(), setup, seed):
        without = ", ".join(absent(load_recipe(name), setup.language))
        rate = len(result.documents) / result.tag_s
        shown = [f"{value:.1f}" for value in values]
        table.add_row(
            name,
            result.trained_on,
            *shown,
            f"{result.train_s:.0f}",
            f"{rate:.0f}",
            without,
        )
        kept[name] = {"figures": values, "train_s": result.train_s, "per_s": rate}
        console.print(f"{name}: {' '.join(shown)}", highlight=False)
    console.print(table)
    if json is not None:
        json.write_bytes(orjson.dumps(kept, option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    typer.run(main)
