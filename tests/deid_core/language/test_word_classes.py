import pytest

from deid_core.language.lexicons import load_list
from deid_core.language.lexicons.word_classes import (
    NO_KIND,
    WordClass,
    is_listed,
    kinds_by_lists,
    word_classes,
)
from deid_core.language.lexicons.word_table import word_table


def test_the_prebuilt_kinds_are_those_that_lists_and_counts_give():
    words = word_table().words.keys()
    words += [f"{word}q" for word in words[::2000]]

    other = [word for word in words if kinds_by_lists(word) != word_classes(word)]

    assert other == [], "run python -m deid_core.language.lexicons.build"


@pytest.mark.parametrize(
    ("word", "kinds"),
    [
        ("zqwxvkt", WordClass.UNKNOWN),
        ("zqwxvkt\0", WordClass.UNKNOWN),
        ("\ud800\ud800\ud800", WordClass.UNKNOWN),
        ("\0q", NO_KIND),
        ("", NO_KIND),
    ],
)
def test_a_word_of_no_list_is_unknown_if_it_is_long_enough(word, kinds):
    assert kinds == word_classes(word)


def test_a_word_of_a_clinical_list_alone_is_no_secret_name():
    alone = [word for word in load_list("drugs") if not is_listed(word)]

    assert alone
    assert all(word_classes(word) & WordClass.DRUG for word in alone)
