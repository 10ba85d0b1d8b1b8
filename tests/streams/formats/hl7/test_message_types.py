import pytest

from streams.engine.errors import InvalidRecord
from streams.formats.hl7.message import parse
from streams.formats.hl7.message_types import Event, event_of

WANTED = {"MSH": (9,), "EVN": (1,)}


def event(msh_9, evn=None):
    lines = [f"MSH|^~\\&|||||||{msh_9}", *([f"EVN|{evn}"] if evn else [])]
    msh, *rest = parse("\r".join(lines), WANTED)
    return event_of(msh, rest[0] if rest else None)


@pytest.mark.parametrize(
    "taken",
    [
        "ADT^A01",
        "ADT^A04",
        "ADT^A08",
        "ADT^A31",
        "ADT^A40",
        "ORU^R01",
        "MDM^T02",
        "ORM^O01",
    ],
)
def test_takes_messages_that_hold_patients(taken):
    assert Event(*taken.split("^")) == event(taken)


def test_takes_the_structure_as_no_part_of_the_event():
    assert Event("ADT", "A01") == event("ADT^A01^ADT_A01")


def test_takes_both_codes_in_one_component():
    assert Event("ADT", "A01") == event("ADT_A01")


def test_takes_the_trigger_of_evn_where_msh_names_none():
    assert Event("ADT", "A08") == event("ADT", evn="A08")


def test_takes_an_oru_without_a_trigger():
    assert str(event("ORU")) == "ORU"


@pytest.mark.parametrize(
    "other", ["ADT^A99", "ADT", "ADT^", "ACK^A01", "adt^a01", "ORU^R02", "ADT^A011"]
)
def test_refuses_every_other(other):
    with pytest.raises(InvalidRecord) as caught:
        event(other)

    assert caught.value.code == "unknown_event"


def test_refuses_a_header_without_an_event():
    with pytest.raises(InvalidRecord, match="bad_msh: MSH-9: empty"):
        event("")


def test_shows_a_code_and_nothing_else():
    with pytest.raises(InvalidRecord, match=r"MSH-9: ADT\^\? is not supported"):
        event("ADT^ZZMARKER")
