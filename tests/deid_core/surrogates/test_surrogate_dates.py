"""Dates move by the patient's own days: intervals, formats and ages stay.

The oracle is the standard library's strptime with each date's format.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core import Annotation, Document, KnownIdentifiers, Label, Span
from deid_core.fiction.dates import WEEKDAYS as WEEKDAY_NAMES
from deid_core.policy import Policy
from deid_core.replace import Replacer
from deid_core.surrogates.holidays import HOLIDAYS
from deid_core.surrogates.options import SurrogateOptions
from tests.deid_core.surrogates.surrogate_cases import KEY
from tests.sampling import examples

# %-d and %-m (without zeros) are written by the formats, and read by %d and %m.
NUMERIC = [
    separator.join(order).replace("D", day).replace("M", month).replace("Y", year)
    for order, separator, (day, month), year in product(
        ["MDY", "YMD"],
        ["/", "-", ".", "_", " / "],
        [("%d", "%m"), ("%-d", "%-m")],
        ["%Y"],
    )
] + [
    separator.join("MDY").replace("D", day).replace("M", month).replace("Y", "%y")
    for separator, (day, month) in product(
        ["/", "-", "_"], [("%d", "%m"), ("%-d", "%-m")]
    )
]
DAY_FIRST = [
    separator.join("DMY").replace("D", day).replace("M", month).replace("Y", year)
    for separator, (day, month), year in product(
        ["/", "-", ".", " / "], [("%d", "%m"), ("%-d", "%-m")], ["%Y", "%y"]
    )
]
WRITTEN = [
    layout.replace("D", day).replace("M", month).replace("Y", year)
    for layout, day, month, year in product(
        ["M D, Y", "D M Y", "D-M-Y", "DMY", "M D Y"],
        ["%d", "%-d"],
        ["%b", "%B"],
        ["%Y"],
    )
] + [
    "%b. %-d, %Y",
    "%d-%b-%y",
    "%d/%b/%Y",
    "%B %-d of %Y",
    "%Y-%b-%d",
    "%Y %B %-d",
    "%-d of %B, %Y",
    "the %-d of %B %Y",
]
OTHER = [
    "%Y%m%d",
    "%Y%m%d%H%M",
    "%Y%m%dT%H%M%SZ",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M:%SZ",
    "%m/%d/%Y %H:%M",
    "%m/%d/%y at %I:%M %p",
    "%m/%d/%Y %H%M hrs",
    "%A, %B %-d, %Y",
    "%a %m/%d/%Y",
    "%a. %-d %B %Y",
    "%m%d%Y",
]
CASES = [str, str.upper, str.lower]
MONTH_FIRST_FORMATS = [
    (form, case)
    for form in (*NUMERIC, *WRITTEN, *OTHER)
    for case in (CASES if "%b" in form or "%B" in form else [str])
]
DAY_FIRST_FORMATS = [(form, str) for form in DAY_FIRST]

# Two-digit years have one meaning to the library and to strptime, far from its pivot.
days = st.dates(date(1972, 1, 1), date(2045, 12, 31))
patients = st.text("abcdefghij0123456789", min_size=1, max_size=6)


def policy(**options):
    # Ages are kept: years that reveal one over 89 would be hidden otherwise.
    styles = {Label.DATE: "shift", Label.AGE: "keep"}
    return Policy("t", "tag", styles, {}, SurrogateOptions(**options))


def moved(text, *, patient="p1", known=None, key=KEY, others=(), **options):
    """Return a date as it is written in a note of the patient, with others."""
    texts = [text, *others]
    note = " ".join(texts)
    annotations, start = [], 0
    for each in texts:
        span = Span(start, start + len(each))
        annotations.append(Annotation(span, Label.DATE, 1.0, "t", "date"))
        start = span.end + 1
    document = Document("n1", note, known or KnownIdentifiers(), patient)
    written = Replacer(policy(**options), key).replacements(document, annotations)
    return written[0].surrogate


def read(text, form):
    """The oracle; "May" may correspond to "Jun" or "June"."""
    form = form.replace("%-", "%")
    months = ("%b", "%B") if "%b" in form or "%B" in form else ("",)
    for month in months:
        try:
            either = form.replace("%b", month).replace("%B", month) if month else form
            return datetime.strptime(text, either).date()
        except ValueError:
            if month == months[-1]:
                raise
    raise AssertionError


def test_there_are_a_hundred_formats():
    assert len(MONTH_FIRST_FORMATS) + len(DAY_FIRST_FORMATS) >= 100


@settings(max_examples=examples(400), deadline=None)
@given(
    st.lists(st.tuples(days, st.sampled_from(MONTH_FIRST_FORMATS)), min_size=2),
    patients,
    st.booleans(),
)
def test_the_days_between_any_two_dates_of_a_patient_are_kept(
    dates, patient, keep_weekday
):
    """Each date is in its own note and its own format."""
    offsets = set()
    for day, (form, case) in dates:
        text = moved(
            case(day.strftime(form)),
            patient=patient,
            keep_weekday=keep_weekday,
            day_first=False,
        )
        offsets.add((read(text, form) - day).days)

    [offset] = offsets
    assert 31 <= abs(offset) <= 365
    assert keep_weekday is (offset % 7 == 0)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.tuples(days, st.sampled_from(DAY_FIRST_FORMATS)), min_size=2), patients
)
def test_so_they_are_where_the_day_comes_first(dates, patient):
    offsets = {
        (
            read(moved(day.strftime(form), patient=patient, day_first=True), form) - day
        ).days
        for day, (form, _) in dates
    }

    assert len(offsets) == 1


@settings(max_examples=examples(200), deadline=None)
@given(days, st.sampled_from([*MONTH_FIRST_FORMATS]), patients)
def test_the_format_is_kept(day, format_, patient):
    """All that is no part of the day stays, and what has zeros in front keeps them."""
    form, case = format_
    text = case(day.strftime(form))
    new = moved(text, patient=patient, day_first=False)
    again = case(read(new, form).strftime(form))

    # Nothing of 12/15 shows whether there are zeros in front of one digit.
    shows_zeros = day.day < 10 or (day.month < 10 and "%m" in form)
    if day.month == 5 and ("%b" in form or "%B" in form):
        return
    if shows_zeros:
        assert again == new
    elif "%b" not in form:
        assert len(text) >= len(again) or "%B" in form or "%A" in form or "%-" in form


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(patients, min_size=200, max_size=200, unique=True))
def test_two_patients_move_by_other_days(patients_):
    """Some 500 numbers of days are possible; 200 patients of one offset are not."""
    form = "%Y-%m-%d"
    offsets = {read(moved("2020-06-15", patient=each), form) for each in patients_}

    assert len(offsets) >= 120


def test_another_key_moves_by_other_days():
    offsets = {moved("2020-06-15", key=bytes([number]) * 32) for number in range(100)}

    assert len(offsets) >= 70


@given(days, days, patients)
def test_the_age_at_a_note_stays(birth, visit, patient):
    """
    To the day: age in days is the interval; in years it can differ by the leap day.
    """
    form = "%m/%d/%Y"
    new_birth, new_visit = (
        read(moved(day.strftime(form), patient=patient), form) for day in (birth, visit)
    )

    assert visit - birth == new_visit - new_birth


@given(days, st.integers(0, 300), patients)
def test_a_day_without_a_year_moves_like_the_full_dates_of_its_note(
    day, distance, patient
):
    other = day - timedelta(days=distance % 150)
    full = day.strftime("%m/%d/%Y")

    text = moved(other.strftime("%m/%d"), patient=patient, others=[full])
    offset = read(moved(full, patient=patient), "%m/%d/%Y") - day

    assert (other + offset).strftime("%m/%d") in (text, f"0{text}")


@given(days, patients)
def test_months_move_from_their_middle(day, patient):
    middle = day.replace(day=15)
    offset = read(moved("2020-06-15", patient=patient), "%Y-%m-%d") - date(2020, 6, 15)

    for form in ("%B %Y", "%m/%Y", "%Y-%m", "%b %Y"):
        text = moved(day.strftime(form), patient=patient)
        assert text != day.strftime(form)
        if not (day.month == 5 and "%b" in form):
            assert (middle + offset).strftime(form) == text


OPTIONS = {"most_days": 120}
OFFSET = (read(moved("2024-03-01", **OPTIONS), "%Y-%m-%d") - date(2024, 3, 1)).days


def after(day, form):
    return (day + timedelta(days=OFFSET)).strftime(form)


@pytest.mark.parametrize(
    ("text", "day", "form"),
    [
        ("January fifth, 2024", date(2024, 1, 5), None),
        ("January 5th, 2024", date(2024, 1, 5), None),
        ("Monday", date(2024, 3, 4), "%A"),
        ("Mon", date(2024, 3, 4), "%a"),
        ("Monday, March 4, 2024", date(2024, 3, 4), "%A, %B %-d, %Y"),
        ("FRI 3/15/24", date(2024, 3, 15), None),
        ("March", date(2001, 3, 15), "%B"),
        ("in the fall of 2019", None, None),
        ("98-12-25", date(1998, 12, 25), "%y-%m-%d"),
        ("5:12:1948", date(1948, 5, 12), "%-m:%-d:%Y"),
        ("031452", date(1952, 3, 14), "%m%d%y"),
        ("Jan-24", date(2024, 1, 15), "%b-%y"),
        ("Jan '24", date(2024, 1, 15), "%b '%y"),
        ("12\u201305\u20132004", date(2004, 12, 5), "%m\u2013%d\u2013%Y"),
    ],
)
def test_other_forms(text, day, form):
    new = moved(text, **OPTIONS)

    if day is None:
        assert new == "[DATE]"
    elif form is None:
        assert new not in (text, "[DATE]")
    else:
        assert after(day, form) == new


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("3/14-3/20", (date(2001, 3, 14), date(2001, 3, 20))),
        ("3/14/2024-3/20/2024", (date(2024, 3, 14), date(2024, 3, 20))),
        ("3/14 to 3/20/2024", (date(2024, 3, 14), date(2024, 3, 20))),
        ("12/28-1/3/2024", (date(2023, 12, 28), date(2024, 1, 3))),
    ],
)
def test_both_ends_of_a_range_move(text, ends):
    new = moved(text, **OPTIONS)
    numbers = [
        f"{n.lstrip('0')}"
        for n in new.replace("to", "/").replace("-", "/").replace(" ", "").split("/")
    ]

    expected = [after(day, "%-m/%-d").split("/") for day in ends]
    assert expected[0] == numbers[:2]
    assert expected[1] in (numbers[2:4], numbers[3:5])


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("March 5-8, 2024", {31: "April 5-8, 2024", -31: "February 3-6, 2024"}),
        ("Jan 30-31", {31: "Mar 2-3", -31: "Dec 30-31"}),
        ("5-8 March 2024", {31: "5-8 April 2024", -31: "3-6 February 2024"}),
        ("April 2nd-4th", {31: "May 3rd-5th", -31: "March 2nd-4th"}),
        ("Mar 28-31, 2024", {31: "Apr 28-May 1, 2024", -31: "Feb 26-29, 2024"}),
        ("28-31 Mar 2024", {31: "28 Apr-1 May 2024", -31: "26-29 Feb 2024"}),
        ("30th to 31st of March", {31: "30th April to 1st of May", -31: None}),
        ("Dec 28-30, 2023", {31: "Jan 28-30, 2024", -31: "Nov 27-29, 2023"}),
    ],
)
def test_a_range_in_one_month_names_two_where_it_must(text, new, monkeypatch):
    for days_, expected in new.items():
        monkeypatch.setattr(
            "deid_core.surrogates.dates.days_moved", lambda _, d=days_: d
        )
        if expected is not None:
            assert expected == moved(text)


@pytest.mark.parametrize(
    "text",
    [
        "2/30/2024",
        "29 February 2023",
        "13/32/2024",
        "0/5/2024",
        "14:05",
        "Eid",
        "1990s",
        "June of this year",
        "yesterday",
        "3/14/2024 and then some",
        "12345",
        "-",
    ],
)
def test_what_is_no_date_of_the_calendar_falls_to_the_tag(text):
    assert moved(text) == "[DATE]"


HOLIDAY_DATES = {
    "Christmas Day 2023": date(2023, 12, 25),
    "Thanksgiving 2023": date(2023, 11, 23),
    "Easter 2024": date(2024, 3, 31),
    "Memorial Day 2024": date(2024, 5, 27),
    "Labor Day of 2024": date(2024, 9, 2),
    "Good Friday, 2025": date(2025, 4, 18),
    "Ash Wednesday 2024": date(2024, 2, 14),
    "Mother's Day 2024": date(2024, 5, 12),
    "Black Friday 2024": date(2024, 11, 29),
    "Presidents' Day 2024": date(2024, 2, 19),
    "MLK Day 2024": date(2024, 1, 15),
}


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(sorted(HOLIDAY_DATES)), patients)
def test_a_holiday_becomes_one_near_the_moved_day_or_that_day(text, patient):
    name, _ = re.fullmatch(r"(.*?),?(?: of)? (\d{4})", text).groups()
    offset = read(moved("2020-06-15", patient=patient), "%Y-%m-%d") - date(2020, 6, 15)
    day = HOLIDAY_DATES[text] + offset

    new = moved(text, patient=patient)

    assert name not in new
    other = re.fullmatch(r"(.*) (\d{4})", new)
    holiday = HOLIDAYS.get(other[1].lower())
    if holiday:
        assert abs(holiday(int(other[2])) - day) <= timedelta(days=4)
    else:
        assert new == (f"{day:%B} {day.day}, {day.year}")


def test_a_holiday_without_a_year_is_that_of_its_note():
    full = "3/14/2024"
    offset = read(moved(full), "%m/%d/%Y") - date(2024, 3, 14)
    day = date(2023, 11, 23) + offset

    new = moved("Thanksgiving", others=[full])

    assert new.lower() in HOLIDAYS or f"{day:%B} {day.day}" == new
    assert new.upper() == moved("THANKSGIVING", others=[full])


@given(days, st.integers(-180, 180), patients)
def test_a_weekday_before_a_day_is_that_of_the_moved_day(day, distance, patient):
    """Also if only another date of the note, or the weekday itself, shows the year."""
    other = day + timedelta(days=distance)
    full = day.strftime("%m/%d/%Y")
    offset = read(moved(full, patient=patient), "%m/%d/%Y") - day

    new = moved(other.strftime("%A, %m/%d"), patient=patient, others=[full])

    assert (other + offset).strftime("%A, %m/%d") == new


@settings(deadline=None)
@given(days, patients)
def test_a_weekday_decides_the_year_if_nothing_else_does(day, patient):
    offset = read(moved("2020-06-15", patient=patient), "%Y-%m-%d") - date(2020, 6, 15)
    weekday, moved_day = moved(day.strftime("%A, %m/%d"), patient=patient).split(", ")

    fitting = [
        (each + offset).strftime("%A, %m/%d")
        for year in range(1970, 2046)
        if (each := _in_year(day, year)) and each.weekday() == day.weekday()
    ]
    assert f"{weekday}, {moved_day}" in fitting


def _in_year(day, year):
    try:
        return day.replace(year=year)
    except ValueError:
        return None


def test_a_note_with_days_over_twelve_in_front_is_read_that_way():
    text = moved("3/4/2024", others=["25/12/2023"])
    alone = moved("3/4/2024")
    fixed = moved("3/4/2024", others=["25/12/2023"], day_first=False)

    assert alone == fixed
    assert read(text, "%d/%m/%Y") - date(2024, 4, 3) == (
        read(alone, "%m/%d/%Y") - date(2024, 3, 4)
    )


def test_between_dots_the_day_comes_first_unless_the_note_contradicts():
    text = moved("3.4.2024", others=["3/25/2023"])
    american = moved("3.4.2024", others=["3.25.2023"])

    assert read(text, "%d.%m.%Y") - date(2024, 4, 3) == (
        read(american, "%m.%d.%Y") - date(2024, 3, 4)
    )


def test_no_date_becomes_the_birth_date():
    day = read(moved("2024-03-14"), "%Y-%m-%d")
    known = KnownIdentifiers(birth_dates=(day,))

    assert moved("2024-03-14", known=known) == "[DATE]"
    assert moved("2024-03-15", known=known) != "[DATE]"


def test_a_weekday_stays_only_where_dates_move_by_whole_weeks():
    assert moved("Monday", keep_weekday=True) == "Monday"
    assert moved("Monday") not in {"Monday", "[DATE]"}


@pytest.mark.parametrize(
    "text", ["Tues", "THURS", "fri", "Mon", "Wednesday week", "Saturday"]
)
@given(patients)
def test_a_weekday_moves_by_as_many_days_as_the_dates_of_its_note(text, patient):
    full = "3/14/2024"
    days = (read(moved(full, patient=patient), "%m/%d/%Y") - date(2024, 3, 14)).days

    new = moved(text, patient=patient, others=[full])

    place = [name[:2].lower() for name in WEEKDAY_NAMES]
    before, after = (place.index(each[:2].lower()) for each in (text, new))
    assert (before + days) % 7 == after
    assert text.partition(" ")[2] == new.partition(" ")[2]
    assert text.isupper() is new.isupper()


@given(days, patients)
def test_a_day_between_dots_without_a_year_moves_like_one_with_it(day, patient):
    if (day.month, day.day) == (2, 29):
        return
    full = day.strftime("%d.%m.%Y")
    moved_full = moved(full, patient=patient, others=[full])

    short = moved(day.strftime("%d.%m."), patient=patient, others=[full])

    assert moved_full[:6] == short


@pytest.mark.parametrize(
    "text",
    [
        *("16th", "the sixteenth", "2nd Wed of March", "eve of Lunar New Year"),
        *("Ramadan", "Family Day", "second day raya", "Tuesday after Easter"),
        *("5 Ramadan 1446", "3 maart", "Khamis", "l4-O3-2O25", "4/lO", "2 rnarch"),
    ],
)
@pytest.mark.parametrize("style", ["shift", "year"])
def test_a_date_that_cannot_be_reckoned_with_is_a_tag(text, style):
    document = Document("n1", f"3/14/2024 {text}", patient="p1")
    found = [
        Annotation(Span(0, 9), Label.DATE, 1.0, "t", "date"),
        Annotation(Span(10, 10 + len(text)), Label.DATE, 1.0, "t", "date"),
    ]
    policy_ = Policy("t", "tag", {Label.DATE: style}, {}, SurrogateOptions())

    _, written = Replacer(policy_, KEY).replacements(document, found)

    assert written.surrogate == "[DATE]"


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("Boxing Day 2023", date(2023, 12, 26)),
        ("Waitangi Day 2024", date(2024, 2, 6)),
        ("Ash Wednesday 2025", date(2025, 3, 5)),
        ("Whit Monday 2024", date(2024, 5, 20)),
        ("Rosenmontag 2024", date(2024, 2, 12)),
        ("Melbourne Cup 2023", date(2023, 11, 7)),
        ("Hogmanay 2022", date(2022, 12, 31)),
        ("Kentucky Derby 2024", date(2024, 5, 4)),
    ],
)
def test_holidays_of_other_countries_are_on_their_days(name, day):
    words_, year = name.lower().rsplit(" ", 1)

    assert day == HOLIDAYS[words_](int(year))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("policy_", ["surrogate", "year", "keep"])
def test_a_row_of_dates_without_end_falls_to_the_tag_in_no_time(policy_):
    text = "3/14/2024-" * 50_000
    styles = {Label.DATE: "shift" if policy_ == "surrogate" else policy_}
    document = Document("n1", text, patient="p1")
    found = [Annotation(Span(0, len(text)), Label.DATE, 1.0, "t", "date")]

    [only] = Replacer(Policy("t", "tag", styles), KEY).replacements(document, found)

    assert only.surrogate == (text if policy_ == "keep" else "[DATE]")


def test_no_date_moves_out_of_the_calendar():
    assert "[DATE]" not in {moved("1800-01-01"), moved("2199-12-31")}
