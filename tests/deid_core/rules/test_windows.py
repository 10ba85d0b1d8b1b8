import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core.detectors.rules.rule import Rule
from deid_core.detectors.rules.windows import Looks, NeedsTable
from deid_core.labels import Label

NEEDS = ("is", "mr", "o", "0-00", "00 y", "xx-0", "@", " of may", "a.b", "is a 0")
TEXTS = st.text(
    st.sampled_from("isMrOo 0129-xX@.ofmay\nßéÅ王") | st.sampled_from(string.printable)
)


def a_rule(need):
    return Rule(need, Label.IDNUM, re.compile("x"), 0.5, (need,))


def places(table, text):
    """Return the rules that one text calls for, by name, and where their needs are."""
    return [(rule.name, looks.starts) for rule, looks in table.called_for([text])]


TABLE = NeedsTable([a_rule(need) for need in NEEDS])


def positions_by_hand(need, text):
    """What `Rule.needs` promises, read letter by letter."""
    shape = re.sub("[1-9]", "0", text.lower())
    found = [at for at in range(len(text)) if shape.startswith(need, at)]
    if not need.isalpha():
        return found

    def is_latin_letter(at):
        # Letters outside Latin-1 are folded before a rule sees them.
        return 0 <= at < len(text) and text[at].isalpha() and ord(shape[at]) < 256

    return [
        at
        for at in found
        if not is_latin_letter(at - 1) and not is_latin_letter(at + len(need))
    ]


@given(TEXTS)
def test_finds_every_need_where_it_stands(text):
    """
    The oracle looks for one need after the other.
    """
    called = dict(places(TABLE, text))

    for need in NEEDS:
        assert positions_by_hand(need, text) == called.get(need, []), need


def test_rules_are_called_in_the_order_of_their_names():
    table = NeedsTable([a_rule("mr"), a_rule("@"), a_rule("is")])

    called = [name for name, _ in places(table, "mr is @")]

    assert ["@", "is", "mr"] == called


@pytest.mark.parametrize("digits", [63, 64, 10_000])
def test_no_identifier_is_as_long_as_a_run_of_64_digits(digits):
    """
    Each digit of a longer run would call for rules that find nothing in it.
    """
    table = NeedsTable([a_rule("0000"), a_rule("@")])

    called = [name for name, _ in places(table, "1" * digits + "@")]

    assert (["0000", "@"] if digits < 64 else ["0000", "@"][1:]) == sorted(called)


def test_a_rule_may_want_its_need_near_the_start_of_a_line():
    rule = Rule("typist", Label.DOCTOR, re.compile("x"), 0.5, ("/", "ab"), in_line=2)
    table = NeedsTable([rule])

    [(_, positions)] = places(table, "AB/cd\nXX/yy\nXXX/yyy\nx ab ab/")

    assert [0, 2, 8, 22] == positions


def test_no_call_is_lost_in_a_text_full_of_needs():
    table = NeedsTable([a_rule("@")])

    [(_, positions)] = places(table, "@" * 5_000)

    assert [*range(5_000)] == positions


def test_a_table_without_words_finds_the_others():
    assert [] == places(NeedsTable([]), "mr 12")
    assert 1 == len(places(NeedsTable([a_rule("@")]), "mr @"))


@given(st.lists(TEXTS, max_size=4))
def test_a_text_is_read_alike_among_others(texts):
    together = {rule.name: looks for rule, looks in TABLE.called_for(texts)}

    for at, text in enumerate(texts):
        for need in NEEDS:
            looks = together.get(need, Looks([], [], []))
            own = [start for which, start, _ in zip(*looks, strict=True) if which == at]
            assert positions_by_hand(need, text) == own, need


def test_overlapping_stretches_around_needs_become_one():
    rule = Rule("a", Label.CITY, re.compile("x"), 0.5, ("@",), reach=3, beyond=5)
    text = "....@..@.......@.........@@"

    [(_, looks)] = NeedsTable([rule]).called_for(["@", text])

    assert Looks([0, 1, 1], [0, 1, 22], [5, 20, 31]) == looks
