import pytest

from deid_core import ConfigError
from deid_core.research.training.encoding import Line, encode
from deid_core.tagger.codec import TagSpan
from deid_core.tagger.features import (
    PROPERTIES,
    FeatureSet,
    collapsed_shape,
    header,
    kind,
    number_class,
    shape,
)
from tests.deid_core.tagger.tagger_cases import CODEC, FEATURES, LISTS, encoded


@pytest.mark.parametrize("word", ["cafe\u0301", "\u0939\u093f\u0928\u094d", "e\u20dd"])
def test_a_combining_mark_is_a_small_letter_of_a_shape(word):
    assert shape(word) == "a" * len(word)
    assert collapsed_shape(word) == "a+"


def test_shapes_keep_marks_and_collapse_runs():
    assert shape("María12-b") == "Aaaaa00-a"
    assert collapsed_shape("María12-b") == "Aa+0+-a"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("7", "1month"),
        ("07", "2monthz"),
        ("31", "2day"),
        ("85", "2age"),
        ("250", "3hundreds"),
        ("1984", "4year"),
        ("28016", "5large"),
        ("x", ""),
    ],
)
def test_a_number_is_classed_by_length_and_value(word, expected):
    assert number_class(word) == expected


def test_a_header_is_what_stands_before_a_lines_first_colon():
    assert header("  Fecha de Ingreso 2: 3:4") == "fecha de ingreso 0"
    assert header("sin dos puntos") == ""
    assert header("x" * 60 + ": 1") == ""


def test_the_kind_of_a_word_is_its_cue_number_list_or_shape():
    assert [kind(word, LISTS) for word in ("Calle", "28", "Ana", "Tos", "tos")] == [
        *("street", "2day", "givenA", "Aa+", "a+"),
    ]


def test_a_words_features_name_group_offset_and_value():
    names = encoded([Line("Dr. Ana Prat", ())]).names_of(0)[2]
    assert {"word[0]=ana", "word[-2]=dr", "cue[-2]=title", "lists[0]=givenA"} <= {
        *names
    }
    assert {"word:-1 word:0=.\tana", "left:0=title/1", "word[2]=<pad>"} <= {*names}
    assert "left_cue:0 right_cue:0=title\t-" in names


def test_features_do_not_cross_a_lines_end():
    one, two = Line("Ana", ()), Line("Prat", ())
    alone = encode([one], FEATURES, LISTS, CODEC).names_of(0)
    assert {*encode([one, two], FEATURES, LISTS, CODEC).names_of(0)[0]} == {*alone[0]}


def test_a_value_seen_too_seldom_makes_no_feature():
    lines = [Line("tos", ()), Line("tos", ()), Line("fiebre", ())]
    names = encode(lines, FEATURES, LISTS, CODEC, least=2).names
    assert "word[0]=tos" in names
    assert "word[0]=fiebre" not in names


def test_a_word_that_a_span_only_touches_belongs_to_it():
    found = encoded([Line("añosingreso 3", (TagSpan(0, 4, "DATE"),))])
    assert found.labels_of(0) == [1, 0]


def test_feature_sets_come_back_from_json():
    assert FeatureSet.read(FEATURES.as_json()) == FEATURES


def test_a_blank_before_a_word_is_seen_by_the_groups_that_ask_for_it():
    table = {
        "word": [0, 0],
        "blank": [0, 1],
        "conjunctions": ["word:0", "blank_shape:0"],
    }
    features = FeatureSet.read(table)
    [names] = encode([Line("E-31008 Ana", ())], features, LISTS, CODEC).names_of(0)[2:3]
    assert features.blanks
    assert {*names} == {
        *("word[0]=31008", "blank[0]=joined", "blank[1]=blank"),
        *("word:0=31008", "blank_shape:0=joined 0+"),
    }


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({"colour": [0, 0]}, "colour"),
        ({"word": [-4, 0]}, "within 3"),
        ({"conjunctions": ["colour:0"]}, "colour"),
        ({"conjunctions": ["word:0 word:1 word:2 word:3"]}, "three"),
    ],
)
def test_an_unknown_group_or_window_is_refused_by_name(table, named):
    with pytest.raises(ConfigError, match=named):
        FeatureSet.read(table)


def test_every_property_takes_any_word():
    for values in PROPERTIES.values():
        assert all(isinstance(each, str) for each in values("²ßŁ", LISTS))
