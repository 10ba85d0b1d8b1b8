"""A linear chain by python-crfsuite (Okazaki 2007), as plain weights.

Its default, L-BFGS, is deterministic: the seed changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from deid_core.research.packages import needed
from deid_core.research.training.encoding import Encoded
from deid_core.research.training.weights import ChainWeights, Progress, no_progress
from deid_core.tagger.codec import Bio

from . import CrfsuiteOptions

Line = tuple[list[list[str]], list[str]]
"""The feature numbers of each word and its label, as text."""

_PREPARED = 0.1
"""The share of the work that is done when the lines are appended."""
_STEP = "python-crfsuite"
_ITERATION = re.compile(r"\*+ (?:Iteration|Epoch) #(\d+)")
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
        progress: Called at the start, after each iteration, and at the end.
    """
    pycrfsuite = needed("pycrfsuite", "python-crfsuite", "this learner")

    def message(_trainer: object, line: str) -> None:
        if iteration := _ITERATION.match(line):
            share = int(iteration[1]) / options.max_iterations
            progress(_PREPARED + (1 - _PREPARED) * min(share, 1.0), _STEP)

    # Its method `message` gets each line of the log.
    reporting: Any = type("Reporting", (pycrfsuite.BaseTrainer,), {"message": message})
    trainer = reporting(algorithm=options.algorithm)
    trainer.set_params(_parameters(options))
    for features, labels in lines:
        trainer.append(features, labels)
    progress(_PREPARED, _STEP)
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
    progress(1.0, _STEP)
    return ChainWeights(state, transitions)


def _parameters(options: CrfsuiteOptions) -> dict[str, Any]:
    penalties = _PENALTIES.get(options.algorithm, ())
    return {
        "max_iterations": options.max_iterations,
        **{name: getattr(options, name) for name in penalties},
        "feature.possible_transitions": options.all_transitions,
    }
