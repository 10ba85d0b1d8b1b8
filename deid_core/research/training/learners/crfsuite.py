"""A linear chain by python-crfsuite (Okazaki 2007), read out as plain weights.

The papers use Carafe (MIST), MALLET (MCRF) and CRF++ (WI-deId): the same model, trained
by L-BFGS with an L2 penalty.  L-BFGS draws no chance: the seed changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from deid_core.research.packages import needed
from deid_core.research.published.learners.support import Marked
from deid_core.tagger.codec import Bio
from deid_core.tagger.encoding import Encoded
from deid_core.tagger.weights import ChainWeights, Progress, no_progress

from .options import CrfsuiteOptions

if TYPE_CHECKING:
    from deid_core.research.published.predictors import Chain

Line = tuple[list[list[str]], list[str]]
"""Of each word the numbers of its features, and its label, as text."""

_NEVER = -1e9


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
    labels = len(codec.labels)
    found = _fit(lines, options, (len(encoded.names), labels), progress)
    forbidden = ~codec.allowed()
    found.transitions[forbidden] = -np.inf
    return found


def learn_words(marked: Marked, options: CrfsuiteOptions, seed: int) -> Chain:
    """Return the chain that fits marked words.

    Without constraints, as the papers have it: ``I-a`` may begin a span.
    """
    from deid_core.research.published.predictors import Chain

    rows, labels = marked.rows, [str(label) for label in marked.labels.tolist()]
    numbers = [str(each) for each in range(rows.width)]
    bounds = rows.starts.tolist()
    lines = (
        (
            [
                [
                    numbers[column]
                    for column in rows.columns[
                        rows.pointers[at] : rows.pointers[at + 1]
                    ]
                ]
                for at in range(first, last)
            ],
            labels[first:last],
        )
        for first, last in pairwise(bounds)
        if first < last
    )
    present = marked.present()
    found = _fit(lines, options, (rows.width, marked.classes), no_progress)
    # A label that no word has must not win where all others are below 0.
    absent = sorted({*range(marked.classes)} - {*present})
    found.transitions[:, absent] = _NEVER
    return Chain(found.state, found.transitions)


def _fit(
    lines: Iterable[Line],
    options: CrfsuiteOptions,
    shape: tuple[int, int],
    progress: Progress,
) -> ChainWeights:
    """Return the weights, shape ``[features, labels]`` and one more row than labels."""
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
    width, labels_count = shape
    state = np.zeros((width, labels_count), np.float32)
    for (row, label), weight in info.state_features.items():
        state[int(row), int(label)] = weight
    transitions = np.zeros((labels_count + 1, labels_count), np.float32)
    for (before, label), weight in info.transitions.items():
        transitions[int(before), int(label)] = weight
    progress(1.0, "python-crfsuite")
    return ChainWeights(state, transitions)


def _parameters(options: CrfsuiteOptions) -> dict[str, Any]:
    found: dict[str, Any] = {"max_iterations": options.max_iterations}
    if options.algorithm in _PENALTIES:
        found |= {
            each: getattr(options, each) for each in _PENALTIES[options.algorithm]
        }
    return found | {"feature.possible_transitions": options.all_transitions}


_PENALTIES: dict[str, Sequence[str]] = {"lbfgs": ("c1", "c2"), "l2sgd": ("c2",)}
