"""Outcomes: proposals that pass through steps, or the refusal of a document."""

from deid_core import Annotation, DetectorFailed, Document, Label, Span
from deid_core.detection import Outcome, each_then

MARKER = "Quellwright"
FIRST = Annotation(Span(0, 4), Label.PATIENT, 0.9, "one")
SECOND = Annotation(Span(6, 9), Label.CITY, 0.9, "two")


def broken(document, proposals):
    if document.id == "bad":
        raise KeyError(MARKER)
    return [*proposals, SECOND]


def test_a_step_that_breaks_refuses_its_document_alone_and_quotes_nothing():
    documents = [Document("good", ""), Document("bad", "")]

    good, bad = each_then("step", broken, documents, [Outcome([FIRST])] * 2)

    assert good == Outcome([FIRST, SECOND])
    assert repr(bad.refused) == "DetectorFailed('step: KeyError')"
    assert bad.proposals == ()


def test_no_step_undoes_a_refusal():
    refused = Outcome(refused=DetectorFailed("one"))

    assert refused.then("step", lambda proposals: [*proposals, FIRST]) is refused
    assert Outcome.joined([Outcome([FIRST]), refused, Outcome([SECOND])]) is refused
    assert Outcome.joined([Outcome([FIRST]), Outcome([SECOND])]).proposals == [
        FIRST,
        SECOND,
    ]


def test_an_outcome_shows_no_proposals():
    assert "Span" not in repr(Outcome([FIRST]))
