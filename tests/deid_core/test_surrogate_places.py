"""Places: other ones of the same kind; or less said, as Safe Harbor wants it."""

from __future__ import annotations

import re

import pytest

from deid_core import Label
from deid_core.surrogates.generalise import RESTRICTED_ZIPS
from deid_core.surrogates.places_lists import cities, countries, professions, states

from .surrogate_cases import write


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("12 Oak Street", r"[1-9]\d [A-Z][a-z]+ Street"),
        ("12 OAK ST.", r"[1-9]\d [A-Z]+ ST\."),
        (
            "4500 N. Lake Shore Drive, Apt 4B",
            r"\d{4} N\. [A-Z][a-z]+ Drive, Apt \d[A-Z]",
        ),
        ("100 W 34th St, Suite 200", r"\d{3} W \d\dth St, Suite \d{3}"),
        ("P.O. Box 1234", r"P\.O\. Box \d{4}"),
        ("Maple Street", r"[A-Z][a-z]+ Street"),
        ("9 Elm Dr #3", r"[1-9] [A-Z][a-z]+ Dr #[1-9]"),
        ("7 Old Mill Road", r"[1-9] [A-Z][a-z]+ Road"),
        ("221B Baker Street", r"\d{3}[A-Z] [A-Z][a-z]+ Street"),
    ],
)
def test_a_street_line_keeps_its_form(text, form):
    written = write(Label.STREET, text)

    assert re.fullmatch(form, written)
    assert "Oak" not in written


def test_a_street_has_one_name_however_it_is_written():
    name = write(Label.STREET, "12 Oak Street").split()[1]

    assert f"{name} St." == write(Label.STREET, "Oak St.")
    assert name.upper() == write(Label.STREET, "99 OAK ST").split()[1]


def test_a_town_becomes_a_town_and_a_state_a_state():
    assert write(Label.CITY, "Springfield") in cities()
    assert write(Label.CITY, "SPRINGFIELD").isupper()
    state = states()[write(Label.STATE, "IL").lower()]
    assert state.name == write(Label.STATE, "Illinois")
    assert state.code != "IL"
    town = write(Label.CITY, "Springfield")
    for label in (Label.CITY, Label.STATE):
        assert f"{town}, {state.code}" == write(label, "Springfield, IL")


def test_a_country_becomes_a_country_in_the_same_form():
    names = {place.name for place in countries().values()}

    assert write(Label.COUNTRY, "Kenya") in names - {"Kenya"}
    assert write(Label.COUNTRY, "Holland") in names
    assert 3 == len(write(Label.COUNTRY, "USA"))


@pytest.mark.parametrize(
    ("text", "form"),
    [("62704", r"\d{5}"), ("62704-1234", r"\d{5}-\d{4}"), ("SW1A 1AA", r"..\d. \d..")],
)
def test_a_zip_code_keeps_its_form(text, form):
    written = write(Label.ZIP, text)

    assert re.fullmatch(form, written)
    assert written[:5] != text[:5]


def test_a_longer_zip_code_begins_with_the_shorter():
    assert write(Label.ZIP, "62704-1234").startswith(write(Label.ZIP, "62704"))


@pytest.mark.parametrize(
    ("label", "text", "form"),
    [
        (Label.HOSPITAL, "St. Mary's Hospital", r"[A-Z][a-z]+ Hospital"),
        (Label.HOSPITAL, "Mayo Clinic", r"[A-Z][a-z]+ Clinic"),
        (Label.HOSPITAL, "MGH", r"[A-Z]{3}"),
        (Label.HOSPITAL, "the clinic", r"[a-z]+ .*"),
        (Label.ORGANIZATION, "Lincoln High School", r"[A-Z][a-z]+ High School"),
        (Label.ORGANIZATION, "ACME WIDGETS", r"[A-Z]+ [A-Z]+"),
        (Label.ORGANIZATION, "Boeing", r"[A-Z][a-z]+"),
        (Label.LOCATION_OTHER, "Central Park", r"[A-Z][a-z]+ Park"),
        (Label.LOCATION_OTHER, "Room 302", r"Room \d{3}"),
    ],
)
def test_an_institution_keeps_its_kind(label, text, form):
    written = write(label, text)

    assert re.fullmatch(form, written)
    assert written != text


def test_a_calling_becomes_a_calling_in_the_same_case():
    names = {each.lower() for each in professions()}

    assert write(Label.PROFESSION, "plumber") in names
    assert write(Label.PROFESSION, "PLUMBER").isupper()


def test_what_is_no_state_falls_to_the_tag():
    assert "[LOCATION:STATE]" == write(Label.STATE, "Bavaria")


def safe_harbor(label, text):
    return write(label, text, policy="safe-harbor", key=None)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("92", "90+"),
        ("90", "90+"),
        ("89", "89"),
        ("104", "90+"),
        ("ninety-two", "90+"),
        ("ninety", "90+"),
        ("one hundred and two", "90+"),
        ("eighty nine", "eighty nine"),
        ("90s", "90+"),
        ("nineties", "90+"),
        ("90's", "90+"),
        ("centenarian", "90+"),
        ("90th", "90+"),
        ("92-year-old", "90+-year-old"),
        ("45 y/o", "45 y/o"),
        ("95 days", "95 days"),
        ("elderly", "[AGE]"),
        ("92 and 45", "[AGE]"),
        ("two ninety", "[AGE]"),
        ("", "[AGE]"),
    ],
)
def test_ages_over_89_are_one(text, written):
    assert written == safe_harbor(Label.AGE, text)


def test_a_zip_code_says_three_digits_or_000():
    assert "627" == safe_harbor(Label.ZIP, "62704")
    assert "021" == safe_harbor(Label.ZIP, "02139-4301")
    assert 17 == len(RESTRICTED_ZIPS)
    for area in RESTRICTED_ZIPS:
        assert "000" == safe_harbor(Label.ZIP, f"{area}12")
    assert "[LOCATION:ZIP]" == safe_harbor(Label.ZIP, "SW1A 1AA")
    assert "[LOCATION:ZIP]" == safe_harbor(Label.ZIP, "6270")


@pytest.mark.parametrize(
    ("label", "text", "stays"),
    [
        (Label.STATE, "IL", True),
        (Label.STATE, "New Hampshire", True),
        (Label.STATE, "Virginia", False),
        (Label.STATE, "Springfield", False),
        (Label.COUNTRY, "Kenya", True),
        (Label.COUNTRY, "Jordan", False),
        (Label.COUNTRY, "Atlantis", False),
    ],
)
def test_states_and_countries_stay_unless_they_may_be_names(label, text, stays):
    assert (text if stays else f"[{label.value}]") == safe_harbor(label, text)


def test_a_town_can_be_said_as_its_state(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('name="a"\ndefault="tag"\n[labels]\n"LOCATION:CITY"="generalise"\n')

    def general(text):
        return write(Label.CITY, text, policy=str(path), key=None)

    assert "Illinois" == general("Springfield"), "as the record has it"
    assert "Massachusetts" == general("Cambridge, Massachusetts")
    assert "Washington" == general("Seattle")
    assert "[LOCATION:CITY]" == general("Columbia"), "there are several"
    assert "[LOCATION:CITY]" == general("Nowhere at All")
