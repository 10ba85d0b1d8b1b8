from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core.tagger.codec import Bio
from deid_core.tagger.compact_tables import fill_table
from deid_core.tagger.kernels.decoding import decode
from deid_core.tagger.kernels.tables import row_of
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
    starts, no_bias = np.array([0, WORDS]), np.zeros(1, np.float32)

    chain = transitions_of(transitions)
    decode(scores, starts, chain, no_bias, -1.0, path, sureness)

    paths, chances = _chances(scores, transitions)
    assert paths[chances.argmax()].tolist() == path.tolist()
    for at in np.flatnonzero(path):
        expected = chances[paths[:, at] == path[at]].sum()
        assert expected == pytest.approx(sureness[at], abs=1e-4)


def test_keys_that_differ_in_their_first_part_alone_stand_apart():
    keys = np.arange(256, dtype=np.int64) << 40 | 7
    entries, bits = np.empty((1024, 2), np.int64), np.empty(512, np.uint8)

    fill_table(keys, np.arange(256), entries, bits)

    assert [row_of(key, entries, bits) for key in keys] == [*range(256)]
    gaps = np.diff(np.flatnonzero(entries[:, 0] < 0))
    assert gaps.max() < 64


@settings(deadline=None)
@given(st.sets(st.integers(0, 1 << 60), max_size=40), st.integers(0, 1 << 60))
def test_a_key_has_its_row_and_any_other_has_none(known, other):
    keys = np.array(sorted(known - {other}), dtype=np.int64)
    entries, bits = np.empty((128, 2), np.int64), np.empty(64, np.uint8)

    fill_table(keys, np.arange(len(keys)), entries, bits)

    assert [row_of(key, entries, bits) for key in keys] == [*range(len(keys))]
    assert row_of(np.int64(other), entries, bits) == -1
