"""The best of a line's best paths: finding, judging and learning them."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from deid_core import ConfigError
from deid_core.research.training.learners import CrfOptions
from deid_core.research.training.learners.crf import learn
from deid_core.research.training.rescorer_learning import (
    Example,
    RescoringOptions,
    examples_of,
    known_values,
    learn_rescorer,
)
from deid_core.tagger.compiled import Bias, CompiledModel
from deid_core.tagger.compiled_rescoring import PathFinder
from deid_core.tagger.kernels.paths import best_paths, unsure_lines
from deid_core.tagger.kernels.viterbi import FORBIDDEN, transitions_of
from deid_core.tagger.model_files import load_model, save_model
from deid_core.tagger.rescoring import (
    LineView,
    OtherLines,
    Rescorer,
    Stretch,
    Values,
    order_features,
    outside_features,
    stretch_features,
    values_in,
    without_line,
)
from tests.deid_core.tagger.tagger_cases import (
    CODEC,
    LISTS,
    encoded,
    invented_lines,
    invented_text,
    model_of,
)

WORDS = 4
GAP = 3.0


def _chain(seed):
    """Return random scores of a line and random transitions, some forbidden."""
    chance = np.random.default_rng(seed)
    labels = len(CODEC.labels)
    scores = chance.normal(0, 2, (WORDS, labels)).astype(np.float32)
    drawn = chance.normal(0, 1, (labels + 1, labels))
    transitions = np.where(CODEC.allowed(), drawn, FORBIDDEN).astype(np.float32)
    return scores, transitions


def _every_path(scores, transitions):
    """Return each allowed path with its score, best first."""
    start = len(CODEC.labels)
    found = []
    for path in product(range(start), repeat=WORDS):
        steps = zip((start, *path), path, strict=False)
        total = sum(transitions[step] for step in steps)
        total += sum(scores[at, label] for at, label in enumerate(path))
        if total > FORBIDDEN / 2:
            found.append((float(total), path))
    return sorted(found, reverse=True)


@pytest.mark.parametrize("seed", range(6))
def test_the_best_paths_are_those_that_counting_all_paths_finds(seed):
    scores, transitions = _chain(seed)
    totals = np.empty(8, np.float32)
    paths = np.empty((8, WORDS), np.int8)
    chain = transitions_of(transitions)
    count = best_paths(scores, chain, GAP, totals, paths)
    every = _every_path(scores, transitions)
    expected = [each for each in every if each[0] >= every[0][0] - GAP][:8]
    assert [tuple(path) for path in paths[:count].tolist()] == [
        path for _, path in expected
    ]
    assert totals[:count] == pytest.approx([total for total, _ in expected], abs=1e-3)


def test_a_line_is_unsure_where_a_second_path_is_near():
    lines = [_chain(seed)[0] for seed in range(20)]
    transitions = _chain(0)[1]
    starts = np.arange(0, 21 * WORDS, WORDS)
    unsure = np.empty(20, np.bool_)
    unsure_lines(
        np.concatenate(lines),
        starts,
        transitions_of(transitions),
        0.5,
        unsure,
    )
    ranked = [_every_path(scores, transitions) for scores in lines]
    expected = [paths[1][0] >= paths[0][0] - 0.5 for paths in ranked]
    assert unsure.tolist() == expected
    assert 0 < sum(expected) < 20


LINE = LineView(
    ["visto", "por", "eva", "prat", "(", "madrid", "2"],
    ["a+", "a+", "givenA", "Aa+", "(", "townA", "1month"],
    Values.of({("madrid", "TOWN"): 4, ("eva prat", "TOWN"): 1}),
    OtherLines(Values.of({("eva prat", "NAME"): 1})),
)


def test_a_value_is_told_by_its_ends_its_surroundings_and_where_it_was_seen():
    found = set(stretch_features(LINE, Stretch(2, 4, "NAME")))
    assert {
        "length NAME 2",
        "first NAME eva",
        "last NAME prat",
        "before NAME por",
        "after NAME (",
        "ends NAME givenA Aa+",
        "text NAME eva prat",
        "known NAME 0 1",
        "near NAME 1 0",
    } <= found
    assert not any(name.startswith(("open", "within")) for name in found)


def test_a_value_that_ends_with_another_known_one_or_opens_a_bracket_is_told():
    found = set(stretch_features(LINE, Stretch(2, 6, "NAME")))
    assert {"open NAME", "within NAME TOWN", "marks NAME ("} <= found


def test_an_order_is_told_by_tags_and_what_stands_between():
    path = (Stretch(2, 4, "NAME"), Stretch(5, 6, "TOWN"))
    assert set(order_features(LINE, path)) == {
        "from ^ NAME w",
        "next NAME TOWN",
        "from NAME TOWN (",
        "from TOWN $ 2",
    }
    assert list(order_features(LINE, ())) == []


def test_a_word_left_outside_is_told_by_itself_and_its_kind():
    assert set(outside_features(LINE, 5)) == {"O madrid", "O kind townA"}


def test_a_document_s_values_are_counted_without_the_line_itself():
    line = values_in(["eva", "prat"], (Stretch(0, 2, "NAME"),))
    twice = without_line(Values.of(line + line), line)
    assert twice.seen("eva prat", "NAME") == (1, 0)
    assert without_line(Values.of(line), line).seen("eva prat", "NAME") == (0, 0)


def test_each_document_knows_a_value_once():
    lines = invented_lines(30)
    [first, second] = known_values([lines + lines, lines])
    assert first == second
    assert set(first.values()) == {1}


def test_what_the_less_wrong_paths_have_is_preferred():
    examples = [
        Example([Counter({"bad": 1}), Counter({"good": 1})], [0.0, -1.0], [1, 0])
    ] * 20
    learned = learn_rescorer(examples, Values(), RescoringOptions(decay=0.1))
    assert learned.weights["good"] > 0 > learned.weights["bad"]
    assert learned.weights["good"] - learned.weights["bad"] > learned.scale


@pytest.mark.parametrize("options", [{"folds": 1}, {"most": 1}, {"gap": 0.0}])
def test_options_that_leave_nothing_to_choose_are_refused(options):
    with pytest.raises(ConfigError, match="rescoring"):
        RescoringOptions(**options)


@pytest.fixture(scope="module")
def model():
    corpus = encoded(invented_lines(60))
    return model_of(corpus, learn(corpus, CODEC, CrfOptions(epochs=2), seed=1), 0.05)


def _rescorer(**weights):
    named = {name.replace("_", " "): value for name, value in weights.items()}
    return Rescorer(named, 1.0, Values.of({("eva", "NAME"): 2}), 8, 20.0)


def _found(model, texts, bias=None):
    compiled = CompiledModel.of(model)
    return compiled.tag(texts, bias) if bias else compiled.tag(texts)


def _spans(model):
    found = _found(model, TEXTS)
    return [[(each.start, each.end, each.tag) for each in some] for some in found]


TEXTS = [invented_text(15, seed) for seed in range(5)]


def test_a_rescorer_that_knows_nothing_leaves_the_chain_s_best_path(model):
    assert _found(replace(model, rescorer=_rescorer()), TEXTS) == _found(model, TEXTS)


def test_a_rescorer_exchanges_paths_and_their_probabilities(model):
    against = replace(model, rescorer=_rescorer(tag_STREET=-30.0))
    plain, other = _found(model, TEXTS), _found(against, TEXTS)
    streets = [sum(e.tag == "STREET" for f in x for e in f) for x in (plain, other)]
    assert streets[1] < streets[0]
    scores = [each.score for found in other for each in found]
    assert min(scores) < min(each.score for found in plain for each in found)
    assert all(0 <= score <= 1 for score in scores)


def test_rescored_texts_are_tagged_alike_alone_and_in_a_batch(model):
    compiled = CompiledModel.of(replace(model, rescorer=_rescorer(near_NAME_1_0=3.0)))
    assert compiled.tag(TEXTS) == [compiled.tag([text])[0] for text in TEXTS]


def test_a_threshold_and_the_labels_are_of_the_chain_alone(model):
    against = replace(model, rescorer=_rescorer(tag_STREET=-30.0))
    bias = Bias(below=0.5)
    assert _found(against, TEXTS, bias) == _found(model, TEXTS, bias)
    labels = [CompiledModel.of(each).labels(TEXTS[0]) for each in (model, against)]
    assert labels[0] == labels[1]


def test_a_line_of_too_many_words_keeps_the_chain_s_path(model):
    compiled = CompiledModel.of(model)
    finder = compiled.paths(most=4, gap=50.0)
    line = "Nombre: Eva Prat, Calle Prat 3. "
    for times, found in ((1, 1), (100, 1), (200, 0)):
        assert len(list(finder.unsure(compiled.chain([line * times])))) == found


def test_examples_are_the_unsure_lines_with_how_wrong_each_path_is(model):
    lines = invented_lines(40, seed=3)
    chain = CompiledModel.of(model)
    options = RescoringOptions(gap=20.0)
    examples = list(examples_of(chain, options, lines, Values()))
    assert examples
    for each in examples:
        assert len(each.features) == len(each.logs) == len(each.wrong) > 1
        assert each.logs[0] == 0
        assert sorted(each.logs, reverse=True) == each.logs
        assert not set.intersection(*(set(some.items()) for some in each.features))
    assert any(min(each.wrong) == 0 for each in examples)


def test_a_finder_tells_stretches_as_the_codec_does(model):
    finder = PathFinder(CODEC, LISTS, transitions_of(model.weights.transitions), 4, 1.0)
    labels = np.array([0, 1, 2, 1, 3, 4, 4, 0], np.int8)
    words = [range(at, at + 1) for at in range(len(labels))]
    expected = [
        Stretch(first, past, span.tag)
        for span, first, past in CODEC.decode(words, labels.tolist())
    ]
    assert list(finder.path(labels)) == expected


def test_a_rescorer_is_written_and_read_whole(model, tmp_path):
    whole = replace(model, rescorer=_rescorer(tag_STREET=-30.0, near_NAME_1_0=1.5))
    save_model(whole, tmp_path / "whole")
    loaded = load_model(str(tmp_path / "whole"))
    assert loaded.rescorer == whole.rescorer
    assert _spans(loaded) == _spans(whole)


def test_a_rescorer_that_knows_nothing_is_written_and_read(model, tmp_path):
    empty = Rescorer({}, 1.0, Values(), 4, 2.0)
    save_model(replace(model, rescorer=empty), tmp_path / "empty")
    assert load_model(str(tmp_path / "empty")).rescorer == empty
