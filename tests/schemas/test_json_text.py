"""A name that an object gives twice is found, whatever the JSON looks like."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as some

from schemas import SchemaError
from schemas.json_text import elements, loads

TEXTS = some.text(alphabet='ab"\\: \n', max_size=6)
SPACES = some.sampled_from(["", " ", "\n ", "\t", "\r\n"])
VALUES = some.recursive(
    some.none() | some.integers(0, 9) | TEXTS,
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.lists(some.tuples(TEXTS, inner), max_size=4).map(tuple)
    ),
    max_leaves=12,
)
"""Any JSON; an object is a tuple of names and values, in which names may repeat."""


def written(value, draw):
    """Return a value as JSON, with white space wherever it may be."""
    if isinstance(value, tuple):
        pairs = (
            f"{draw(SPACES)}{json.dumps(name)}{draw(SPACES)}:{written(each, draw)}"
            for name, each in value
        )
        return f"{{{','.join(pairs)}{draw(SPACES)}}}"
    if isinstance(value, list):
        return f"[{','.join(written(each, draw) for each in value)}]"
    return json.dumps(value)


def repeats(value):
    """Return whether an object of the value gives a name twice."""
    if isinstance(value, tuple):
        names = [name for name, _ in value]
        below = [each for _, each in value]
        return len(set(names)) < len(names) or any(map(repeats, below))
    return isinstance(value, list) and any(map(repeats, value))


@given(VALUES, some.data())
def test_a_value_is_refused_if_and_only_if_a_name_is_given_twice(value, data):
    text = written(value, data.draw).encode()

    if repeats(value):
        with pytest.raises(SchemaError, match="gives a name twice"):
            loads("event", text)
    else:
        assert orjson.loads(text) == loads("event", text)


@given(some.lists(VALUES, max_size=3), some.data())
def test_elements_of_an_array_keep_what_is_given_twice(values, data):
    text = written(values, data.draw).encode()

    found = elements(text)

    assert [orjson.loads(each) for each in found] == orjson.loads(text)
    for element, value in zip(found, values, strict=True):
        if repeats(value):
            with pytest.raises(SchemaError):
                loads("event", element)
        else:
            loads("event", element)


@pytest.mark.parametrize(
    "text",
    [
        b'{"text": "a", "text": "b"}',
        b'{"text" : "\\": ", "text" \n: "b"}',
        b'{"a": {"b": 1, "b": 2}}',
        b'[{"a": 1}, {"a": 1, "\\u0061": 2}]',
    ],
)
def test_the_message_shows_no_name_and_no_value(text):
    with pytest.raises(SchemaError) as caught:
        loads("note_event", text)

    said = "note_event: value: an object gives a name twice; give it once"
    assert said == str(caught.value)


def test_what_is_no_array_has_no_elements():
    assert elements(b'{"a": 1, "a": 2}') is None
    with pytest.raises(orjson.JSONDecodeError):
        elements(b"[")
