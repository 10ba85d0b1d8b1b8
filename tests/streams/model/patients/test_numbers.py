"""The numbers of a patient, in whatever form a program writes them."""

import pytest

from streams.model.patients.numbers import digits_of_number, numbers_of


def test_numbers_are_those_of_identifiers_telephones_and_birth_dates():
    found = numbers_of(
        ["MRN0048291", "771-88", "12"], ["+1 (312) 555-0147"], ["1956-01-02"]
    )

    assert found == {
        "48291",
        "77188",
        "13125550147",
        "3125550147",
        "5550147",
        "19560102",
    }


@pytest.mark.parametrize(
    "written",
    ["48291", "48291.0", "48291.", "+48291", "-48291", "4.8291E4", "482910e-1"],
)
def test_a_whole_number_has_the_same_digits_however_it_is_written(written):
    assert digits_of_number(written) == "48291"


@pytest.mark.parametrize(
    ("written", "digits"), [("4829.1", "48291"), ("0.048291", "48291"), ("x", "")]
)
def test_other_numbers_have_the_digits_that_are_written(written, digits):
    assert digits == digits_of_number(written)
