"""What was learned, as arrays, and how it decides: four kinds.

Rebuilt here rather than stored as a library's objects, so that a model file can hold
nothing that runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from deid_core.tagger.compiled import Bias

from .rows import Floats, Rows

Arrays = Mapping[str, NDArray[Any]]
Decision = tuple[NDArray[np.int8], Floats]
"""The label of each word, and how sure it is, 0 to 1."""


class Predictor(Protocol):
    """Anything that labels words."""

    kind: ClassVar[str]

    def decide(self, rows: Rows, bias: Bias) -> Decision:
        """Return the label of each word."""
        ...

    def arrays(self) -> Arrays:
        """Return all that it holds, by name."""
        ...


class Held:
    """A dataclass of arrays."""

    def arrays(self) -> Arrays:
        """Return all that it holds, by name."""
        # Only dataclasses inherit this, which its type can't say.
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def read(cls, arrays: Arrays) -> Self:
        """Return what `arrays` gave."""
        # Likewise.
        return cls(**{each.name: arrays[each.name] for each in fields(cls)})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Linear(Held):
    """A score for each class: maximum entropy, and linear support vectors.

    Args:
        weights: Shape ``[features, classes]``.
        intercepts: Shape ``[classes]``.
    """

    kind: ClassVar[str] = "linear"
    weights: Floats
    intercepts: Floats

    def decide(self, rows: Rows, bias: Bias) -> Decision:
        """Return the class of the highest score; sure by the softmax of the scores."""
        return best(rows.sums(self.weights) + self.intercepts, bias)


@dataclass(frozen=True, slots=True, eq=False)
class Chain(Held):
    """A linear chain over each sentence.

    Args:
        weights: Shape ``[features, labels]``.
        transitions: From label to label; the last row is the start.
    """

    kind: ClassVar[str] = "chain"
    weights: Floats
    transitions: Floats

    def decide(self, rows: Rows, bias: Bias) -> Decision:
        """Return the best path of each sentence; sure by the words' marginals."""
        from deid_core.tagger.kernels.decoding import decode
        from deid_core.tagger.kernels.viterbi import FORBIDDEN, transitions_of

        scores = rows.sums(self.weights)
        path = np.zeros(len(rows), dtype=np.int8)
        sureness = np.zeros(len(rows), dtype=np.float32)
        transitions = np.maximum(self.transitions, np.float32(FORBIDDEN))
        decode(
            scores,
            rows.starts,
            transitions_of(transitions),
            bias.outside,
            -1.0 if bias.below is None else bias.below,
            path,
            sureness,
        )
        return path, np.clip(sureness, 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Forest(Held):
    """Decision trees that vote, each by the shares of the classes at its leaf.

    Args:
        roots: The first node of each tree.
        features: Of each node, what it asks; -1 at a leaf.
        without: The next node of a word without the feature.
        having: The next node of a word with it.
        shares: Of the classes at each node, shape ``[nodes, classes]``.
    """

    kind: ClassVar[str] = "forest"
    roots: NDArray[np.int32]
    features: NDArray[np.int32]
    without: NDArray[np.int32]
    having: NDArray[np.int32]
    shares: Floats

    def decide(self, rows: Rows, bias: Bias) -> Decision:
        """Return the class of the highest mean share; that is how sure it is."""
        dense = rows.dense()
        shares = np.mean([self._leaves(dense, root) for root in self.roots], axis=0)
        return best(shares.astype(np.float32), bias, are_shares=True)

    def _leaves(self, dense: NDArray[np.bool_], root: int) -> Floats:
        nodes = np.full(len(dense), root, dtype=np.int32)
        words = np.arange(len(dense))
        while len(words := words[self.features[nodes[words]] >= 0]):
            at = nodes[words]
            has = dense[words, self.features[at]]
            nodes[words] = np.where(has, self.having[at], self.without[at])
        return self.shares[nodes]


def best(scores: Floats, bias: Bias, *, are_shares: bool = False) -> Decision:
    """Return the class of the highest score of each word, and its share.

    Args:
        scores: Shape ``[words, classes]``.
        bias: `Bias.outside` is taken off the score of class 0; off its logarithm where
            the scores are shares.
        are_shares: They sum to 1; else their softmax is taken.
    """
    if are_shares:
        scores = np.log(np.maximum(scores, np.float32(1e-6)))
    scores = scores.copy()
    scores[:, 0] -= bias.outside
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    labels = shares.argmax(axis=1)
    if bias.below is not None:
        unsure = (labels == 0) & (shares[:, 0] <= bias.below)
        labels[unsure] = 1 + shares[unsure, 1:].argmax(axis=1)
    return labels.astype(np.int8), shares[np.arange(len(labels)), labels]
