"""A trained linear chain as plain data: weights by the names of their features.

On disk a folder: ``model.json`` (what it is, and the hash of the weights),
``weights.npz`` (arrays alone; nothing that runs when loaded) and ``README.md``, the
model card.  One digest is over all of them: see `digests`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_core.labels import Label

from .codec import Bio
from .features import FeatureSet, WordLists
from .rescoring import Rescorer


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Sparse weights of named features, and dense transitions.

    Args:
        names: Of the features; see `property_name` and `conjunction_name`.
        pointers: Where each feature's weights start, shape ``[features + 1]``.
        labels: The label of each weight.
        values: The weights.
        transitions: From label to label; the last row is the start of a line;
            forbidden is ``-inf``.  Shape ``[labels + 1, labels]``.
    """

    names: Sequence[str] = field(repr=False)
    pointers: NDArray[np.int32]
    labels: NDArray[np.uint8]
    values: NDArray[np.float32]
    transitions: NDArray[np.float32]

    def dense(self) -> NDArray[np.float32]:
        """Return one row for each feature, shape ``[features, labels]``."""
        shape = (len(self.names), self.transitions.shape[1])
        found = np.zeros(shape, dtype=np.float32)
        rows = np.repeat(np.arange(len(self.names)), np.diff(self.pointers))
        found[rows, self.labels] = self.values
        return found


@dataclass(frozen=True, slots=True)
class Model:
    """All that tagging needs.

    Args:
        name: Of the model; audit events show it.
        version: Of its training; another training is another version.
        language: ISO 639, two letters.
        tags: Each tag that it tells, with our label for it.
        features: What it looks at.
        lists: What it knows of words.
        weights: What it learned.
        trained: How: recipe, seed, corpora, options; for the reader.
        rescorer: What chooses among the best paths of a line, if anything does.
    """

    name: str
    version: str
    language: str
    tags: Mapping[str, Label]
    features: FeatureSet
    lists: WordLists = field(repr=False)
    weights: Weights = field(repr=False)
    trained: Mapping[str, Any] = field(default_factory=dict)
    rescorer: Rescorer | None = field(default=None, repr=False)

    @property
    def codec(self) -> Bio:
        """The labels that the weights are of."""
        return Bio(tuple(self.tags))
