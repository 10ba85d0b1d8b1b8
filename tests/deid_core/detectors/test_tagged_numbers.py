"""What a tagger takes for days and numbers, and the rules know better."""

import pytest

from deid_core import Label
from deid_core.detectors.rules.dates.bare import BareDays
from deid_core.detectors.tagged_numbers import is_refused


def refused(marked, label, score=0.8):
    before, value, after = marked.replace("»", "«").split("«")
    text = before + value + after
    return is_refused(BareDays(text), len(before), len(before + value), label, score)


@pytest.mark.parametrize(
    "marked",
    [
        "VA «6/9», pinhole",
        "pain «4/10» at rest",
        "GCS «10/15» on arrival",
        "strength «5/5» throughout",
        "Took it x «10/7» from a friend",
    ],
)
def test_a_pair_that_measures_something_is_no_day_unless_the_tagger_is_sure(marked):
    assert refused(marked, Label.DATE, 0.96)
    assert not refused(marked, Label.DATE, 0.98)


@pytest.mark.parametrize(
    "marked",
    ["seen «3/14» by Roe", "f/u «11/22»", "«3 March», 6/9", "[[«12.05.2025»", "«Mon»"],
)
def test_what_may_be_a_day_stays_one(marked):
    assert not refused(marked, Label.DATE, 0.4)


@pytest.mark.parametrize(
    "marked",
    [
        "elevated «17-OHP», repeat",
        "a run of «V-TACH», treated",
        "BP «210  185   50   830»",
        "VS «2325 228/134 132 36 90 NRB»",
    ],
)
def test_a_result_is_no_number_of_anybody(marked):
    assert refused(marked, Label.IDNUM)
    assert refused(marked, Label.PHONE)


def test_a_sure_tagger_may_name_a_number_of_any_shape():
    assert refused("badge «3046»", Label.IDNUM, 0.6)
    assert not refused("badge «3046»", Label.IDNUM, 0.97)
    assert not refused("MRN «31-44-087»", Label.IDNUM, 0.5)


def test_a_local_telephone_number_is_no_range():
    assert not refused("daycare «312-4471»", Label.PHONE, 0.5)


def test_names_are_not_judged():
    assert not refused("by «6/9»", Label.DOCTOR)
