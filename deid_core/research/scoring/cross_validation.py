"""Cross-validation: each document is scored by a system that never learned from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from deid_core.pipeline import Deidentifier

from ..corpora.corpus import Corpus, GoldDocument, Prediction
from .predict import predict


@dataclass(frozen=True, slots=True)
class Fold:
    """One of the parts, and all the others.

    Args:
        learn: What a system may learn from, in the order of the corpus.
        score: What it is scored on, likewise.
    """

    learn: tuple[GoldDocument, ...]
    score: tuple[GoldDocument, ...]


def folds(documents: Sequence[GoldDocument], k: int, seed: int) -> list[Fold]:
    """Return k folds by document; each document is scored in exactly one of them.

    Args:
        documents: What is parted; sizes of the parts differ by one at most.
        k: How many, at least two.
        seed: Of the drawing; the same seed and number of documents, the same folds.

    Raises:
        ValueError: There are fewer than two folds, or more folds than documents.
    """
    if not 2 <= k <= len(documents):
        raise ValueError(
            f"{k} folds of {len(documents)} documents; at least 2, one each"
        )
    order = list(range(len(documents)))
    Random(seed).shuffle(order)  # noqa: S311  # a fold is no secret
    parts = [frozenset(order[number::k]) for number in range(k)]
    return [
        Fold(
            tuple(each for at, each in enumerate(documents) if at not in part),
            tuple(each for at, each in enumerate(documents) if at in part),
        )
        for part in parts
    ]


def cross_validated(
    corpus: Corpus,
    k: int,
    seed: int,
    system_of: Callable[[Sequence[GoldDocument]], Deidentifier],
) -> list[Prediction]:
    """Return what is said of each document of a corpus, in its order.

    Args:
        corpus: Its documents have ids of their own.
        k: As `folds` has it.
        seed: Likewise.
        system_of: From the documents that may be learned from to a system; called once
            a fold.

    Raises:
        ValueError: Two documents bear one id, or the folds are no folds.
    """
    said: dict[str, Prediction] = {}
    for fold in folds(corpus.documents, k, seed):
        found = predict(system_of(fold.learn), fold.score)
        said |= zip((each.id for each in fold.score), found, strict=True)
    if len(said) < len(corpus.documents):
        raise ValueError("two documents of the corpus bear one id")
    return [said[each.id] for each in corpus.documents]
