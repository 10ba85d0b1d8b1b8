"""Support vector machines: linear, with a kernel, one against one, one against all.

By scikit-learn, that is liblinear and libSVM; the papers use libSVM (Tafvizi and
Pacula name no implementation).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_core.research.packages import needed

from ..kernel_machine import REST, KernelMachine
from ..predictors import Linear
from ..rows import Floats, Rows
from .support import Marked, Matrix
from .word_options import KernelOptions, LinearOptions

Machine = Any
"""scikit-learn's, which has no types."""
_CACHE_MB = 1000


def linear(marked: Marked, options: LinearOptions, seed: int) -> Linear:
    """Return a linear machine, for many classes one against all."""
    svm = needed("sklearn.svm", "scikit-learn", "this learner")
    present = marked.present()
    learner = svm.LinearSVC(C=options.c, loss="hinge", dual=True, random_state=seed)
    learner.set_params(max_iter=5000, tol=1e-3)
    learner.fit(marked.matrix(), marked.labels)
    return linear_of(marked, present, learner.coef_, learner.intercept_)


def linear_of(
    marked: Marked, present: Sequence[int], weights: Matrix, intercepts: Matrix
) -> Linear:
    """Return scikit-learn's weights as those of all classes.

    With two classes it gives one margin, which stands for the second.  A class that no
    word has can't win.
    """
    shape = (marked.rows.width, marked.classes)
    found = Linear(np.zeros(shape, np.float32), np.full(shape[1], -1e9, np.float32))
    columns = list(present)
    if len(columns) == 2:
        found.intercepts[columns[0]] = 0.0
        columns = columns[1:]
    found.weights[:, columns] = weights.T
    found.intercepts[columns] = intercepts
    return found


def quadratic(marked: Marked, options: KernelOptions, seed: int) -> KernelMachine:
    """Return a machine with the kernel of equation 4."""
    return _one_against_one(marked, options, "quadratic", seed)


def gaussian(marked: Marked, options: KernelOptions, seed: int) -> KernelMachine:
    """Return a machine with the kernel of equation 5."""
    return _one_against_one(marked, options, "gaussian", seed)


def one_against_one(marked: Marked, options: KernelOptions, seed: int) -> KernelMachine:
    """Return a machine for each pair of classes; they vote."""
    return _one_against_one(marked, options, options.kernel, seed)


def one_against_all(marked: Marked, options: KernelOptions, seed: int) -> KernelMachine:
    """Return a machine for each class against all others; the greatest margin wins."""
    present = marked.present()
    distinct, counts = marked.distinct()
    matrix = distinct.matrix()
    width = marked.rows.width
    coefficients = np.zeros((len(distinct.rows), len(present)), np.float32)
    intercepts = np.zeros(len(present), np.float32)
    for at, label in enumerate(present):
        learner = _svc(options, options.kernel, width, seed)
        learner.fit(matrix, distinct.labels == label, sample_weight=counts)
        coefficients[learner.support_, at] = learner.dual_coef_.toarray()[0]
        intercepts[at] = learner.intercept_[0]
    sides = np.array([[label, REST] for label in present], np.int32)
    form = _form(options, options.kernel, width)
    return _machine(distinct.rows, coefficients, intercepts, sides, form)


def _one_against_one(
    marked: Marked, options: KernelOptions, kernel: str, seed: int
) -> KernelMachine:
    present = marked.present()
    distinct, counts = marked.distinct()
    width = marked.rows.width
    learner = _svc(options, kernel, width, seed)
    learner.fit(distinct.matrix(), distinct.labels, sample_weight=counts)
    pairs = list(combinations(range(len(present)), 2))
    dual = learner.dual_coef_.toarray()
    of_class = np.repeat(np.arange(len(present)), learner.n_support_)
    coefficients = np.zeros((len(distinct.rows), len(pairs)), np.float32)
    for at, (one, other) in enumerate(pairs):
        # scikit-learn's table: a vector of class i against j stands in row j - 1 for
        # j > i, and in row j for j < i.
        for owner, row in ((one, other - 1), (other, one)):
            chosen = of_class == owner
            coefficients[learner.support_[chosen], at] = dual[row, chosen]
    sides = np.array([[present[i], present[j]] for i, j in pairs], np.int32)
    if len(present) == 2:
        # Of two classes it gives the margin of the second.
        sides = sides[:, ::-1].copy()
    intercepts = learner.intercept_.astype(np.float32)
    form = _form(options, kernel, width)
    return _machine(distinct.rows, coefficients, intercepts, sides, form)


def _svc(options: KernelOptions, kernel: str, width: int, seed: int) -> Machine:
    svm = needed("sklearn.svm", "scikit-learn", "this learner")
    return svm.SVC(
        C=options.c,
        kernel="rbf" if kernel == "gaussian" else "poly",
        degree=2,
        gamma=options.gamma or 1 / width,
        coef0=options.constant,
        cache_size=_CACHE_MB,
        random_state=seed,
    )


def _form(options: KernelOptions, kernel: str, width: int) -> NDArray[np.float64]:
    degree = 0 if kernel == "gaussian" else 2
    return np.array([width, options.gamma or 1 / width, options.constant, degree])


def _machine(
    rows: Rows,
    coefficients: Floats,
    intercepts: Floats,
    sides: NDArray[np.int32],
    form: NDArray[np.float64],
) -> KernelMachine:
    """Return the machine without the words that support nothing."""
    used = np.flatnonzero(coefficients.any(axis=1))
    vectors = rows.take(used.tolist())
    return KernelMachine(
        vectors.columns, vectors.pointers, coefficients[used], intercepts, sides, form
    )
