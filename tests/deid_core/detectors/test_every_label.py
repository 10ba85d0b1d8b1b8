"""Every category of i2b2-2014 and every identifier of Safe Harbor is detected."""

import pytest

from deid_core.detectors.lexicon import LexiconDetector, LexiconOptions
from deid_core.detectors.rules.engine import RuleDetector
from deid_core.document import Document
from deid_core.labels import Label
from tests.deid_core.rules.label_examples import EXAMPLES

DETECTORS = (RuleDetector(), LexiconDetector(LexiconOptions()))


def test_there_is_an_example_of_every_label():
    assert set(Label) == set(EXAMPLES)


@pytest.mark.parametrize("label", Label)
def test_every_label_is_detected(label):
    marked, letter = EXAMPLES[label]
    before, value, after = marked.replace("»", "«").split("«")
    document = Document("d", before + value + after)
    found = {
        document.text[each.span.start : each.span.end]
        for detector in DETECTORS
        for each in detector([document])[0]
        if each.label is label
    }

    assert value in found
    assert letter == label.safe_harbor
