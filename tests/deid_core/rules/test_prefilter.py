"""What is derived from a pattern never loses a match of it."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core.detectors.rules import build, prefilters
from deid_core.detectors.rules.engine import RULES
from deid_core.detectors.rules.prefilter import Trigger, derive
from deid_core.detectors.rules.rule import Rule
from deid_core.detectors.rules.windows import WindowTable
from deid_core.labels import Label
from deid_core.language.fragments import to_ascii
from deid_core.research.corpora.readers import read_corpus
from tests.deid_core.rules.rule_examples import read_marks
from tests.sampling import sampled

NOTES = Path(__file__).parents[2] / "written_notes"
EXAMPLES = sampled(
    to_ascii(read_marks(example)[0])
    for rule in RULES
    for example in (*rule.found, *rule.not_found)
)


def matches(pattern, text):
    """Return where a pattern matches, overlapping matches included."""
    found, at = [], 0
    while match := pattern.search(text, at):
        found.append(match.span())
        at = match.start() + 1
    return found


def lost(rules, texts):
    """Return the matches that no window of their rule holds."""
    derived = [derive(rule.pattern) for rule in rules]
    table = WindowTable.of(derived, [None] * len(rules))
    windows = dict(table.windows(texts))
    missing = []
    for number, rule in enumerate(rules):
        is_fixed = derived[number].is_fixed
        places = {}
        for which, start, end in zip(*windows.get(number, ((),) * 3), strict=True):
            places.setdefault(which, []).append((start, end))
        for which, text in enumerate(texts):
            missing += [
                (rule.name, text[start:end])
                for start, end in matches(rule.pattern, text)
                if not any(
                    first == start if is_fixed else first <= start and end < past
                    for first, past in places.get(which, ())
                )
            ]
    return missing


def test_no_rule_loses_a_match():
    """Each pattern is tried everywhere in examples and written notes."""
    rules = [rule for rule in RULES if not rule.triggers]
    notes = [
        to_ascii(each.text) for each in sampled(read_corpus(NOTES / "dev").documents)
    ]

    assert len(rules) > 140
    assert lost(rules, [*EXAMPLES, "\n".join(EXAMPLES), *notes]) == []


LITERALS = st.sampled_from(["a", "b", "mr", "is", "0", "12", " ", "-", ".", "B", "'s"])
CLASSES = st.sampled_from(
    ["[0-9]", "[a-c]", "[A-Z]", "[ab0]", "[^a]", r"\w", r"\s", "[ ,]", ".", r"[^\W\d_]"]
)
PLACES = st.sampled_from(
    [
        *(r"\b", r"\Z", r"(?<![a-z])", r"(?![a-z])", r"(?!\w)", r"(?<!\w)"),
        *(r"(?<![A-Za-z-])", r"(?![A-Za-z0-9])", r"(?<=[ -])", r"(?=[ab])"),
        *(r"(?= mr)", r"(?!b)"),
    ]
)
ESCAPED = st.one_of(LITERALS.map(re.escape), CLASSES, PLACES)
PATTERNS = st.recursive(
    ESCAPED,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda a: f"(?:{'|'.join(a)})"),
        inner.map(lambda a: f"(?:{a})?"),
        inner.map(lambda a: f"(?:{a}){{1,3}}"),
        inner.map(lambda a: f"(?i:{a})"),
        inner.map(lambda a: f"(?:({a})x)"),
    ),
    max_leaves=8,
)
PIECES = [*"abcx01 -.,BZ_", "mr", "is", "12", "'s", "MR", "\n", "ab"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=6), st.booleans())
def test_no_pattern_loses_a_match(pattern, texts, has_case):
    compiled = re.compile(pattern, 0 if has_case else re.IGNORECASE)
    if derive(compiled) is None:
        return

    assert lost([Rule("r", Label.IDNUM, compiled, 0.5)], texts) == []


@pytest.mark.parametrize(
    ("pattern", "triggers"),
    [
        (r"(?<![a-z])mrn[ ][0-9]", {"<mrn>"}),
        (r"\b(?:ward|room)\b.{0,9}[0-9]", {"<ward>", "<room>"}),
        (r"[A-Za-z]{1,9}(?=[ ]ward\b)", {" ward>"}),
    ],
)
def test_triggers_are_strings_that_each_match_holds(pattern, triggers):
    derived = derive(re.compile(pattern, re.IGNORECASE))

    assert triggers == {marked(each) for each in derived.triggers}


def marked(trigger: Trigger) -> str:
    return "<" * trigger.starts_word + trigger.text + ">" * trigger.ends_word


@pytest.mark.parametrize("pattern", [r"[^a]{1,9}", r"a?", r".{0,9}", r"[a-z]*1"])
def test_a_pattern_without_a_prefilter_needs_triggers(pattern):
    rule = Rule("open", Label.IDNUM, re.compile(pattern), 0.5)
    with pytest.raises(ValueError, match=r"rule open: .* name triggers"):
        prefilters.prefilter_of(rule)


def test_the_kept_prefilters_are_those_of_the_rules(tmp_path):
    """Otherwise: ``python -m deid_core.detectors.rules.build``."""
    build.write(tmp_path / "new.json", sampled(RULES))
    file = Path(str(files(prefilters.__package__))) / prefilters.FILE
    new, kept = (
        {line.rstrip(",") for line in path.read_text().splitlines()}
        for path in (tmp_path / "new.json", file)
    )

    assert new <= kept
    patterns = {prefilters.key_of(rule.pattern) for rule in RULES if not rule.triggers}
    assert patterns == {*json.loads(file.read_text())}
