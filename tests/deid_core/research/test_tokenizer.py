import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core.research.tokenizer import Token, tokenize


@given(st.text())
def test_tokens_are_where_they_say(text):
    assert all(text[t.start : t.end] == t.text for t in tokenize(text))


@given(st.text())
def test_nothing_but_blanks_lies_between_tokens(text):
    """
    Tokens are in order, disjoint, and lose no letter, digit or mark.
    """
    position = 0
    for token in tokenize(text):
        assert position <= token.start < token.end
        assert _is_blank(text[position : token.start])
        position = token.end

    assert _is_blank(text[position:])


def _is_blank(text):
    return all(c.isspace() or c < " " for c in text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Since6/03/04", ["Since", "6", "/", "03", "/", "04"]),
        ("O'Brien-Lee", ["O", "'", "Brien", "-", "Lee"]),
        ("BP 120/80.", ["BP", "120", "/", "80", "."]),
        ("Łukasz Ğül", ["Łukasz", "Ğül"]),
        ("Jose\u0301 x", ["Jose\u0301", "x"]),
        ("a_b\x00c", ["a", "_", "b", "c"]),
        ("", []),
    ],
)
def test_splits_run_together_text(text, expected):
    assert expected == [token.text for token in tokenize(text)]


def test_no_repr_shows_the_text():
    assert "Fitzwilliam" not in repr(Token(0, 11, "Fitzwilliam"))
