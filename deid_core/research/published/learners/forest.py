"""Random forests (Breiman 2001), by scikit-learn; the paper uses Weka."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_core.research.packages import needed

from ..predictors import Forest
from ..rows import Floats
from .support import Marked
from .word_options import ForestOptions

Tree = Any
"""scikit-learn's, which has no types."""


def learn(marked: Marked, options: ForestOptions, seed: int) -> Forest:
    """Return the trees, grown to the end."""
    ensemble = needed("sklearn.ensemble", "scikit-learn", "this learner")
    present = marked.present()
    width = marked.rows.width
    learner = ensemble.RandomForestClassifier(
        options.trees,
        max_features=min(width, options.tried or int(math.log2(width)) + 1),
        random_state=seed,
    )
    learner.fit(marked.matrix().tocsc(), marked.labels)
    trees = [each.tree_ for each in learner.estimators_]
    sizes = [each.node_count for each in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    shares = np.zeros((sum(sizes), marked.classes), np.float32)
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
    children: list[NDArray[np.int64]], roots: NDArray[np.int64]
) -> NDArray[np.int32]:
    # A word without the feature has 0, which is not above any threshold: it goes left.
    shifted = [each + root for each, root in zip(children, roots, strict=True)]
    return np.concatenate(shifted).astype(np.int32)
