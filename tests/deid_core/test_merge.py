from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from deid_core.document import Annotation, Span
from deid_core.labels import Label
from deid_core.merge import merge


def spans(limit=40):
    return st.tuples(st.integers(0, limit), st.integers(1, 8)).map(
        lambda pair: Span(pair[0], pair[0] + pair[1])
    )


proposals = st.lists(
    st.builds(
        Annotation,
        span=spans(),
        label=st.sampled_from(Label),
        score=st.sampled_from([0.2, 0.5, 0.9]),
        detector=st.sampled_from(["rules", "known", "tagger"]),
        rule=st.sampled_from(["ssn", "id", ""]),
    )
)


def covered(annotations):
    """The oracle: the set of character positions, the slow and obvious way."""
    return {i for a in annotations for i in range(a.span.start, a.span.end)}


@given(proposals)
def test_covers_exactly_what_was_proposed(proposed):
    """
    No character that a detector flagged is left in the clear, and none besides is lost.
    """
    assert covered(proposed) == covered(merge(proposed))


@given(proposals)
def test_never_overlaps(proposed):
    """
    The result can be applied to the text from left to right.
    """
    merged = merge(proposed)

    assert all(a.span.end <= b.span.start for a, b in pairwise(merged))


@given(proposals, st.randoms())
def test_ignores_order(proposed, rng):
    """
    The order in which detectors run does not change the outcome.
    """
    shuffled = rng.sample(proposed, len(proposed))

    assert merge(proposed) == merge(shuffled)


@given(proposals)
def test_merging_twice_changes_nothing(proposed):
    merged = merge(proposed)

    assert merged == merge(merged)


@given(proposals)
def test_every_result_is_called_as_its_most_trusted_large_proposal(proposed):
    for annotation in merge(proposed):
        inside = [p for p in proposed if p.span.overlaps(annotation.span)]
        half = (annotation.span.end - annotation.span.start) / 2
        large = [p for p in inside if p.span.end - p.span.start >= half]
        inside = large or inside
        best = max(
            (p.score, p.span.end - p.span.start, p.detector, p.rule) for p in inside
        )
        labels = {
            p.label
            for p in inside
            if (p.score, p.span.end - p.span.start, p.detector, p.rule) == best
        }

        assert annotation.score == best[0]
        assert best[2:] == (annotation.detector, annotation.rule)
        assert annotation.label in labels


def test_the_label_of_a_long_run_does_not_grow_with_the_run():
    """
    Trust is in a proposal's own length, not in that of what was joined before it.
    """
    first = Annotation(Span(0, 6), Label.DATE, 0.5, "a")
    second = Annotation(Span(4, 12), Label.AGE, 0.5, "a")
    third = Annotation(Span(11, 20), Label.PHONE, 0.5, "a")

    [joined] = merge([first, second, third])

    assert (Span(0, 20), Label.PHONE) == (joined.span, joined.label)


def test_touching_proposals_stay_apart():
    left = Annotation(Span(0, 4), Label.PATIENT, 0.9, "known", "patient")
    right = Annotation(Span(4, 8), Label.PATIENT, 0.9, "known", "patient")

    assert merge([right, left]) == [left, right]


def test_a_small_part_does_not_name_the_whole():
    hospital = Annotation(Span(0, 27), Label.HOSPITAL, 0.85, "lexicon", "hospital")
    state = Annotation(Span(25, 27), Label.STATE, 0.95, "rules", "state")

    assert merge([hospital, state]) == [hospital]
