import ipaddress

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deid_core.labels import Label
from tests.deid_core.rules.rule_examples import covers, labels_of
from tests.sampling import examples

THREE = st.from_regex("[2-9][0-9]{2}", fullmatch=True)
EMAIL = r"[a-z0-9][a-z0-9._+-]{0,20}[a-z0-9]@([a-z0-9]{1,9}\.){1,3}[a-z]{2,6}"
FOUR = st.from_regex("[0-9]{4}", fullmatch=True)


@pytest.mark.parametrize(
    "form",
    [
        "({}) {}-{}",
        "({}){}-{}",
        "{}-{}-{}",
        "{}.{}.{}",
        "{} {} {}",
        "{}/{}-{}",
        "1-{}-{}-{}",
        "+1 {} {} {}",
        "+1{}{}{}",
        "+1 ({}) {}-{}",
        "{}-{}-{} ext. 12",
        "{}-{}-{} x12",
    ],
)
@settings(max_examples=examples(20))
@given(area=THREE, exchange=THREE, line=FOUR)
def test_finds_every_number_in_every_form(form, area, exchange, line):
    number = form.format(area, exchange, line)

    assert covers(f"Her number is known: {number}, she said.", number)


@pytest.mark.parametrize("cue", ["fax", "Fax:", "FAX #", "fax number is", "faxed to"])
def test_a_number_after_fax_is_a_fax_number(cue):
    assert Label.FAX in labels_of(f"{cue} 212-555-0143", "212-555-0143")


@given(st.ip_addresses(v=4))
def test_finds_every_ipv4_address_but_what_looks_like_an_outline(address):
    assume(len(str(address)) > len("1.2.3.4"))

    assert labels_of(f"from {address}, late", str(address)) == {Label.IPADDR}


@given(st.ip_addresses(v=6, network="2000::/3"))
def test_finds_every_global_ipv6_address(address):
    assert Label.IPADDR in labels_of(f"from {address}, late", str(address))
    assert covers(f"from {address.exploded}, late", address.exploded)


@given(st.tuples(*[st.integers(0, 999)] * 4))
def test_four_numbers_out_of_range_are_an_address_only_where_something_says_so(numbers):
    text = ".".join(map(str, numbers))
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        is_private = text.startswith(("10.", "192.168.", "172."))
        assert is_private or Label.IPADDR not in labels_of(f"at {text}, late", text)
        assert Label.IPADDR in labels_of(f"IP address {text}, late", text)


@given(st.from_regex(EMAIL, fullmatch=True))
def test_finds_every_email_address(address):
    assert Label.EMAIL in labels_of(f"write ({address}) now", address)
