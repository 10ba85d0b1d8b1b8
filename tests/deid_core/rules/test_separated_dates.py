"""All forms of NUS's section 3.3: orders, separators, and how parts are written."""

from itertools import product

import pytest

from deid_core.language.fragments import words
from tests.deid_core.rules.rule_examples import covers

SEPARATORS = ("-", ",", "/", ":", " ", "\t")
DAYS = ("5", "05", "23")
MONTHS = ("3", "03", "11")
MONTH_WORDS = words("Mar March Nov")
FULL_ORDERS = words("dmy mdy ydm ymd")


def written(order, separator, **parts):
    return separator.join(parts[part] for part in order)


@pytest.mark.parametrize(("order", "separator"), [*product(FULL_ORDERS, SEPARATORS)])
def test_finds_every_full_date_with_a_long_year(order, separator):
    for day, month in product(DAYS, MONTHS + MONTH_WORDS):
        date = written(order, separator, d=day, m=month, y="2019")

        assert covers(f"Seen on {date} and well.", date), date


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("order", ["dmy", "mdy"])
def test_finds_every_full_date_with_a_short_year_but_those_that_are_times(
    order, separator
):
    months = MONTH_WORDS if separator == ":" else MONTHS + MONTH_WORDS
    for day, month in product(DAYS, months):
        date = written(order, separator, d=day, m=month, y="19")

        assert covers(f"Seen on {date} and well.", date), date


@pytest.mark.parametrize("separator", ["/", "-", ","])
def test_finds_day_and_month_where_one_is_a_word(separator):
    for day, month in product(DAYS, ("Nov", "November")):
        date = f"{day}{separator}{month}"

        assert covers(f"Seen on {date} and well.", date), date


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("order", ["ym", "my"])
def test_finds_month_and_long_year_after_a_cue(order, separator):
    for month in ("03", "11", "Mar", "March"):
        date = written(order, separator, m=month, y="2019")

        assert covers(f"Ill since {date} and well.", date), date


@pytest.mark.parametrize(
    "text",
    [
        "vomiting 2/7, LOW 1/12, cough 3/52",
        "pain 2/10 and later 5/10, strength 4/5",
        "at 14:05:24 and 09:30",
        "BP 120 80 and 12 10 2000 1500",
        "take 5-10 units, 3,5 mg, 5 3 mL",
        "3,5 and L4-5, T12, x3",
        "epinephrine 1:2000",
    ],
)
def test_leaves_what_only_nus_takes_for_dates(text):
    number = next(part.strip(",") for part in text.split() if part[0].isdigit())

    assert not covers(text, number)
