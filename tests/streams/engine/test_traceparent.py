"""The header traceparent: what is read, and what is written of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.traceparent import TraceParent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
VALID = re.compile(rb"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def test_the_example_of_the_standard_is_read():
    read = TraceParent.read(f"00-{TRACE}-{SPAN}-01".encode())

    assert TraceParent(int(TRACE, 16), int(SPAN, 16), is_sampled=True) == read
    assert f"00-{TRACE}-{SPAN}-01".encode() == bytes(read)


@pytest.mark.parametrize(
    "header",
    [
        "",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-01-",
        f"00-{TRACE}-{SPAN}-01-Quelwright",
        f"00-{TRACE}-{SPAN}-01\n",
        f" 00-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"01-{TRACE}-{SPAN}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00_{TRACE}_{SPAN}_01",
        f"00-{TRACE}-{SPAN}-0g",
        f"00-{TRACE[:-2]}٣-{SPAN}-01",
    ],
)
def test_what_is_not_version_00_is_no_parent(header):
    assert TraceParent.read(header.encode()) is None


def test_no_header_is_no_parent():
    assert TraceParent.read(None) is None


@given(st.binary(max_size=80) | st.from_regex(VALID, fullmatch=True))
def test_whatever_is_sent_only_ids_and_the_sampled_flag_are_written(raw):
    read = TraceParent.read(raw)

    assert (read is not None) == bool(VALID.fullmatch(raw))
    if read is not None:
        sampled = b"01" if int(raw[-2:], 16) & 1 else b"00"
        assert raw[:-2] + sampled == bytes(read)
        assert read == TraceParent.read(bytes(read))
