"""What a place that a tagger names as one consists of."""

import pytest

from deid_core import Label
from deid_core.detectors.place_parts import parts_of, whole_of
from tests.deid_core.marked import unmark

HOSPITAL, CITY, STATE = Label.HOSPITAL, Label.CITY, Label.STATE


def parts(marked, label):
    text, [span] = unmark(marked)
    found = sorted(parts_of(text, *span, label))
    return [(text[span.start : span.end], each) for span, each in found]


@pytest.mark.parametrize("said", [HOSPITAL, Label.ORGANIZATION])
def test_an_institution_ends_before_its_town_and_state(said):
    assert parts("at «Mercy Hospital, Fall River, MA 02720».", said) == [
        ("Mercy Hospital", said),
        ("Fall River", CITY),
        ("MA", STATE),
        ("02720", Label.ZIP),
    ]
    assert parts("at «Mayo Clinic in Rochester, Minnesota»", said) == [
        ("Mayo Clinic", said),
        ("Rochester", CITY),
        ("Minnesota", STATE),
    ]


@pytest.mark.parametrize(
    ("marked", "town", "state"),
    [
        ("in «Sacramento, CA»", "Sacramento", "CA"),
        ("in «Fort Worth TX»", "Fort Worth", "TX"),
        ("in «Fall River, Massachusetts»", "Fall River", "Massachusetts"),
    ],
)
def test_a_town_ends_before_its_state(marked, town, state):
    assert parts(marked, CITY) == [(town, CITY), (state, STATE)]


@pytest.mark.parametrize(
    ("marked", "values"),
    [
        ("in «Fort Worth TX 76102»", ["Fort Worth", "TX", "76102"]),
        (
            "at «Mercy Clinic in Reno, ID 12345»",
            ["Mercy Clinic", "Reno", "ID", "12345"],
        ),
    ],
)
def test_a_number_behind_the_state_stays_covered(marked, values):
    assert values == [value for value, _ in parts(marked, CITY)]


@pytest.mark.parametrize(
    ("marked", "label"),
    [
        ("in «West Virginia»", CITY),
        ("in «New York»", CITY),
        ("in «Lagos, Nigeria»", CITY),
        ("in «Washington»", CITY),
        ("«Roe, Jane, MD»", Label.DOCTOR),
        ("at «Scott and White»", HOSPITAL),
    ],
)
def test_anything_else_is_left_whole(marked, label):
    assert parts(marked, label) == [
        (unmark(marked)[0][slice(*unmark(marked)[1][0])], label)
    ]


@pytest.mark.parametrize(
    "marked",
    [
        "seen at «St. Luke's Hospital» on",
        "in «Mercy Clinic»",
        "at «Reno Medical Center»",
        "seen at «St. Luke's» on 03/14/2024",
        "was admitted to «Saint Mary's» last week",
    ],
)
def test_a_hospital_that_is_called_a_town_is_a_hospital(marked):
    assert [label for _, label in parts(marked, CITY)] == [HOSPITAL]


@pytest.mark.parametrize(
    "marked",
    ["lives in «St. Mary's»", "moved to «St. John's»", "lives in «Newton Center»"],
)
def test_a_town_with_the_name_of_a_saint_stays_a_town(marked):
    assert [label for _, label in parts(marked, CITY)] == [CITY]


@pytest.mark.parametrize(
    ("marked", "label", "whole"),
    [
        ("ship: «lumen specialty» rx, cold", HOSPITAL, "lumen specialty rx"),
        ("at «Tri-Rivers» Imaging Center today", HOSPITAL, "Tri-Rivers Imaging Center"),
        ("«PASSAIC ENAMEL» CO. 1961", Label.ORGANIZATION, "PASSAIC ENAMEL CO"),
        ("seen at «Mercy» clinic today", HOSPITAL, "Mercy"),
        ("at «Mercy» labs drawn", HOSPITAL, "Mercy"),
        (
            "to 1st Floor, «19 Cobham Ct», Porirua",
            Label.STREET,
            "1st Floor, 19 Cobham Ct",
        ),
        ("at «2 Elm St», apt 4b rear.", Label.STREET, "2 Elm St, apt 4b rear"),
        ("in rm 4 «2 Elm St» lots of", Label.STREET, "rm 4 2 Elm St"),
        ("from «Reno» clinic", CITY, "Reno"),
    ],
)
def test_a_place_has_the_words_that_belong_to_it(marked, label, whole):
    text, [span] = unmark(marked)
    start, end = whole_of(text, *span, label)

    assert whole == text[start:end]
