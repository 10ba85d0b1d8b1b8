from datetime import date
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core import Document
from deid_core.detectors.rules.dates import bare
from deid_core.detectors.rules.dates.numeric import TIMESTAMP
from deid_core.detectors.rules.engine import RuleDetector
from deid_core.labels import Label
from deid_core.language.fragments import words
from tests.deid_core.rules.rule_examples import covers, has_date, labels_of, spans_of
from tests.sampling import examples

FORMS = (
    *words("%m/%d/%Y %m-%d-%Y %d.%m.%Y %Y-%m-%d %Y/%m/%d %m/%d/%y %d/%m/%y %m-%d-%y"),
    *words("%Y%m%d %Y%m%d1405 %Y%m%d140559 %Y-%m-%dT14:05:59Z %m/%Y %Y-%m %d%b%Y"),
    *("%B %d, %Y", "%b %d %Y", "%d %B %Y", "%d %b %Y", "%b-%d-%y", "%d-%b-%Y"),
    *("%B %Y", "%b '%y", "%A, %B %d, %Y", "%a %m/%d/%Y", "%B the %dth, %Y"),
)
DAYS = st.dates(min_value=date(1900, 1, 1), max_value=date(2039, 12, 31))


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(20))
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

    assert labels_of(text, f"{a}/{b}") == set()


def test_what_a_note_shows_of_its_days_is_found_once_for_all_its_pairs(monkeypatch):
    seeker = Mock(wraps=bare._DAY_OF_MONTH)
    monkeypatch.setattr(bare, "_DAY_OF_MONTH", seeker)
    notes = [
        Document(str(n), f"{n}: {'1/1 seen ' * 500}1/17 {'2/2 seen ' * 500}")
        for n in range(2)
    ]

    first, second = RuleDetector([bare.BARE_DAY])(notes)

    assert len(notes) == seeker.finditer.call_count
    # Those near another day of the month.
    assert 200 < len(first) < 400
    assert len(first) == len(second)


@pytest.mark.parametrize("month", ["January", "May", "Sept", "DEC"])
def test_a_month_alone_needs_a_cue(month):
    assert labels_of(f"Better since {month}.", month) == {Label.DATE}
    assert labels_of(f"{month} was seen.", month) == set()


@pytest.mark.parametrize("year", ["1952", "2024"])
def test_a_bare_year_stays(year):
    assert labels_of(f"Diagnosed in {year} and since {year}.", year) == set()


AMBIGUOUS = "Wound swab {}, cream."


@pytest.mark.parametrize(
    "elsewhere",
    ["Seen 4/12/2024.", "Film of 4/18 clear.", "Admitted 04/02/24 with fever."],
)
def test_the_other_dates_of_a_note_make_a_day_of_two_numbers(elsewhere):
    alone, beside = AMBIGUOUS.format("4/8"), f"{elsewhere} {AMBIGUOUS.format('4/8')}"

    assert labels_of(alone, "4/8") == set()
    assert labels_of(beside, "4/8") == {Label.DATE}


@pytest.mark.parametrize(
    "scored",
    [
        *("pain {}", "strength {}", "GCS {}", "Katz {}", "VA {}", "abx day {}"),
        *("BiPAP {}", "Apgars {}", "{} ppd", "{} of the tray", "{} bottles", "{} mm"),
        *("murmur {}", "reflexes {} at the knee", "x {}", "SpO2 98, {} strength"),
    ],
)
@given(st.integers(1, 10), st.sampled_from([5, 8, 9, 10]))
def test_what_measures_makes_no_day_of_two_numbers_in_a_note_with_days(scored, a, b):
    value = f"{a}/{b}"
    text = f"Seen {a}/14/2024 and {a}/18. Now {scored.format(value)}"

    assert labels_of(text, value) == set()


@pytest.mark.parametrize("form", ["{} 0730 rounds", "{} 7:41a call", "\n{} held on"])
@given(st.integers(1, 12), st.integers(13, 31))
def test_a_time_or_a_line_s_start_makes_a_day(form, month, day):
    value = f"{month}/{day}"

    assert labels_of(form.format(value), value) == {Label.DATE}


WEEKDAY_FORMS = words("Monday Tues Wed Thurs Friday SATURDAY sunday")


@pytest.mark.parametrize("day", WEEKDAY_FORMS)
@pytest.mark.parametrize("form", ["home by {}.", "since {} night", "OR {} 0730"])
def test_a_weekday_that_points_to_a_day_is_found(day, form):
    assert labels_of(form.format(day), day) == {Label.DATE}


@pytest.mark.parametrize(
    "text",
    [
        *("dialysis every Monday", "HD Mon/Wed/Fri", "open Monday-Friday", "Sundays"),
        *("Monday through Friday", "each Tuesday", "Tue, Thu and Sat", "M/W/F"),
        *("Mon Wed Fri", "alternate Thursday mornings", "Friday nights"),
    ],
)
def test_a_habit_is_no_date(text):
    assert not has_date(text)


@pytest.mark.parametrize(
    "text",
    [
        *("O2 sat 98 on air", "Sat 95 RA", "SAT held, then SBT", "he sat on the bed"),
        *("Sun glare", "sun exposure", "Dr. Sun agrees", "newly wed couple"),
    ],
)
def test_other_words_are_no_weekdays(text):
    assert not has_date(text)


def test_the_time_of_day_stays_beside_its_date():
    text = "Signed 04/02/2014 15:41, called Jan 5, 2024 at 14:05"

    assert labels_of(text, "04/02/2014") == {Label.DATE}
    assert (labels_of(text, "15:41") | labels_of(text, "14:05")) == set()
