import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core import (
    Annotation,
    Deidentifier,
    Document,
    KnownIdentifiers,
    Label,
    PersonName,
    ScrubbedDocument,
    Span,
    load_policy,
)
from deid_core.merge import merge

TEXT = "abcdefghijklmnopqrstuvwxyz"


class Fixed:
    """Proposes the same spans in every document."""

    reads_as_written = False

    def __init__(self, name, *proposals):
        self.name = name
        self.proposals = [
            Annotation(Span(start, end), label, score, name, "rule")
            for start, end, label, score in proposals
        ]

    def __call__(self, documents):
        if any("BREAK" in each.text for each in documents):
            raise KeyError
        return [list(self.proposals) for _ in documents]


def system(*detectors, policy="safe-harbor"):
    return Deidentifier(detectors, load_policy(policy))


def explain(deidentifier, text=TEXT, known=None):
    document = Document("n1", text, known or KnownIdentifiers())
    [explanation] = deidentifier.explain([document])
    return explanation


def test_every_proposal_is_told_with_what_merge_made_of_it():
    one = Fixed("one", (2, 6, Label.PATIENT, 0.5), (20, 22, Label.DATE, 0.4))
    other = Fixed("other", (4, 9, Label.DOCTOR, 0.9))

    first, second = explain(system(one, other)).decisions

    assert Span(2, 9) == first.annotation.span
    assert Label.DOCTOR is first.annotation.label
    assert [each.source for each in first.proposals] == ["one/rule", "other/rule"]
    assert other.proposals[0] == first.trusted
    assert (first.original, first.surrogate) == ("cdefghi", "[NAME:DOCTOR]")
    assert one.proposals[1] == second.trusted


def test_the_surrogate_stands_where_it_says():
    explanation = explain(system(Fixed("one", (2, 6, Label.PATIENT, 0.5))))
    [decision] = explanation.decisions

    span, text = decision.scrubbed, explanation.scrubbed.text
    assert "[NAME:PATIENT]" == text[span.start : span.end] == decision.surrogate


def test_what_is_removed_stands_nowhere(tmp_path):
    policy = tmp_path / "own.toml"
    policy.write_text('name = "own"\ndefault = "remove"\n', "utf-8")

    explanation = explain(
        system(Fixed("one", (2, 6, Label.PATIENT, 0.5)), policy=str(policy))
    )

    [decision] = explanation.decisions
    assert (decision.surrogate, decision.scrubbed) == ("", None)
    assert explanation.scrubbed.text == "abghijklmnopqrstuvwxyz"


def test_echoes_are_among_the_proposals(hybrid):
    text = "Dr. Quellwright came.  Quellwright left."

    _, echo = explain(hybrid, text).decisions

    assert echo.trusted.source == "echo/doctor"


def test_a_refused_note_keeps_what_was_found_and_says_why():
    known = KnownIdentifiers(patient_names=(PersonName("Quellwright", "Ada"),))

    explanation = explain(
        system(Fixed("one", (0, 3, Label.PATIENT, 0.5))), "Bob Quellwright", known
    )

    [decision] = explanation.decisions
    assert explanation.scrubbed is None
    assert explanation.refused.startswith("ResidueFound: ")
    assert (decision.original, decision.surrogate) == ("Bob", None)


def test_a_broken_detector_leaves_nothing_to_tell_but_itself():
    explanation = explain(system(Fixed("one")), "BREAK")

    assert (explanation.decisions, explanation.scrubbed) == ((), None)
    assert explanation.refused == "DetectorFailed: detector 'one': KeyError"


def test_a_batch_is_explained_as_it_is_scrubbed(hybrid):
    """
    Echoes reach from note to note of a patient, in both.
    """
    texts = ("Dr. Quellwright came.", "Quellwright left.", "Nothing.")
    documents = [Document(text, text, patient="p1") for text in texts]

    explained = [each.scrubbed for each in hybrid.explain(documents)]

    assert hybrid.deidentify_batch(documents) == explained
    assert explained[1].text == "[NAME:DOCTOR] left."


def test_nothing_of_the_note_is_in_the_repr():
    explanation = explain(system(Fixed("one", (2, 6, Label.PATIENT, 0.5))))

    assert "cdef" not in repr(explanation)
    assert isinstance(explanation.scrubbed, ScrubbedDocument)


proposals = st.builds(
    lambda start, length, label, score, name: (
        (start, min(start + length, len(TEXT)), label, score),
        name,
    ),
    st.integers(0, len(TEXT) - 1),
    st.integers(1, 8),
    st.sampled_from([Label.PATIENT, Label.DOCTOR, Label.DATE]),
    st.sampled_from([0.2, 0.8]),
    st.sampled_from(["a", "b"]),
)


@given(st.lists(proposals, max_size=10))
def test_decisions_are_what_merge_decides_and_no_proposal_is_lost(drawn):
    detectors = [
        Fixed(name, *(each for each, by in drawn if by == name)) for name in ("a", "b")
    ]
    every = [each for detector in detectors for each in detector.proposals]

    decisions = explain(system(*detectors)).decisions

    assert merge(every) == [each.annotation for each in decisions]
    told = [proposal for each in decisions for proposal in each.proposals]
    assert sorted(told, key=repr) == sorted(every, key=repr)
    for each in decisions:
        assert merge([each.trusted])[0].label is each.annotation.label
        assert each.trusted in each.proposals


@pytest.mark.parametrize("text", ["", "Stable."])
def test_a_note_without_phi_has_no_decisions(text):
    explanation = explain(system(Fixed("one")), text)

    assert explanation.decisions == ()
    assert text == explanation.scrubbed.text
