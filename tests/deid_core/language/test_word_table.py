"""The table of the lists' words: what it says is what the lists and packages say."""

import math
from importlib.resources import files
from io import BytesIO

import numpy as np
import pytest

from deid_core.language import lexicons
from deid_core.language.lexicons import load_list, name_score
from deid_core.language.lexicons.lists import COUNTRIES, list_digest, prebuilt
from deid_core.language.lexicons.vocabulary import is_common_name, is_counted, zipf
from deid_core.language.lexicons.word_table import Listed, word_table, words_in
from tests.packages import build_from

FOLDER = files(lexicons)


@pytest.fixture(scope="module")
def build():
    return build_from("deid_core.language.lexicons.build", prebuilt()["versions"])


def lists_of(word):
    table = word_table()
    return table.lists[table.row(word)]


# The files


def test_the_tables_are_what_the_packages_hold(build):
    assert build.prebuilt() == prebuilt()
    assert build.countries() == (FOLDER / COUNTRIES).read_text("utf-8")


def test_the_word_table_is_what_packages_and_lists_hold(build):
    arrays = np.load(BytesIO((FOLDER / "words.npz").read_bytes()))
    built = build.words()

    assert built.keys() == {*arrays}
    for key, array in built.items():
        assert (array.dtype, array.tobytes()) == (
            arrays[key].dtype,
            arrays[key].tobytes(),
        )


def test_a_changed_text_list_needs_another_build():
    changed = [
        name
        for name, digest in prebuilt()["lists"].items()
        if list_digest(name) != digest
    ]

    assert changed == [], "run python -m deid_core.language.lexicons.build"


# What they say


def test_counts_and_scores_are_those_of_the_packages(build):
    english = build.wordfreq.get_frequency_dict("en", wordlist="large")

    assert words_in(Listed.ENGLISH) == english.keys()
    assert all(map(is_counted, english))
    for word, frequency in english.items():
        assert math.log10(frequency) + 9 == zipf(word)


def test_shares_are_those_of_the_census(build):
    table = word_table()
    women, men = dict(build.census("first:female")), dict(build.census("first:male"))
    family = dict(build.census("last"))

    assert words_in(Listed.FAMILY) == family.keys()
    assert words_in(Listed.GIVEN) == women.keys() | men.keys()
    for word, share in family.items():
        assert share == table.family[table.row(word)]
    for word in women.keys() | men.keys():
        share = max(women.get(word, 0.0), men.get(word, 0.0))
        assert share == table.given[table.row(word)]
        if is_counted(word):
            either = max(share, family.get(word, 0.0))
            assert is_common_name(word) == (either / 100 >= 2e-4)


def test_every_nickname_of_a_place_is_a_city():
    names = {name for name in load_list("place_nicknames") if " " not in name}

    assert names <= words_in(Listed.CITY) < words_in(Listed.TOWN | Listed.CITY)


@pytest.mark.parametrize("word", ["", "\0", "the\0", "smith\0x", "\ud800", "q" * 9999])
def test_what_no_list_holds_has_the_row_of_no_word(word):
    assert (0, 0.0, -math.inf) == (lists_of(word), zipf(word), name_score(word))


def test_a_word_of_several_lists_has_the_bits_of_all():
    found = lists_of("washington")

    for bit in (Listed.ENGLISH, Listed.FAMILY, Listed.TOWN, Listed.CITY):
        assert found & bit
