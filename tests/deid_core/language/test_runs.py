import pytest

from deid_core.language.lexicons.word_classes import WordClass
from deid_core.language.runs import (
    INITIAL,
    LETTER,
    LINK,
    SAINT,
    SUFFIX,
    read,
    runs_in,
    word_of,
)


class Words(dict):
    def __missing__(self, text):
        return word_of(text)


def run(text):
    return read(text, Words())


@pytest.mark.parametrize("word", ["Kowalski", "St", "Jr", "A", "AND", "Zqwxv"])
def test_a_word_is_read_alone_as_in_a_longer_run(word):
    assert run(word).tokens[0] == run(f"{word} Anna").tokens[0]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("J. O'Brien-Smith Jr.", f"{INITIAL}.{SUFFIX}"),
        ("St. Mary of A", f"{SAINT}.{LINK}{LETTER}"),
        ("Jr. J.K. Anna", f"{SUFFIX}{INITIAL}."),
    ],
)
def test_what_is_no_word_has_a_code_of_its_own(text, codes):
    found = run(text).codes

    assert codes == "".join(each if each < "\u4e00" else "." for each in found)


def test_the_parts_of_a_word_are_run_together():
    found = run("Mary O'Brien-Smith's")

    assert found.forms == ["mary", "obriensmith"]
    assert "Mary O'Brien-Smith's"[: found.tokens[-1].end] == "Mary O'Brien-Smith"


def test_the_kinds_of_a_run_are_those_of_its_words():
    anna, boston = run("Anna").kinds, run("Boston").kinds

    assert anna & WordClass.GIVEN
    assert boston & WordClass.CITY
    assert anna | boston == run("Anna Boston").kinds


def test_no_repr_shows_a_word():
    found = run("Zqwxv Anna")

    assert "zqwxv" not in f"{found!r} {found.tokens!r} {word_of('Zqwxv')!r}".lower()


def test_runs_begin_with_a_capital():
    assert [each[0] for each in runs_in("saw Anna Roe in Boston")] == [
        "Anna Roe",
        "Boston",
    ]
