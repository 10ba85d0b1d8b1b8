"""Support vector machines with a kernel, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deid_core.tagger.compiled import Bias

from ..packages import needed
from .predictors import Decision, Held, best
from .rows import Floats, Rows

REST = -1
_BLOCK = 512
_NEVER = -1e9
# As scikit-learn has it: margins add less than half a vote.
_SQUEEZE = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class KernelMachine(Held):
    """Two-class machines over one set of support vectors.

    Args:
        columns: Of the support vectors, as in `Rows`.
        pointers: Likewise.
        coefficients: Of each vector in each machine, shape ``[vectors, machines]``.
        intercepts: Shape ``[machines]``.
        sides: The class on the plus and on the minus side, `REST` for all others,
            shape ``[machines, 2]``.
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
        """Return the class by vote, one against one, or of the greatest margin.

        Ties of votes go by the margins.  How sure it is, is the softmax of margins or
        votes: an order, no probability.
        """
        margins = np.concatenate(
            [self._margins(rows, at) for at in range(0, len(rows), _BLOCK)]
            or [np.zeros((0, len(self.intercepts)), dtype=np.float32)]
        )
        return best(self._scores(margins), bias)

    def _scores(self, margins: Floats) -> Floats:
        shape = (len(margins), int(self.sides.max()) + 1)
        # A class that no word of the training had can't win.
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
        scores += sums / (_SQUEEZE * (np.abs(sums) + 1))
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
