from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from deid_core.research.training.learners import CrfOptions
from deid_core.research.training.learners.crf import learn
from deid_core.tagger.compiled import Bias, CompiledModel
from tests.deid_core.tagger.tagger_cases import (
    CODEC,
    crfsuite_tagger,
    encoded,
    invented_lines,
    invented_text,
    model_of,
    weights_of,
)


@pytest.fixture(scope="module")
def model():
    corpus = encoded(invented_lines(200))
    return model_of(corpus, learn(corpus, CODEC, CrfOptions(epochs=4), seed=1), 0.05)


@pytest.fixture(scope="module")
def compiled(model):
    return CompiledModel.of(model)


def test_it_decodes_every_word_as_python_crfsuite_does(tmp_path):
    corpus = encoded(invented_lines(150))
    witness = crfsuite_tagger(corpus, tmp_path / "model", c2=0.05, max_iterations=60)
    compiled = CompiledModel.of(model_of(corpus, weights_of(witness, corpus)))
    lines = [line for line in invented_lines(400, seed=9) if line.text]
    said = compiled.labels("\n".join(line.text for line in lines))
    other = encoded(lines)
    for at, labels in enumerate(said):
        expected = witness.tag(other.names_of(at))
        assert [CODEC.labels[label] for label in labels] == expected


def test_it_finds_what_it_has_learned(compiled):
    text = "Nombre: Omar Olmo.\n\nVisto por Dr. Eva Prat el 3/4/1988, sin fiebre."
    [found] = compiled.tag([text])
    assert [(text[each.start : each.end], each.tag) for each in found] == [
        ("Omar Olmo", "NAME"),
        ("Eva Prat", "NAME"),
        ("3/4/1988", "DATE"),
    ]
    assert all(0.5 < each.score <= 1 for each in found)


def test_a_text_is_tagged_alike_alone_and_in_a_batch(compiled):
    texts = [invented_text(5, seed) for seed in range(6)] + ["", "\n\n", "tos"]
    assert compiled.tag(texts) == [compiled.tag([text])[0] for text in texts]


def test_a_cache_that_forgets_changes_no_result(model, compiled):
    small = CompiledModel.of(model, most_types=20)
    for seed in range(30):
        texts = [invented_text(3, seed)]
        assert small.tag(texts) == compiled.tag(texts)


def test_threads_share_a_model(model, compiled):
    small = CompiledModel.of(model, most_types=40)
    texts = [invented_text(4, seed) for seed in range(60)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: small.tag([text])[0], texts))
    assert found == [compiled.tag([text])[0] for text in texts]


def _words_tagged(found):
    return sum(each.end - each.start for tagged in found for each in tagged)


def test_each_recall_bias_tags_more(compiled):
    texts = [invented_text(20, seed).lower() for seed in range(5)]
    plain = _words_tagged(compiled.tag(texts))
    assert _words_tagged(compiled.tag(texts, Bias(outside=3.0))) > plain
    assert _words_tagged(compiled.tag(texts, Bias(below=0.999))) > plain


def test_a_threshold_of_nothing_leaves_the_best_path(compiled):
    texts = [invented_text(20, seed) for seed in range(3)]
    plain, biased = compiled.tag(texts), compiled.tag(texts, Bias(below=0.0))
    spans = [[(each.start, each.end, each.tag) for each in found] for found in plain]
    assert spans == [[(e.start, e.end, e.tag) for e in found] for found in biased]


def test_a_word_never_seen_gets_the_scores_of_its_features(model, compiled):
    text = "Nombre: Zuriñe Prat."
    weights = model.weights
    row_of = {name: at for at, name in enumerate(weights.names)}
    dense = weights.dense()
    [found] = compiled.tag([text])
    names = encoded([type(invented_lines(1)[0])(text, ())]).names_of(0)
    scores = np.array(
        [
            dense[[row_of[name] for name in word if name in row_of]].sum(axis=0)
            for word in names
        ]
    )
    transitions = np.maximum(weights.transitions, -1e9)
    assert _viterbi(scores, transitions) == compiled.labels(text)[0]
    assert text[found[0].start : found[0].end] == "Zuriñe Prat"


def _viterbi(scores, transitions):
    best = transitions[-1] + scores[0]
    back = []
    for row in scores[1:]:
        steps = best[:, None] + transitions[:-1]
        back.append(steps.argmax(axis=0))
        best = steps.max(axis=0) + row
    path = [int(best.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return path[::-1]


def test_each_text_may_have_its_own_bias(compiled):
    texts = [line.text for line in invented_lines(40, seed=5)]
    texts[3] += "\n\n" + texts[4]
    biases = [3.0 * (at % 3 == 0) for at in range(len(texts))]

    apart = [
        compiled.tag([text], Bias(outside=bias))[0]
        for text, bias in zip(texts, biases, strict=True)
    ]

    assert apart == compiled.tag(texts, Bias(outside=biases))
    assert apart != compiled.tag(texts)
