import pytest

from deid_core.labels import Label
from deid_core.language.fragments import words
from tests.deid_core.rules.rule_examples import covers, labels_of

STATES = words(
    """
    AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV
    NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC PR
    """
)


@pytest.mark.parametrize("state", [*STATES, "New York", "West Virginia", "Ohio"])
@pytest.mark.parametrize("zip_code", ["02115", "02115-1234"])
def test_finds_city_state_and_zip_apart(state, zip_code):
    text = f"12 Oak St, Fall River, {state} {zip_code}."

    assert labels_of(text, zip_code) == {Label.ZIP}
    assert labels_of(text, state) == {Label.STATE}
    assert labels_of(text, "Fall River") == {Label.CITY}


@pytest.mark.parametrize(
    "address",
    [
        "123 Main St",
        "4500 North Lake Shore Drive, Apt 4B",
        "9 Elm Dr., Unit 7",
        "100 W 34th St, Suite 200",
        "7 OLD MILL ROAD",
        "1600 Martin Luther King Jr Blvd",
        "12 O'Brien Ct.",
        "55 Fifth Avenue #12",
        "88 St. Mary Lane",
        "PO Box 123",
    ],
)
@pytest.mark.parametrize("frame", ["Lives at {}.", "ADDRESS: {}\nPHONE", "{}, Reno"])
def test_finds_addresses(address, frame):
    assert covers(frame.format(address), address)
