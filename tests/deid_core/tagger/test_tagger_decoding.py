from itertools import product

import numpy as np
import pytest

from deid_core.tagger.codec import Bio
from deid_core.tagger.kernels.decoding import decode
from deid_core.tagger.kernels.tables import fill_table, place_of
from deid_core.tagger.kernels.viterbi import FORBIDDEN, transitions_of

CODEC = Bio(("A", "B"))
WORDS = 6


def _chances(scores, transitions):
    """Return every path and its probability, by counting all of them."""
    labels = range(scores.shape[1])
    paths = np.array([*product(labels, repeat=len(scores))])
    total = transitions[-1, paths[:, 0]] + scores[0, paths[:, 0]]
    for at in range(1, len(scores)):
        step = transitions[paths[:, at - 1], paths[:, at]]
        total = total + step + scores[at, paths[:, at]]
    chances = np.exp(total - total.max())
    return paths, chances / chances.sum()


@pytest.mark.parametrize("spread", [1.0, 6.0, 20.0])
@pytest.mark.parametrize("seed", range(12))
def test_a_line_gets_its_best_path_and_that_path_s_probabilities(seed, spread):
    """
    With a spread of 20 most words are sure, and few paths leave label 0 at all.
    """
    generator = np.random.default_rng(seed)
    shape = (WORDS + 1, len(CODEC.labels))
    transitions = np.where(CODEC.allowed(), generator.normal(size=shape)[:6], FORBIDDEN)
    transitions = transitions.astype(np.float32)
    scores = generator.normal(0.0, spread, (WORDS, 5)).astype(np.float32)
    scores[:, 0] += spread
    path, sureness = np.empty(WORDS, np.int8), np.empty(WORDS, np.float32)
    starts = np.array([0, WORDS])

    chain = transitions_of(transitions)
    decode(scores, starts, chain, 0.0, -1.0, path, sureness)

    paths, chances = _chances(scores, transitions)
    assert paths[chances.argmax()].tolist() == path.tolist()
    for at in np.flatnonzero(path):
        expected = chances[paths[:, at] == path[at]].sum()
        assert expected == pytest.approx(sureness[at], abs=1e-4)


def test_keys_that_differ_in_their_first_part_alone_stand_apart():
    keys = np.arange(256, dtype=np.int64) << 40 | 7
    table, rows = np.full(1024, -1, np.int64), np.zeros(1024, np.int32)

    fill_table(keys, np.arange(256, dtype=np.int32), table, rows)

    assert all(key == table[place_of(key, table)] for key in keys)
    gaps = np.diff(np.flatnonzero(table < 0))
    assert gaps.max() < 64
