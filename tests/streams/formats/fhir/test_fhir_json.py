from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.fhir.json_text import MAX_DEPTH, Number, dumps, loads


@pytest.mark.parametrize(
    "number",
    ["1.50", "0.0", "-0.10", "1e3", "1.0E-2", "123456789012345678901234567890", "0"],
)
def test_a_number_stays_as_it_is_written(number):
    text = f'{{"value":{number}}}'.encode()

    assert loads(text) == {"value": number}
    assert isinstance(loads(text)["value"], Number)
    assert dumps(loads(text)) == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | st.decimals(allow_nan=False).map(str),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
        max_leaves=20,
    )
)
def test_what_is_written_is_read_as_it_was(value):
    text = dumps({"value": value})

    assert dumps(loads(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b'{"a":1}}',
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":01}',
        b'{"a":"\xff"}',
        b'{"a":"\\ud800"}',
        b"{'a':1}",
        b'{"a":1} {"b":2}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(InvalidRecord) as error:
        loads(text)
    assert error.value.code is ReasonCode.BAD_JSON


@pytest.mark.parametrize(
    "text", [b'{"id":"1","id":"2"}', b'{"x":[{"a":1,"\\u0061":2}]}', b"[]", b'"a"']
)
def test_a_name_given_twice_and_what_is_no_object_are_refused(text):
    with pytest.raises(InvalidRecord) as error:
        loads(text)
    assert error.value.code is ReasonCode.SCHEMA


def test_deep_nesting_is_refused():
    def nested(depth: int) -> bytes:
        return b'{"a":' * depth + b"1" + b"}" * depth

    assert loads(nested(MAX_DEPTH))
    with pytest.raises(InvalidRecord, match="nested over"):
        loads(nested(MAX_DEPTH + 1))


def test_a_byte_order_mark_is_no_part_of_the_message():
    assert loads(b'\xef\xbb\xbf{"a":true}') == {"a": True}
