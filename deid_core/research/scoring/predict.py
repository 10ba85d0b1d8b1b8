"""Predictions of a system for a corpus, also by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from deid_core.document import Document
from deid_core.errors import DeidError
from deid_core.pipeline import Deidentifier
from deid_core.research.corpora.corpus import Corpus, GoldDocument, Prediction

BATCH = 64


def predict(
    system: Deidentifier, documents: Sequence[GoldDocument]
) -> Iterator[Prediction]:
    """Yield what the system detects in each document, in order.

    Detections count, whatever the system's policy replaces them with.
    """
    pending = (Document(each.id, each.text, each.known) for each in documents)
    while batch := list(islice(pending, BATCH)):
        for result in system.deidentify_batch(batch):
            if isinstance(result, DeidError):
                yield Prediction((), refusal=str(result))
            else:
                yield Prediction(result.annotations)


@dataclass(frozen=True, slots=True)
class Fold:
    """One part of a corpus to score, and all other parts to learn from.

    Args:
        learn: Training documents, in the order of the corpus.
        score: Scored documents, in the order of the corpus.
    """

    learn: tuple[GoldDocument, ...]
    score: tuple[GoldDocument, ...]


def folds(documents: Sequence[GoldDocument], k: int, seed: int) -> list[Fold]:
    """Return k folds by document; each document is scored in exactly one of them.

    Args:
        documents: Their parts differ in size by one at most.
        k: Number of folds, at least two.
        seed: Of the order; the same seed and number of documents, the same folds.

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
    """Return predictions for each document, by a system that was not trained on it.

    Args:
        corpus: Documents with distinct ids.
        k: Number of folds.
        seed: Of the folds.
        system_of: Returns a system trained on documents; called once per fold.

    Raises:
        ValueError: Two documents have the same id, or there are too few for k folds.
    """
    predicted: dict[str, Prediction] = {}
    for map_label in folds(corpus.documents, k, seed):
        found = predict(system_of(map_label.learn), map_label.score)
        predicted |= zip((each.id for each in map_label.score), found, strict=True)
    if len(predicted) < len(corpus.documents):
        raise ValueError("two documents of the corpus have the same id")
    return [predicted[each.id] for each in corpus.documents]
