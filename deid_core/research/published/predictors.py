"""The predictors that the learners return: four kinds, as plain arrays.

They do not use the objects of the libraries that trained them, so that a model file
holds no executable code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from deid_core.research.packages import needed
from deid_core.tagger.compiled import Bias

from .rows import Floats, Rows

Arrays = Mapping[str, NDArray[Any]]
Decision = tuple[NDArray[np.int8], Floats]
"""The label of each word and the confidence in it, 0 to 1."""
REST = -1
_BLOCK = 512
_NEVER = -1e9
# As in scikit-learn, margins add less than half a vote.
_TIE_SCALE = 3.0


class Predictor(Protocol):
    """Labels words."""

    kind: ClassVar[str]

    def decide(self, rows: Rows, bias: Bias) -> Decision:
        """Return the label of each word."""
        ...

    def arrays(self) -> Arrays:
        """Return its arrays by name."""
        ...


class ArrayFields:
    """Base of dataclasses whose fields are arrays."""

    def arrays(self) -> Arrays:
        """Return its arrays by name."""
        # Only dataclasses inherit this, which its type cannot say.
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def read(cls, arrays: Arrays) -> Self:
        """Return the predictor of which `arrays` returned these."""
        # Only dataclasses inherit this.
        return cls(**{each.name: arrays[each.name] for each in fields(cls)})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Linear(ArrayFields):
    """A linear score for each class: maximum entropy and linear support vectors.

    Args:
        weights: Shape ``[features, classes]``.
        intercepts: Shape ``[classes]``.
    """

    kind: ClassVar[str] = "linear"
    weights: Floats
    intercepts: Floats

    def decide(self, rows: Rows, bias: Bias) -> Decision:
        """Return the class of the highest score; the confidence is the softmax."""
        return best(rows.sums(self.weights) + self.intercepts, bias)


@dataclass(frozen=True, slots=True, eq=False)
class Chain(ArrayFields):
    """A linear chain over each sentence.

    Args:
        weights: Shape ``[features, labels]``.
        transitions: From label to label; the last row is the start.
    """

    kind: ClassVar[str] = "chain"
    weights: Floats
    transitions: Floats

    def decide(self, rows: Rows, bias: Bias) -> Decision:
        """Return the best path of each sentence; the confidence is the marginal."""
        from deid_core.tagger.kernels.decoding import decode
        from deid_core.tagger.kernels.viterbi import FORBIDDEN, transitions_of

        scores = rows.sums(self.weights)
        path = np.zeros(len(rows), dtype=np.int8)
        confidence = np.zeros(len(rows), dtype=np.float32)
        transitions = np.maximum(self.transitions, np.float32(FORBIDDEN))
        decode(
            scores,
            rows.starts,
            transitions_of(transitions),
            np.full(len(rows.starts) - 1, bias.outside, dtype=np.float32),
            -1.0 if bias.below is None else bias.below,
            path,
            confidence,
        )
        return path, np.clip(confidence, 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Forest(ArrayFields):
    """Decision trees that vote, each by the shares of the classes at its leaf.

    Args:
        roots: The first node of each tree.
        features: The feature that each node tests; -1 at a leaf.
        without: The next node for a word without the feature.
        having: The next node for a word with it.
        shares: Shares of the classes at each node, shape ``[nodes, classes]``.
    """

    kind: ClassVar[str] = "forest"
    roots: NDArray[np.int32]
    features: NDArray[np.int32]
    without: NDArray[np.int32]
    having: NDArray[np.int32]
    shares: Floats

    def decide(self, rows: Rows, bias: Bias) -> Decision:
        """Return the class of the highest mean share, which is the confidence."""
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
    """Return the class of the highest score of each word and its share.

    Args:
        scores: Shape ``[words, classes]``.
        bias: `Bias.outside` is subtracted from the score of class 0, or from its
            logarithm where the scores are shares.
        are_shares: Whether the scores sum to 1; otherwise their softmax is taken.
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


@dataclass(frozen=True, slots=True, eq=False)
class KernelMachine(ArrayFields):
    """Two-class machines over one set of support vectors.

    Args:
        columns: Of the support vectors; see `Rows`.
        pointers: Of the support vectors; see `Rows`.
        coefficients: Of each vector in each machine, shape ``[vectors, machines]``.
        intercepts: Shape ``[machines]``.
        sides: The class of positive and that of negative margins, `REST` for all other
            classes, shape ``[machines, 2]``.
        form: Width, gamma, constant, degree; degree 0 is the Gaussian kernel.
    """

    kind: ClassVar[str] = "kernel"
    columns: NDArray[np.int32]
    pointers: NDArray[np.int64]
    coefficients: Floats
    intercepts: Floats
    sides: NDArray[np.int32]
    form: NDArray[np.float64]

    def decide(self, rows: Rows, bias: Bias) -> Decision:
        """Return the class with most votes (one against one) or the greatest margin.

        Margins break ties of votes.  The confidence is the softmax of margins or votes:
        it orders words, but is no probability.
        """
        margins = np.concatenate(
            [self._margins(rows, at) for at in range(0, len(rows), _BLOCK)]
            or [np.zeros((0, len(self.intercepts)), dtype=np.float32)]
        )
        return best(self._scores(margins), bias)

    def _scores(self, margins: Floats) -> Floats:
        shape = (len(margins), int(self.sides.max()) + 1)
        # A class that no training word had cannot win.
        scores = np.full(shape, _NEVER, dtype=np.float32)
        scores[:, self.sides[self.sides >= 0]] = 0.0
        if len(self.sides) == 1:
            scores[:, self.sides[0, 0]] = margins[:, 0]
            return scores
        if self.sides[0, 1] == REST:
            scores[:, self.sides[:, 0]] = margins
            return scores
        sums = np.zeros(shape, dtype=np.float32)
        for at, (plus, minus) in enumerate(self.sides.tolist()):
            won = margins[:, at] > 0
            scores[won, plus] += 1
            scores[~won, minus] += 1
            sums[:, plus] += margins[:, at]
            sums[:, minus] -= margins[:, at]
        scores += sums / (_TIE_SCALE * (np.abs(sums) + 1))
        return scores

    def _margins(self, rows: Rows, start: int) -> Floats:
        block = rows.take(range(start, min(start + _BLOCK, len(rows))))
        width, gamma, constant, degree = self.form.tolist()
        vectors = Rows(self.columns, self.pointers, self.pointers[:1], int(width))
        common = _common(block, vectors)
        if degree:
            kernel: Floats = (gamma * common + constant) ** int(degree)
        else:
            sizes = np.diff(block.pointers)[:, None] + np.diff(self.pointers)[None, :]
            kernel = np.exp(-gamma * (sizes - 2 * common))
        margins: Floats = kernel @ self.coefficients + self.intercepts
        return margins


def _common(words: Rows, vectors: Rows) -> Floats:
    """Return how many features each word shares with each vector."""
    sparse = needed("scipy.sparse", "scipy", "a model of support vectors")
    one, other = (
        sparse.csr_matrix(
            (np.ones(len(each.columns), np.float32), each.columns, each.pointers),
            shape=(len(each), each.width),
        )
        for each in (words, vectors)
    )
    common: Floats = (one @ other.T).toarray()
    return common
