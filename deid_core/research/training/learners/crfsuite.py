"""A linear chain by python-crfsuite (Okazaki 2007), as plain weights.

Its default, L-BFGS, is deterministic: the seed changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from deid_core.research.training.encoding import Encoded
from deid_core.research.training.weights import ChainWeights, Progress, no_progress
from deid_core.tagger.codec import Bio

from ...packages import needed
from . import CrfsuiteOptions

Line = tuple[list[list[str]], list[str]]
"""The feature numbers of each word and its label, as text."""

_PENALTIES: dict[str, Sequence[str]] = {"lbfgs": ("c1", "c2"), "l2sgd": ("c2",)}


def learn(
    encoded: Encoded,
    codec: Bio,
    options: CrfsuiteOptions,
    *,
    seed: int,
    progress: Progress = no_progress,
) -> ChainWeights:
    """Return the weights that fit encoded lines; forbidden transitions are ``-inf``."""
    lines = (
        (
            [
                [str(row) for row in encoded.rows_of(line, at)]
                for at in range(int(encoded.starts[line + 1] - encoded.starts[line]))
            ],
            [str(label) for label in encoded.labels_of(line)],
        )
        for line in range(len(encoded.starts) - 1)
    )
    found = fit(lines, options, (len(encoded.names), len(codec.labels)), progress)
    found.transitions[~codec.allowed()] = -np.inf
    return found


def fit(
    lines: Iterable[Line],
    options: CrfsuiteOptions,
    shape: tuple[int, int],
    progress: Progress,
) -> ChainWeights:
    """Return the weights of lines.

    Args:
        lines: Features and labels are numbers as text.
        options: Of python-crfsuite.
        shape: Number of features and of labels.
        progress: Called at the start and at the end.
    """
    pycrfsuite = needed("pycrfsuite", "python-crfsuite", "this learner")
    trainer = pycrfsuite.Trainer(algorithm=options.algorithm, verbose=False)
    trainer.set_params(_parameters(options))
    for features, labels in lines:
        trainer.append(features, labels)
    progress(0.1, "python-crfsuite")
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        info = tagger.info()
        tagger.close()
    state = np.zeros(shape, np.float32)
    for (row, label), weight in info.state_features.items():
        state[int(row), int(label)] = weight
    transitions = np.zeros((shape[1] + 1, shape[1]), np.float32)
    for (before, label), weight in info.transitions.items():
        transitions[int(before), int(label)] = weight
    progress(1.0, "python-crfsuite")
    return ChainWeights(state, transitions)


def _parameters(options: CrfsuiteOptions) -> dict[str, Any]:
    penalties = _PENALTIES.get(options.algorithm, ())
    return {
        "max_iterations": options.max_iterations,
        **{name: getattr(options, name) for name in penalties},
        "feature.possible_transitions": options.all_transitions,
    }
