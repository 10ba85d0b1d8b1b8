import numpy as np
import pytest

from deid_core.research.training.learners import LEARNERS, CrfOptions
from deid_core.research.training.learners.crf import learn, margins_of
from deid_core.research.training.learners.crf_kernels import (
    Lines,
    backward,
    buffers,
    emissions,
    gather,
    gold_score,
)
from deid_core.tagger.kernels.chain import forward
from tests.deid_core.tagger.tagger_cases import (
    CODEC,
    crfsuite_tagger,
    encoded,
    invented_lines,
    weights_of,
)

FREE = np.ones((len(CODEC.labels) + 1, len(CODEC.labels)), np.bool_)


@pytest.fixture(scope="module")
def corpus():
    return encoded(invented_lines(120))


@pytest.fixture(scope="module")
def witness(corpus, tmp_path_factory):
    file = tmp_path_factory.mktemp("crf") / "model"
    return crfsuite_tagger(corpus, file, c1=0.0, c2=0.1, max_iterations=200)


def _loss(found, weights, transitions, allowed):
    """Return the negative log-likelihood of all lines, and its exact gradient."""
    gradient, pairs = np.zeros_like(weights), np.zeros_like(transitions)
    steps = np.exp(transitions) * allowed
    lines, state = Lines.of(found), np.ones(1, dtype=np.uint64)
    labels, total = weights.shape[1], 0.0
    for line in range(len(found.starts) - 1):
        gold = np.array(found.labels_of(line), np.int8)
        size = len(gold)
        work = buffers(size, labels)
        gather(lines, line, 0, state, work)
        emissions(size, weights, np.float32(1.0), work)
        total += forward(size, work.scores, labels, steps, work.local, work.alpha)
        total -= gold_score(gold, work.scores, transitions)
        backward(size, work.local, steps, work.alpha, work.beta, pairs)
        np.subtract.at(pairs, (np.append(labels, gold[:-1]), gold), 1.0)
        work.beta[np.arange(size), gold] -= 1.0
        for at in range(size):
            np.add.at(gradient, work.taken[at, : work.counts[at]], work.beta[at])
    return total, gradient, pairs


def test_the_gradient_is_that_of_the_loss():
    found = encoded(invented_lines(8, seed=3))
    chance = np.random.default_rng(0)
    shape = (len(found.names), len(CODEC.labels))
    weights = chance.normal(0, 0.3, shape).astype(np.float32)
    transitions = chance.normal(0, 0.3, FREE.shape).astype(np.float32)
    allowed = CODEC.allowed()
    _, gradient, steps = _loss(found, weights, transitions, allowed)
    for array, slope in ((weights, gradient), (transitions, steps)):
        places = [tuple(each) for each in np.argwhere(np.abs(slope) > 0.05)[::97]]
        assert places
        for place in places:
            before = array[place]
            losses = []
            for change in (0.02, -0.02):
                array[place] = before + np.float32(change)
                losses.append(_loss(found, weights, transitions, allowed)[0])
            array[place] = before
            assert (losses[0] - losses[1]) / 0.04 == pytest.approx(
                slope[place], rel=0.05, abs=0.01
            )


def test_marginals_are_those_of_python_crfsuite_for_the_same_weights(corpus, witness):
    weights = weights_of(witness, corpus)
    steps = np.exp(weights.transitions)
    for line in range(0, len(corpus.starts) - 1, 7):
        names = corpus.names_of(line)
        scores = np.array(
            [
                weights.state[corpus.rows_of(line, at)].sum(axis=0)
                for at in range(len(names))
            ]
        )
        local, alpha, beta = (np.empty_like(scores) for _ in range(3))
        forward(len(names), scores, len(CODEC.labels), steps, local, alpha)
        backward(len(names), local, steps, alpha, beta, np.zeros_like(steps))
        witness.set(names)
        expected = [
            [witness.marginal(label, at) for label in CODEC.labels]
            for at in range(len(names))
        ]
        assert beta == pytest.approx(np.array(expected), abs=1e-3)


def test_it_fits_as_well_as_python_crfsuite(corpus, witness):
    theirs = weights_of(witness, corpus)
    options = CrfOptions(epochs=12, dropout=0.0, certain=0.0, sure=1.0)
    ours = learn(corpus, CODEC, options, seed=1)
    transitions = np.where(CODEC.allowed(), ours.transitions, 0).astype(np.float32)
    own, _, _ = _loss(corpus, ours.state, transitions, CODEC.allowed())
    other, _, _ = _loss(corpus, theirs.state, theirs.transitions, FREE)
    assert own <= 1.05 * other


def test_the_same_seed_gives_the_same_weights(corpus):
    options = CrfOptions(epochs=2)
    one, two = (learn(corpus, CODEC, options, seed=7) for _ in range(2))
    other = learn(corpus, CODEC, options, seed=8)
    assert np.array_equal(one.state, two.state)
    assert np.array_equal(one.transitions, two.transitions)
    assert not np.array_equal(one.state, other.state)


def test_margins_are_of_misses_mistakes_and_inventions():
    options = CrfOptions(missed=2.0, mistaken=1.5, invented=1.0)
    assert margins_of(options, 3).tolist() == [
        [0.0, 1.0, 1.0],
        [2.0, 0.0, 1.5],
        [2.0, 1.5, 0.0],
    ]


def test_a_margin_drives_values_further_from_outside(corpus):
    plain, wide = (
        learn(corpus, CODEC, CrfOptions(epochs=6, missed=missed), seed=1)
        for missed in (0.0, 4.0)
    )
    gaps = []
    for found in (plain, wide):
        scores = [
            found.state[corpus.rows_of(line, at)].sum(axis=0)
            for line in range(len(corpus.starts) - 1)
            for at in range(len(corpus.labels_of(line)))
        ]
        gold = corpus.labels
        gaps.append(
            np.mean([row[y] - row[0] for row, y in zip(scores, gold, strict=True) if y])
        )
    assert gaps[1] > gaps[0] + 1


def test_forbidden_transitions_stay_forbidden(corpus):
    found = learn(corpus, CODEC, CrfOptions(epochs=1), seed=1)
    assert np.isneginf(found.transitions[~CODEC.allowed()]).all()
    assert np.isfinite(found.transitions[CODEC.allowed()]).all()


def test_progress_goes_from_little_to_all(corpus):
    told = []
    options = CrfOptions(epochs=3)
    learn(corpus, CODEC, options, seed=1, progress=lambda share, _: told.append(share))
    assert told == pytest.approx([1 / 3, 2 / 3, 1])


def test_every_learner_of_chains_learns(corpus):
    for kind in (LEARNERS["crf"], LEARNERS["crfsuite"]):
        learned = kind.load()(
            corpus, CODEC, kind.options(), seed=1, progress=lambda *_: None
        )
        assert learned.state.shape == (len(corpus.names), len(CODEC.labels))
