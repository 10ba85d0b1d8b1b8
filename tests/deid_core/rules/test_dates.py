from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core.detectors.rules.dates.numeric import TIMESTAMP
from deid_core.labels import Label
from deid_core.language.fragments import words
from tests.deid_core.rules.rule_examples import covers, labels_of, spans_of

FORMS = (
    *words("%m/%d/%Y %m-%d-%Y %d.%m.%Y %Y-%m-%d %Y/%m/%d %m/%d/%y %d/%m/%y %m-%d-%y"),
    *words("%Y%m%d %Y%m%d1405 %Y%m%d140559 %Y-%m-%dT14:05:59Z %m/%Y %Y-%m %d%b%Y"),
    *("%B %d, %Y", "%b %d %Y", "%d %B %Y", "%d %b %Y", "%b-%d-%y", "%d-%b-%Y"),
    *("%B %Y", "%b '%y", "%A, %B %d, %Y", "%a %m/%d/%Y", "%B the %dth, %Y"),
)
DAYS = st.dates(min_value=date(1900, 1, 1), max_value=date(2039, 12, 31))


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=20)
@given(day=DAYS)
def test_finds_every_day_in_every_form(form, day):
    written = day.strftime(form)

    assert covers(f"Seen {written} for cough.", written)


@pytest.mark.parametrize("form", FORMS)
def test_finds_dates_in_capitals(form):
    written = date(2019, 8, 23).strftime(form).upper()

    assert covers(f"SEEN {written} FOR COUGH.", written)


@given(digits=st.from_regex(r"(19|20)[0-9]{6}", fullmatch=True))
def test_eight_digits_are_a_date_if_the_calendar_has_it(digits):
    """
    The oracle is the calendar itself, from 1900 to 2100.
    """
    try:
        date.fromisoformat(digits)
        expected = [(3, 11)]
    except ValueError:
        expected = []

    assert expected == spans_of((TIMESTAMP,), f"at {digits} ")


@given(st.integers(0, 40), st.integers(0, 40))
def test_two_numbers_without_a_cue_are_no_date(a, b):
    text = f"Rated {a}/{b} today"

    assert set() == labels_of(text, f"{a}/{b}")


@pytest.mark.parametrize("month", ["January", "May", "Sept", "DEC"])
def test_a_month_alone_needs_a_cue(month):
    assert {Label.DATE} == labels_of(f"Better since {month}.", month)
    assert set() == labels_of(f"{month} was seen.", month)


@pytest.mark.parametrize("year", ["1952", "2024"])
def test_a_bare_year_stays(year):
    assert set() == labels_of(f"Diagnosed in {year} and since {year}.", year)
