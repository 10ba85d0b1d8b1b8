"""The table of the lists' words: what it says is what the lists and packages say."""

import math

import pytest

from deid_core.language.lexicons import counts, name_score, people, places
from deid_core.language.lexicons.vocabulary import is_common_name, is_counted, zipf
from deid_core.language.lexicons.word_table import Listed, word_table


def lists_of(word):
    table = word_table()
    return table.lists[table.row(word)]


def test_every_word_of_a_list_is_found_in_that_list_alone():
    lists = {
        Listed.GIVEN | Listed.GIVEN_OF_THE_WORLD: people.given_names(),
        Listed.FAMILY | Listed.FAMILY_OF_THE_WORLD: people.family_names(),
        Listed.TOWN: places.towns(),
        Listed.CITY: places.cities(),
    }
    every = frozenset().union(*lists.values())

    for bits, members in lists.items():
        assert members == {word for word in every if lists_of(word) & bits}


def test_counts_and_scores_are_those_of_the_packages():
    english, scores, shares = counts.english(), counts.name_scores(), counts.shares()

    assert len(english) == sum(map(is_counted, english))
    for word, frequency in english.items():
        assert counts.zipf(frequency) == zipf(word)
        assert scores.get(word, -math.inf) == name_score(word)
        assert (shares.get(word, 0.0) >= 2e-4) == is_common_name(word)


@pytest.mark.parametrize("word", ["", "\0", "the\0", "smith\0x", "\ud800", "q" * 9999])
def test_what_no_list_holds_has_the_row_of_no_word(word):
    assert (0, 0.0, -math.inf) == (lists_of(word), zipf(word), name_score(word))


def test_a_word_of_several_lists_has_the_bits_of_all():
    found = lists_of("washington")

    for bit in (Listed.ENGLISH, Listed.FAMILY, Listed.TOWN, Listed.CITY):
        assert found & bit
