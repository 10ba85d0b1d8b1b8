"""What a tagger takes for days and numbers, and the rules know better."""

import pytest

from deid_core import Label
from deid_core.detectors.rules.dates.bare import BareDays
from deid_core.detectors.tagged_numbers import identifying


def kept(marked, label, score=0.8):
    before, value, after = marked.replace("»", "«").split("«")
    text = before + value + after
    place = len(before), len(before + value)
    found = identifying(BareDays(text), *place, label, score)
    return [text[start:end] for start, end in found]


def refused(marked, label, score=0.8):
    return not kept(marked, label, score)


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
    ("marked", "day"),
    [
        ("e-signed «06/08/24 1512»", "06/08/24"),
        ("DATE: «2024-03-19  0218»", "2024-03-19"),
        ("nurse «Aug 5 2130»", "Aug 5"),
        ("seen «11/8 0715»", "11/8"),
        ("since «Aug 5 2012»", "Aug 5 2012"),
        ("on «3/14 1998»", "3/14 1998"),
        ("on «3/14/1998»", "3/14/1998"),
    ],
)
def test_a_time_of_day_behind_a_day_stays_and_a_year_does_not(marked, day):
    assert kept(marked, Label.DATE, 0.99) == [day]


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


@pytest.mark.parametrize(
    "plate",
    ["LR71 KQP", "CN12 ZRE", "UEP 447T", "KJA-812XR", "N72SH"],
)
def test_a_plate_is_told_by_its_form_however_unsure_the_tagger_is(plate):
    assert kept(f"seen in «{plate}» outside", Label.IDNUM, 0.6) == [plate]
    assert refused(f"seen in «{plate.lower()}» outside", Label.IDNUM, 0.6)


def test_the_letters_of_a_plate_belong_to_its_digits():
    assert kept("in the Tiida PCE «4471» outside", Label.IDNUM) == ["PCE 4471"]
    assert refused("by the CCTC «1610»", Label.IDNUM)


@pytest.mark.parametrize("value", ["EDV 231", "DOU 5E", "V600E", "LP15", "N501Y"])
def test_a_value_at_its_name_is_no_plate(value):
    assert refused(f"echo «{value}» today", Label.IDNUM)


@pytest.mark.parametrize(
    ("marked", "columns"),
    [
        ("T 34M «K550172  AMU 9»", ["K550172"]),
        ("Docket «BHC-1147    TRN 118-407-226»", ["BHC-1147", "TRN 118-407-226"]),
        ("Case «88140/2A    26/12/98» 03.15", ["88140/2A"]),
        ("NRIC «S9004312F  34/ G2P1»", ["S9004312F"]),
        ("at 1300 «162/94  P 54        R 14  98 2L»", []),
    ],
)
def test_of_columns_those_are_kept_that_may_identify(marked, columns):
    assert columns == kept(marked, Label.IDNUM)


def test_the_name_of_a_long_number_is_not_part_of_it():
    assert kept("«OHIP 5530 118 447 VK».", Label.IDNUM) == ["5530 118 447 VK"]
    assert refused("«2348 162/92 108 26 95»", Label.IDNUM)
    assert refused("«TRN 2341 ARR 2352 DEP»", Label.IDNUM)


def test_a_sure_tagger_may_name_a_number_of_any_shape():
    assert refused("badge «3046»", Label.IDNUM, 0.6)
    assert not refused("badge «3046»", Label.IDNUM, 0.97)
    assert not refused("MRN «31-44-087»", Label.IDNUM, 0.5)


def test_a_local_telephone_number_is_no_range():
    assert not refused("daycare «312-4471»", Label.PHONE, 0.5)


def test_names_are_not_judged():
    assert not refused("by «6/9»", Label.DOCTOR)
