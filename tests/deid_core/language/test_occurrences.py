from hypothesis import given
from hypothesis import strategies as st

from deid_core.language import occurrences
from deid_core.language.occurrences import Occurrences

LETTERS = st.text(st.sampled_from("ab1 -_.\u00e9\n"), max_size=30)
VALUES = st.lists(
    st.text(st.sampled_from("ab1 -.\u00e9"), min_size=1, max_size=5).filter(
        lambda value: any(map(str.isalnum, value))
    ),
    max_size=8,
)


def by_hand(values, text):
    """Every place of every value, by trying each: left to right, without overlap."""
    found = []
    for value in dict.fromkeys(values):
        free = 0
        for start in range(len(text)):
            end = start + len(value)
            before, behind = text[start - 1 : start] if start else "", text[end:][:1]
            is_whole = not (before.isalnum() or behind.isalnum())
            if start >= free and text[start:end] == value and is_whole:
                found.append((value, start))
                free = end
    return found


@given(VALUES, LETTERS)
def test_a_few_values_are_found_where_they_stand_as_whole_words(values, text):
    assert by_hand(values, text) == list(Occurrences.of(values).find(text))


@given(VALUES, LETTERS)
def test_many_values_are_found_at_the_same_places(values, text):
    others = [f"z{number}" for number in range(occurrences._FEW + 1)]
    found = list(Occurrences.of([*values, *others]).find(text))

    assert by_hand(values, text) == found


def test_a_value_longer_than_what_it_is_looked_up_by_is_found_whole():
    start = "a " * occurrences._LONGEST_KEY
    values = [f"{start}{number}" for number in range(occurrences._FEW + 1)]
    found = list(Occurrences.of(values).find(f"{start}7\n{start}77"))

    assert found == [(values[7], 0)]


def test_a_value_without_letters_is_found_among_many():
    values = [*(f"z{number}" for number in range(occurrences._FEW)), "*****"]

    assert list(Occurrences.of(values).find("seen ***** here")) == [("*****", 5)]
