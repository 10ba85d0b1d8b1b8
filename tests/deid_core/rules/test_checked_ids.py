"""Check digits: a number is found with the right one, and with no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import luhn, verhoeff

from deid_core.detectors.rules.ids.checked import AADHAAR, CARD, DEA, NPI, NRIC, VIN
from deid_core.labels import Label
from deid_core.language.fragments import words
from tests.deid_core.rules.rule_examples import labels_of, spans_of


def digits(count):
    return st.from_regex(f"[0-9]{{{count}}}", fullmatch=True)


@given(st.sampled_from("STFGM"), digits(7))
def test_one_letter_in_eleven_ends_an_nric(series, number):
    """
    The letter is a function of the number: exactly one of the alphabet is right.
    """
    values = [f"{series}{number}{letter}" for letter in "ABCDEFGHIJKLMNPQRTUWXYZ"]

    assert sum(bool(spans_of((NRIC,), f"ic {value}.")) for value in values) == 1


@given(st.from_regex("[A-HJ-NPR-Z]{8}", fullmatch=True), digits(8))
def test_one_ninth_sign_in_eleven_makes_a_vin(first, last):
    values = [f"{first}{check}{last}" for check in "0123456789X"]

    assert sum(bool(spans_of((VIN,), f"car {value}.")) for value in values) == 1


@given(st.from_regex("[12][0-9]{8}", fullmatch=True))
def test_a_provider_number_has_luhns_check_digit(number):
    right = number + luhn.calc_check_digit("80840" + number)
    wrong = number + str((int(right[-1]) + 1) % 10)

    assert spans_of((NPI,), f"by {right}.") == [(3, 13)]
    assert spans_of((NPI,), f"by {wrong}.") == []


@given(st.from_regex("4[0-9]{14}", fullmatch=True), st.sampled_from(["", " ", "-"]))
def test_a_card_has_luhns_check_digit_however_it_is_grouped(number, gap):
    number += luhn.calc_check_digit(number)
    grouped = gap.join(number[at : at + 4] for at in range(0, 16, 4))

    assert spans_of((CARD,), f"on {grouped}.") == [(3, 3 + len(grouped))]


@given(st.from_regex("[2-9][0-9]{10}", fullmatch=True))
def test_an_aadhaar_number_has_verhoeffs_check_digit(number):
    right = number + verhoeff.calc_check_digit(number)
    expected = [] if right == right[::-1] else [(3, 15)]

    assert expected == spans_of((AADHAAR,), f"id {right}.")


@given(digits(6))
def test_one_digit_in_ten_ends_a_dea_number(number):
    values = [f"AB{number}{check}" for check in range(10)]

    assert sum(bool(spans_of((DEA,), f"by {value}.")) for value in values) == 1


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("S1234567D", Label.IDNUM),
        ("1EG4-TE5-MK73", Label.HEALTHPLAN),
        ("219-09-9999A", Label.HEALTHPLAN),
        ("912-70-1234", Label.SSN),
        ("1HGCM82633A004352", Label.VEHICLE),
        ("GB29NWBK60161331926819", Label.ACCOUNT),
        ("GB29 NWBK 6016 1331 9268 19", Label.ACCOUNT),
        ("(01)00844588003288(17)141120(10)7654321D", Label.DEVICE),
        ("4010232137", Label.IDNUM),
    ],
)
@pytest.mark.parametrize("frame", ["Given {} today.", "({})", "no label\n{}\n"])
def test_finds_an_identifier_by_its_form_alone(value, label, frame):
    assert label in labels_of(frame.format(value), value)


@pytest.mark.parametrize(
    "text",
    words("E11.9 C5-C6 HbA1c COVID-19 S1234 PMK-77 1EG4 T12-L1 0.25 H1N1"),
)
def test_short_codes_stay(text):
    assert labels_of(f"coded {text} today", text) == set()
