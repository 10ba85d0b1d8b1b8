"""Linear chains over words by python-crfsuite.

The papers use Carafe (MIST), MALLET (MCRF) and CRF++ (WI-deId): the same model, trained
by L-BFGS with an L2 penalty.
"""

from __future__ import annotations

from itertools import pairwise

from deid_core.research.published.predictors import Chain
from deid_core.research.published.rows import TrainingWords
from deid_core.research.training.learners import CrfsuiteOptions
from deid_core.research.training.learners.crfsuite import fit
from deid_core.research.training.weights import Progress

_NEVER = -1e9


def chain(
    words: TrainingWords, options: CrfsuiteOptions, seed: int, progress: Progress
) -> Chain:
    """Return the chain that fits the words; L-BFGS is deterministic: no seed.

    Transitions are not constrained, as in the papers: ``I-a`` may begin a span.
    """
    rows, labels = words.rows, [str(label) for label in words.labels.tolist()]
    names = [str(each) for each in range(rows.width)]
    lines = (
        (
            [
                [names[column] for column in rows.of_word(at)]
                for at in range(first, last)
            ],
            labels[first:last],
        )
        for first, last in pairwise(rows.starts.tolist())
        if first < last
    )
    present = words.present()
    found = fit(lines, options, (rows.width, words.classes), progress)
    # A label that no word has must not win where all others are below 0.
    absent = sorted({*range(words.classes)} - {*present})
    found.transitions[:, absent] = _NEVER
    return Chain(found.state, found.transitions)
