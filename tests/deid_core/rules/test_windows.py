import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core.detectors.rules.prefilters import prefilter_of
from deid_core.detectors.rules.rule import Rule
from deid_core.detectors.rules.windows import Windows, WindowTable
from deid_core.labels import Label

TRIGGERS = ("is", "mr", "o", "0-00", "00 y", "xx-0", "@", " of may", "a.b", "is a 0")
TEXTS = st.text(
    st.sampled_from("isMrOo 0129-xX@.ofmay\nßéÅ王") | st.sampled_from(string.printable)
)


def a_rule(trigger):
    return Rule(trigger, Label.IDNUM, re.compile("x"), 0.5, triggers=(trigger,))


class RuleTable:
    """A table that yields rules, not their numbers."""

    def __init__(self, rules):
        self.rules = rules
        self.table = WindowTable.of(
            [prefilter_of(each) for each in rules], [each.max_column for each in rules]
        )

    def windows(self, texts):
        for number, windows in self.table.windows(texts):
            yield self.rules[number], windows


def places(table, text):
    """Return the rules that may match a text, by name, and where their triggers are."""
    return [(rule.name, windows.starts) for rule, windows in table.windows([text])]


TABLE = RuleTable([a_rule(trigger) for trigger in TRIGGERS])


def positions_by_hand(trigger, text):
    """What `Rule.triggers` promises, read letter by letter."""
    shape = re.sub("[1-9]", "0", text.lower())
    found = [at for at in range(len(text)) if shape.startswith(trigger, at)]
    if not trigger.isalpha():
        return found

    def is_latin_letter(at):
        return 0 <= at < len(text) and text[at].isalpha() and ord(shape[at]) < 256

    return [
        at
        for at in found
        if not is_latin_letter(at - 1) and not is_latin_letter(at + len(trigger))
    ]


@given(TEXTS)
def test_finds_every_trigger(text):
    """
    The oracle windows for one trigger after the other.
    """
    called = dict(places(TABLE, text))

    for trigger in TRIGGERS:
        assert positions_by_hand(trigger, text) == called.get(trigger, []), trigger


@pytest.mark.parametrize("digits", [63, 64, 10_000])
def test_no_identifier_is_as_long_as_a_run_of_64_digits(digits):
    """
    Each digit of a longer run would call for rules that find nothing in it.
    """
    table = RuleTable([a_rule("0000"), a_rule("@")])

    called = [name for name, _ in places(table, "1" * digits + "@")]

    assert (["0000", "@"] if digits < 64 else ["0000", "@"][1:]) == sorted(called)


def test_a_rule_may_want_its_need_near_the_start_of_a_line():
    rule = Rule(
        "typist", Label.DOCTOR, re.compile("x"), 0.5, triggers=("/", "ab"), max_column=2
    )
    table = RuleTable([rule])

    [(_, positions)] = places(table, "AB/cd\nXX/yy\nXXX/yyy\nx ab ab/")

    assert positions == [0, 2, 8, 22]


def test_no_call_is_lost_in_a_text_full_of_triggers():
    table = RuleTable([a_rule("@")])

    [(_, positions)] = places(table, "@" * 5_000)

    assert positions == [*range(5_000)]


def test_a_table_without_words_finds_the_others():
    assert places(RuleTable([]), "mr 12") == []
    assert len(places(RuleTable([a_rule("@")]), "mr @")) == 1


@given(st.lists(TEXTS, max_size=4))
def test_a_text_is_read_alike_among_others(texts):
    together = {rule.name: windows for rule, windows in TABLE.windows(texts)}

    for at, text in enumerate(texts):
        for trigger in TRIGGERS:
            windows = together.get(trigger, Windows([], [], []))
            own = [
                start for which, start, _ in zip(*windows, strict=True) if which == at
            ]
            assert positions_by_hand(trigger, text) == own, trigger


def test_overlapping_windows_become_one():
    rule = Rule(
        "a", Label.CITY, re.compile("x"), 0.5, triggers=("@",), lookbehind=3, window=5
    )
    text = "....@..@.......@.........@@"

    [(_, windows)] = RuleTable([rule]).windows(["@", text])

    assert Windows([0, 1, 1], [0, 1, 22], [5, 20, 31]) == windows
