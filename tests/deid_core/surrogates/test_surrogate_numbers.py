"""Numbers of the same format, of ranges that belong to nobody where there are any."""

from __future__ import annotations

import ipaddress
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core import KnownId, KnownIdentifiers, Label
from tests.deid_core.surrogates.surrogate_cases import KNOWN, OTHER_KEY, write
from tests.sampling import examples

ID_LABELS = [label for label in Label if label.main == "ID" and label is not Label.SSN]


def shape(text):
    """Digit for digit, letter for letter and case, all else as it is."""
    text = re.sub("[A-Z]", "A", re.sub("[a-z]", "a", text))
    return re.sub("[0-9]", "9", text)


def digits(text):
    return re.sub(r"\W", "", text)


@settings(max_examples=examples(50))
@given(
    st.from_regex(r"\A0{0,2}[1-9A-Za-z][0-9]{3,10}([-. /][0-9]{2,4}){0,2}\Z"),
    st.sampled_from(ID_LABELS),
)
def test_an_id_keeps_its_format_and_is_another(text, label):
    written = write(label, text)
    zeros = len(text) - len(text.lstrip("0"))

    assert shape(text) == shape(written)
    assert text[:zeros] == written[:zeros]
    assert digits(text) != digits(written)
    assert written[zeros] != "0" or text[zeros] == "0"


@pytest.mark.parametrize(
    "same",
    [
        ("0077881234", "77881234", "77-88-1234", "0077 881 234", "77.881.234"),
        ("AB-1234", "ab1234", "Ab 12-34"),
    ],
)
def test_other_separators_cases_and_zeros_give_the_same_digits(same):
    written = {
        digits(write(label, text)).lstrip("0").lower()
        for text in same
        for label in ID_LABELS
    }

    assert len(written) == 1


@pytest.mark.parametrize("label", ID_LABELS)
@pytest.mark.parametrize("text", ["fingerprint", "-", "000", "١٢٣٤", "Größe 12"])
def test_an_id_without_plain_digits_falls_to_the_tag(label, text):
    assert write(label, text) == (f"[{label.value}]")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("(217) 555-0123", r"\([2-9]\d\d\) 555-01\d\d"),
        ("217.555.0123", r"[2-9]\d\d\.555\.01\d\d"),
        ("+1 217 555 0123", r"\+1 [2-9]\d\d 555 01\d\d"),
        ("1-217-555-0123", r"1-[2-9]\d\d-555-01\d\d"),
        ("2175550123", r"[2-9]\d\d55501\d\d"),
        ("555-0123", r"555-01\d\d"),
        ("217-555-0123 ext. 33", r"[2-9]\d\d-555-01\d\d ext\. \d\d"),
        ("+44 20 7946 0018", r"\+44 \d\d \d{4} \d{4}"),
        ("x4821", r"x\d{4}"),
    ],
)
def test_a_phone_number_keeps_its_format_and_is_fictional(text, form):
    written = write(Label.PHONE, text)

    assert re.fullmatch(form, written)
    assert written != text
    assert written == write(Label.FAX, text)


def test_a_number_is_the_same_in_all_forms_and_its_last_seven_digits_too():
    forms = "(217) 555-0123", "217.555.0123", "+1 217 555 0123", "12175550123"
    written = {digits(write(Label.PHONE, each))[-10:] for each in forms}

    [number] = written
    assert number[-7:] == digits(write(Label.PHONE, "555-0123"))


@pytest.mark.parametrize("text", ["123-45-6789", "123456789", "123 45 6789"])
def test_a_social_security_number_is_never_issued(text):
    written = write(Label.SSN, text)

    assert shape(text) == shape(written)
    assert re.fullmatch(r"9\d\d(0[1-9]|[1-4]\d)\d{4}", digits(written))
    assert digits(written)[-4:] == write(Label.SSN, "6789")
    assert written == write(Label.IDNUM, text)


@pytest.mark.parametrize(
    ("label", "text", "form"),
    [
        (Label.EMAIL, "tobias.roe77@mail.test", r"[a-z]+\.[a-z]+\d\d@example\.\w{3}"),
        (Label.EMAIL, "ROE@MAIL.TEST", r"[A-Z]+@EXAMPLE\.[A-Z]{3}"),
        (
            Label.URL,
            "https://www.roe.test/me?x=1",
            r"https://www\.example\.\w{3}/\w{8}",
        ),
        (Label.URL, "roe.test", r"example\.\w{3}/\w{8}"),
        (Label.USERNAME, "jroe01", r"[a-z]+\d\d"),
        (Label.USERNAME, "J_Roe", r"[A-Z]_[A-Z][a-z]+"),
        (Label.IPADDR, "10.0.0.7:8080", r"[\d.]+:8080"),
        (Label.IPADDR, "aa:bb:cc:00:11:22", r"00:00:5e:00:53:[0-9a-f]{2}"),
        (Label.IPADDR, "AA-BB-CC-00-11-22", r"00-00-5E-00-53-[0-9A-F]{2}"),
    ],
)
def test_the_internet_of_a_surrogate_belongs_to_nobody(label, text, form):
    assert re.fullmatch(form, write(label, text))


@given(st.ip_addresses())
def test_addresses_are_of_the_ranges_for_documentation(address):
    written = ipaddress.ip_address(write(Label.IPADDR, str(address)))
    ranges = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")

    assert address.version == written.version
    assert any(
        written in ipaddress.ip_network(each)
        for each in ranges
        if ipaddress.ip_network(each).version == written.version
    )


@pytest.mark.parametrize(
    ("label", "text"),
    [
        (Label.IPADDR, "300.1.1.1"),
        (Label.IPADDR, "localhost"),
        (Label.URL, "a b"),
        (Label.URL, ""),
        (Label.EMAIL, "@"),
        (Label.EMAIL, "roe"),
        (Label.USERNAME, "..."),
    ],
)
def test_what_is_none_falls_to_the_tag(label, text):
    assert write(label, text) == (f"[{label.value}]")


def test_the_known_address_is_the_same_person_as_the_name():
    given_name = write(Label.PATIENT, "Mabel").lower()
    family = write(Label.PATIENT, "Quellwright").lower()

    user = write(Label.EMAIL, "mabel.quellwright@mail.test").split("@")[0]

    assert user == (f"{given_name}.{family}")


@given(st.integers(1000, 9999), st.integers(0, 300))
def test_no_number_becomes_a_number_of_the_record(number, patient):
    """With half of all numbers of four digits in the record."""
    text, patient_ = str(number), str(patient)
    candidate = write(Label.IDNUM, text, known=KnownIdentifiers(), patient=patient_)
    known = KnownIdentifiers(ids=(KnownId(f"00-{candidate}", Label.MEDICALRECORD),))

    written = write(Label.IDNUM, text, known=known, patient=patient_)

    assert written not in (candidate, text)


def test_another_key_gives_other_numbers():
    for text in ("0077881234", "X-99871-Z", "8837261"):
        assert write(Label.IDNUM, text) != write(Label.IDNUM, text, key=OTHER_KEY)
        assert write(Label.IDNUM, text) != write(Label.IDNUM, text, patient="p2")


def test_the_record_of_the_cases_is_whole():
    assert KNOWN.phones
    assert KNOWN.ids
