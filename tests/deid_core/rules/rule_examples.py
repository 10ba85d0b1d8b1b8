"""What the tests of rules share: run rules, and read examples with guillemets."""

from deid_core.detectors.rules.engine import RULES, RuleDetector
from deid_core.document import Document
from deid_core.labels import Label
from deid_core.merge import merge

DETECT_ALL = RuleDetector(RULES)


def spans_of(rules, text):
    [annotations] = RuleDetector(rules)([Document("d1", text)])
    return sorted((a.span.start, a.span.end) for a in annotations)


def labels_of(text, value):
    """Return the labels, after merging, of the annotations that are the value."""
    [proposals] = DETECT_ALL([Document("d1", text)])
    return {
        a.label for a in merge(proposals) if text[a.span.start : a.span.end] == value
    }


def has_date(text):
    """Return whether any rule finds a date."""
    [annotations] = DETECT_ALL([Document("d1", text)])
    return any(each.label is Label.DATE for each in annotations)


def covers(text, value):
    """Return whether every letter and digit of the value is annotated by some rule."""
    [annotations] = DETECT_ALL([Document("d1", text)])
    covered = {i for a in annotations for i in range(a.span.start, a.span.end)}
    start = text.index(value)
    return all(
        i in covered for i in range(start, start + len(value)) if text[i].isalnum()
    )


def read_marks(marked):
    """Return the text without guillemets, and the spans that they enclosed."""
    text, spans = "", []
    for part in marked.replace("»", "«").split("«"):
        spans.append((len(text), len(text) + len(part)))
        text += part
    return text, spans[1::2]
