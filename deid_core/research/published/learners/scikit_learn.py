"""Support vector machines, random forests and maximum entropy by scikit-learn.

Its support vector machines are liblinear and libSVM.  Scheurwegs and others use libSVM,
Tafvizi and Pacula name no implementation.  Forests (Breiman 2001) are Weka's in the
paper.  Maximum entropy is multinomial logistic regression.

Most of them report no progress.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_core.research.packages import needed
from deid_core.research.published.predictors import REST, Forest, KernelMachine, Linear
from deid_core.research.published.rows import Floats, Rows, TrainingWords
from deid_core.research.training.weights import Progress

from . import ForestOptions, KernelOptions, LinearOptions, MaximumEntropyOptions

# scikit-learn has no types.
Machine = Any
Tree = Any
_CACHE_MB = 1000


def linear(
    words: TrainingWords, options: LinearOptions, seed: int, _: Progress
) -> Linear:
    """Return a linear support vector machine; many classes are one against all."""
    svm = needed("sklearn.svm", "scikit-learn", "this learner")
    learner = svm.LinearSVC(C=options.c, loss="hinge", dual=True, random_state=seed)
    learner.set_params(max_iter=5000, tol=1e-3)
    return _linear(words, learner)


def maximum_entropy(
    words: TrainingWords, options: MaximumEntropyOptions, seed: int, _: Progress
) -> Linear:
    """Return a multinomial logistic regression."""
    models = needed("sklearn.linear_model", "scikit-learn", "this learner")
    return _linear(
        words,
        models.LogisticRegression(
            C=options.c, max_iter=options.rounds, random_state=seed
        ),
    )


def _linear(words: TrainingWords, learner: Machine) -> Linear:
    """Fit a learner and return its weights for all classes.

    With two classes scikit-learn has one margin, that of the second.  A class that no
    word has cannot win.
    """
    columns = words.present()
    learner.fit(words.matrix(), words.labels)
    shape = (words.rows.width, words.classes)
    found = Linear(np.zeros(shape, np.float32), np.full(shape[1], -1e9, np.float32))
    if len(columns) == 2:
        found.intercepts[columns[0]] = 0.0
        columns = columns[1:]
    found.weights[:, columns] = learner.coef_.T
    found.intercepts[columns] = learner.intercept_
    return found


def quadratic(
    words: TrainingWords, options: KernelOptions, seed: int, _: Progress
) -> KernelMachine:
    """Return a machine with the kernel of equation 4 of Tafvizi and Pacula."""
    return _one_against_one(words, options, "quadratic", seed)


def gaussian(
    words: TrainingWords, options: KernelOptions, seed: int, _: Progress
) -> KernelMachine:
    """Return a machine with the kernel of equation 5 of Tafvizi and Pacula."""
    return _one_against_one(words, options, "gaussian", seed)


def one_against_one(
    words: TrainingWords, options: KernelOptions, seed: int, _: Progress
) -> KernelMachine:
    """Return a machine for each pair of classes; they vote."""
    return _one_against_one(words, options, options.kernel, seed)


def one_against_all(
    words: TrainingWords, options: KernelOptions, seed: int, progress: Progress
) -> KernelMachine:
    """Return a machine for each class against all others; the greatest margin wins."""
    present = words.present()
    distinct, counts = words.distinct()
    matrix = distinct.matrix()
    width = words.rows.width
    coefficients = np.zeros((len(distinct.rows), len(present)), np.float32)
    intercepts = np.zeros(len(present), np.float32)
    for at, label in enumerate(present):
        progress(at / len(present), "one against all")
        learner = _svc(options, options.kernel, width, seed)
        learner.fit(matrix, distinct.labels == label, sample_weight=counts)
        coefficients[learner.support_, at] = learner.dual_coef_.toarray()[0]
        intercepts[at] = learner.intercept_[0]
    sides = np.array([[label, REST] for label in present], np.int32)
    form = _form(options, options.kernel, width)
    return _machine(distinct.rows, coefficients, intercepts, sides, form)


def _one_against_one(
    words: TrainingWords, options: KernelOptions, kernel: str, seed: int
) -> KernelMachine:
    present = words.present()
    distinct, counts = words.distinct()
    width = words.rows.width
    learner = _svc(options, kernel, width, seed)
    learner.fit(distinct.matrix(), distinct.labels, sample_weight=counts)
    pairs = list(combinations(range(len(present)), 2))
    dual = learner.dual_coef_.toarray()
    of_class = np.repeat(np.arange(len(present)), learner.n_support_)
    coefficients = np.zeros((len(distinct.rows), len(pairs)), np.float32)
    for at, (one, other) in enumerate(pairs):
        # scikit-learn's layout: the coefficient of a vector of class i against class j
        # is in row j - 1 for j > i, and in row j for j < i.
        for owner, row in ((one, other - 1), (other, one)):
            chosen = of_class == owner
            coefficients[learner.support_[chosen], at] = dual[row, chosen]
    sides = np.array([[present[i], present[j]] for i, j in pairs], np.int32)
    if len(present) == 2:
        # With two classes the margin is that of the second.
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
    """Return the machine with its support vectors alone."""
    used = np.flatnonzero(coefficients.any(axis=1))
    vectors = rows.take(used.tolist())
    return KernelMachine(
        vectors.columns, vectors.pointers, coefficients[used], intercepts, sides, form
    )


def forest(
    words: TrainingWords, options: ForestOptions, seed: int, _: Progress
) -> Forest:
    """Return a random forest of fully grown trees."""
    ensemble = needed("sklearn.ensemble", "scikit-learn", "this learner")
    present = words.present()
    width = words.rows.width
    learner = ensemble.RandomForestClassifier(
        options.trees,
        max_features=min(width, options.tried or int(math.log2(width)) + 1),
        random_state=seed,
    )
    learner.fit(words.matrix().tocsc(), words.labels)
    trees = [each.tree_ for each in learner.estimators_]
    sizes = [each.node_count for each in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    shares = np.zeros((sum(sizes), words.classes), np.float32)
    shares[:, present] = np.concatenate([_shares(each) for each in trees])
    return Forest(
        roots.astype(np.int32),
        np.concatenate([_features(each) for each in trees]),
        _nodes([each.children_left for each in trees], roots),
        _nodes([each.children_right for each in trees], roots),
        shares,
    )


def _shares(tree: Tree) -> Floats:
    counts: Floats = tree.value[:, 0, :]
    shares: Floats = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _features(tree: Tree) -> NDArray[np.int32]:
    return np.where(tree.children_left < 0, -1, tree.feature).astype(np.int32)


def _nodes(
    children: Sequence[NDArray[np.int64]], roots: NDArray[np.int64]
) -> NDArray[np.int32]:
    # A word without the feature has 0, below any threshold: it goes left.
    shifted = [each + root for each, root in zip(children, roots, strict=True)]
    return np.concatenate(shifted).astype(np.int32)
