from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core.research.published.nus.dates import DATE, ORDERS, dates, pattern_of
from tests.deid_core.marked import unmark

MONTHS = ["1", "01", "12", "Jan", "JANUARY", "may", "Sept", "december"]
PARTS = {
    "d": st.sampled_from(["1", "07", "19", "31"]),
    "m": st.sampled_from(MONTHS),
    "y": st.sampled_from(["1999", "2016", "16", "04"]),
}
DELIMITERS = st.sampled_from(["-", ",", "/", ":", " ", "\t", ", ", " - "])


def spans(text):
    return [(a.span.start, a.span.end) for a in dates(text)]


@st.composite
def dates_of_the_grid(draw):
    parts = [draw(PARTS[part]) for part in draw(st.sampled_from(ORDERS))]
    written = parts[0]
    for part in parts[1:]:
        written += draw(DELIMITERS) + part
    return written


def test_the_grid_is_the_papers():
    whole = {"".join(order) for order in permutations("dmy")} - {"dym", "myd"}

    assert whole | {"dm", "md", "ym", "my"} == set(ORDERS)


@given(dates_of_the_grid())
def test_every_date_of_the_grid_is_found_whole(written):
    """
    Whatever the order, the form of each part and the delimiters.
    """
    assert [(8, 8 + len(written))] == spans(f"Seen on {written}; well")


@pytest.mark.parametrize(
    "marked",
    [
        "vomiting «2/7», LOW «1/12», PR 78/min, Bp 120/70",
        "at «10:30», pain «2/10», ratio «1:4» x «11 3» tabs",
        "since «March 2014» or «14 Mar» or «3-2014» and May",
        "TWC 14 UC10, 1500H, 33/Chinese/M, 0.125 , qD , 40",
        "BP 120/80, 45/99, 32/13, 1.5 / 2.5, 2/7th, x2/7",
        "14.3.2016 has dots, 14th March an ordinal, 14Mar2016 no delimiter",
    ],
)
def test_what_looks_like_a_date_is_one(marked):
    text, expected = unmark(marked)

    assert expected == spans(text)


@pytest.mark.parametrize("order", ORDERS)
def test_no_order_repeats_without_bound(order):
    """
    A pattern that repeats without bound could take more than linear time.
    """
    assert not {"*", "+"} & set(pattern_of(order))
    assert not {"*", "+"} & set(DATE.pattern)
