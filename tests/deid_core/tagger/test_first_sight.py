"""What a new word gives: kernels over code points, and features made as strings."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core.labels import Label
from deid_core.tagger.features import (
    PROPERTIES,
    WORD_COLUMNS,
    FeatureSet,
    WordLists,
    column_value,
    property_name,
)
from deid_core.tagger.kernels.tables import REACH, WIDTH
from deid_core.tagger.model import Model, Weights
from deid_core.tagger.model_files import load_model
from deid_core.tagger.model_tables import ModelTables, TableLists, numberings
from deid_core.tagger.score_tables import TypeTables
from deid_core.tagger.words import NEWLINE, PlacedWords, pieces
from tests.sampling import examples, sampled

SHIPPED = ("english", "english-small", "meddocan")
KINDS = """
Maria maria MARIA Nadia's Hospital hospital Dr dr calle Calle avda 28013 280134
0 00 07 12 13 31 32 99 100 999 1000 1899 1900 1987 2099 2100 01987 123456789
9999999999 00000000000 ² ²³ 1² ½ ٣٤ ١٩٨٧ @ / \\ ® ( ) ' \u2019 “ \u2013 — … _
__ a_b Ⅳ ⅳ ⓐ Ⓐ İstanbul ıĞ ΣΟΦΟΣ Σ ΟΔΟΣ ΑΣΑ ß STRAẞE straße Ǆ ǅ ǆ Åse ÅSE ǋ ﬁ
ﬁn 北京 東京都 \uff41\uff42\uff43 \uff21\uff22\uff23 \uff11\uff12\uff13 😀
\U0001d400\U0001d401 𐐀𐐨 ñandú NÚÑEZ n° º ª ºC e\u0301 \u0301
\u0939\u093f\u0928\u094d E\u0301 1\u20e3 \u200b \ufeff \xad
<pad> <ma ma* *ia aA given surname - -/0 title
"""
WORDS = KINDS.split()
LONG = ("x" * 128, "x" * 129, "Ab" + "c" * 200, "7" * 300, "Σ" * 150, "é" * 127 + "Σ")


@cache
def shipped(name: str) -> tuple[Model, ModelTables]:
    model = load_model(name)
    return model, ModelTables.of(model)


@cache
def blocks_of(name: str):
    return _blocks(shipped(name)[0])


def _blocks(model: Model):
    """Return what each value of a property gives, shape ``[7, labels]``, by name."""
    dense = model.weights.dense()
    blocks: dict[tuple[str, str], np.ndarray] = {}
    for row, name in enumerate(model.weights.names):
        found = re.fullmatch(r"(\w+)\[(-?\d)\]=(.*)", name, re.DOTALL)
        if found is not None:
            key = (found[1], found[3])
            nothing = np.zeros((WIDTH, dense.shape[1]), dtype=np.float32)
            blocks.setdefault(key, nothing)[int(found[2]) + REACH] = dense[row]
    return blocks, numberings(model)


def check(model: Model, tables: ModelTables, texts, reference, most=1_000) -> None:
    """Compare every word's scores and columns with those of its features' names."""
    types = TypeTables(tables, most)
    blocks, numbers = reference
    labels = model.weights.transitions.shape[1]
    for text in texts:
        words = PlacedWords.of([text], blanks=model.features.blanks)
        found, scores, columns = types.look_up(words)
        as_strings = pieces(text, blanks=model.features.blanks)
        strings = [word for word in as_strings if word != NEWLINE]
        assert len(strings) == len(found)
        for word, number in zip(strings, found.tolist(), strict=True):
            cut = word if len(word) <= 128 else word[:64] + word[-64:]
            pairs = model.features.values(cut, model.lists)
            given_by = [blocks[pair] for pair in pairs if pair in blocks]
            expected = np.array(
                given_by or np.zeros((1, WIDTH, labels)), dtype=np.float32
            ).sum(axis=0)
            np.testing.assert_array_equal(scores[number, :, :labels], expected)
            assert not scores[number, :, labels:].any()
            assert [
                numbers[name].get(column_value(name, cut, model.lists), -1)
                for name in WORD_COLUMNS
            ] == columns[number].tolist()


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_model_sees_words_of_all_kinds_as_their_features_are(name):
    model, tables = shipped(name)
    known = sorted(
        {value for group, value in blocks_of(name)[0] if group in ("word", "exact")}
    )
    words = [*WORDS, *known[::40], *(word.title() for word in known[::60])]
    text = " ".join(sampled(words))

    check(model, tables, [text, "".join(WORDS), *LONG, "\n"], blocks_of(name), 40_000)


def test_a_text_of_more_words_than_are_kept_is_seen_as_any_other():
    model, tables = shipped("meddocan")

    few = " ".join(WORDS[:20])
    check(model, tables, [few, " ".join(WORDS), few], blocks_of("meddocan"), 8)


def test_every_character_is_seen_as_its_features_are():
    characters = [*range(0xD800), *range(0xE000, 0x11000), 0x1F600]
    text = " ".join(map(chr, sampled(characters)))
    model, tables = shipped("meddocan")

    check(model, tables, [text], blocks_of("meddocan"), 70_000)


texts_of_all_kinds = st.lists(
    st.text(max_size=8)
    | st.sampled_from([*WORDS, *LONG])
    | st.text("aAbBñÑ019 '\u2019@/\n²Σ\u03c3ςİ", max_size=12),
    max_size=12,
).map(" ".join)


@pytest.mark.parametrize("name", SHIPPED)
@given(text=texts_of_all_kinds)
@settings(max_examples=examples(150), deadline=None)
def test_a_shipped_model_sees_any_text_as_its_features_are(name, text):
    # What UTF-8 cannot hold comes in no note, but must not fail either.
    model, tables = shipped(name)
    check(model, tables, [text, text.upper()], blocks_of(name))


windows = st.tuples(st.integers(-3, 3), st.integers(-3, 3)).map(sorted)
short_words = st.text("aAbñ01²Σİ@-\u2019", min_size=1, max_size=4)
word_lists = st.dictionaries(
    st.sampled_from(["one", "two", "three"]),
    st.lists(short_words, max_size=5).map(" ".join),
)
patterns = st.dictionaries(
    st.sampled_from(["one", "four"]),
    st.sampled_from(["[0-9]{2}", "@", "(?i)ab+", "a|b", ".*", "[^a]"]),
)


@st.composite
def models(draw) -> tuple[Model, str]:
    """Return a random model and a text that has the words its features are of."""
    chosen = draw(st.permutations(sorted(PROPERTIES)))
    features = FeatureSet.read(
        {name: draw(windows) for name in chosen[: draw(st.integers(1, 12))]}
        | {"conjunctions": [f"{name}:0" for name in WORD_COLUMNS]}
    )
    lists = WordLists(draw(word_lists), draw(patterns), draw(word_lists))
    text = draw(st.lists(short_words, min_size=1, max_size=8).map(" ".join))
    names: dict[str, None] = {}
    for word in pieces(text, blanks=features.blanks):
        for group, value in features.values(word, lists):
            for offset in range(-3, 4):
                names[property_name(group, offset, value)] = None
        for column in WORD_COLUMNS:
            if value := column_value(column, word, lists):
                names[f"{column}:0={value}"] = None
    kept = draw(st.lists(st.sampled_from([*names]), unique=True, min_size=1))
    chance = np.random.default_rng(draw(st.integers(0, 99)))
    labels = np.tile(np.arange(3, dtype=np.uint8), len(kept))
    weights = Weights(
        kept,
        np.arange(len(kept) + 1, dtype=np.int32) * 3,
        labels,
        chance.normal(size=len(labels)).astype(np.float32),
        np.zeros((4, 3), dtype=np.float32),
    )
    tags = {"NAME": Label.PATIENT}
    return Model("random", "1", "en", tags, features, lists, weights), text


@given(models(), texts_of_all_kinds)
@settings(max_examples=examples(150), deadline=None)
def test_any_model_sees_words_as_their_features_are(pair, other):
    model, text = pair
    check(model, ModelTables.of(model), [text, other], _blocks(model))


@pytest.mark.parametrize("name", SHIPPED)
def test_tables_know_of_words_what_the_lists_of_the_model_do(name):
    model, tables = shipped(name)
    lists = TableLists(tables)
    listed = " ".join(model.lists.lists.values()).split()[::500]
    cues = " ".join(model.lists.cues.values()).split()
    for word in (*WORDS, *listed, *cues, *map(str.title, cues)):
        assert lists.cue(word) == model.lists.cue(word)
        assert lists.names(word) == model.lists.names(word)
