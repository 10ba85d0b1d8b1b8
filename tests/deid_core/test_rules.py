import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core.detectors.fragments import fold, lower
from deid_core.detectors.rules import RULES, RuleDetector
from deid_core.document import Document


def spans_of(rules, text):
    [annotations] = RuleDetector(rules)([Document("d1", text)])
    return sorted((a.span.start, a.span.end) for a in annotations)


def read_marks(marked):
    """Return the text without guillemets, and the spans that they enclosed."""
    text, spans = "", []
    for part in marked.replace("»", "«").split("«"):
        spans.append((len(text), len(text) + len(part)))
        text += part
    return text, spans[1::2]


def short_id(value):
    return getattr(value, "name", None) or ascii(value)[:40]


FOUND = [(rule, example) for rule in RULES for example in rule.found]
NOT_FOUND = [(rule, example) for rule in RULES for example in rule.not_found]


@pytest.mark.parametrize(("rule", "marked"), FOUND, ids=short_id)
def test_finds_what_stands_between_the_marks(rule, marked):
    """
    The text between « and » is annotated, and nothing else.
    """
    text, expected = read_marks(marked)

    assert expected == spans_of((rule,), text)


@pytest.mark.parametrize(
    ("rule", "text"), NOT_FOUND, ids=short_id
)
def test_leaves_alone_what_it_must_not_find(rule, text):
    assert [] == spans_of((rule,), text)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_has_examples_of_both_kinds(rule):
    assert all("«" in example for example in rule.found)
    assert rule.found
    assert rule.not_found
