import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core.document import Annotation, Document, OffsetMap, Row, Span
from deid_core.labels import Label
from deid_core.policy import load_policy
from deid_core.replace import Replacement, Replacer, apply_replacements


@st.composite
def cases(draw):
    """A text, disjoint spans of it, and a surrogate for each."""
    text = draw(st.text(max_size=40))
    cuts = draw(st.lists(st.integers(0, len(text)), unique=True).map(sorted))
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    return text, [
        Replacement(
            Annotation(Span(start, end), Label.DATE, 1.0, "x"),
            draw(st.text("[DATE]", max_size=8)),
        )
        for start, end in pairs
    ]


def replacement(start, end, surrogate="[DATE]"):
    return Replacement(
        Annotation(Span(start, end), Label.DATE, 1.0, "rules", "date"), surrogate
    )


@given(cases())
def test_writes_each_surrogate_and_keeps_all_else(case):
    """
    The oracle works from right to left on a list of characters.
    """
    text, replacements = case
    expected = list(text)
    for each in reversed(replacements):
        span = each.annotation.span
        expected[span.start : span.end] = each.surrogate

    scrubbed, _ = apply_replacements(text, replacements)

    assert "".join(expected) == scrubbed


@given(cases())
def test_kept_characters_map_there_and_back(case):
    text, replacements = case
    scrubbed, offsets = apply_replacements(text, replacements)
    inside = {
        i
        for each in replacements
        for i in range(each.annotation.span.start, each.annotation.span.end)
    }

    for offset in sorted(set(range(len(text))) - inside):
        there = offsets.to_scrubbed(offset)
        assert text[offset] == scrubbed[there]
        assert offset == offsets.to_original(there)


@given(cases())
def test_replaced_characters_map_to_the_start_of_the_replacement(case):
    text, replacements = case
    _, offsets = apply_replacements(text, replacements)

    for row in offsets.rows:
        for offset in range(row.start, row.end):
            assert row.scrubbed_start == offsets.to_scrubbed(offset)
        for offset in range(row.scrubbed_start, row.scrubbed_end):
            assert row.start == offsets.to_original(offset)


@given(cases())
def test_the_ends_of_both_texts_map_to_each_other(case):
    text, replacements = case
    scrubbed, offsets = apply_replacements(text, replacements)

    assert len(scrubbed) == offsets.to_scrubbed(len(text))
    assert len(text) == offsets.to_original(len(scrubbed))


@given(cases())
def test_kept_pieces_hold_no_surrogate(case):
    text, replacements = case
    scrubbed, offsets = apply_replacements(text, replacements)
    kept, cursor = [], 0
    for each in replacements:
        kept.append(text[cursor : each.annotation.span.start])
        cursor = each.annotation.span.end

    assert offsets.kept(scrubbed) == [*kept, text[cursor:]]


def test_rows_name_both_ranges():
    scrubbed, offsets = apply_replacements("on 3/4 or 5/6.", [replacement(3, 6)])

    assert scrubbed == "on [DATE] or 5/6."
    assert offsets.rows == (Row(3, 6, 3, 9),)


@pytest.mark.parametrize("spans", [[(4, 6), (5, 7)], [(5, 7), (1, 2)], [(8, 99)]])
def test_spans_that_cannot_be_applied_are_refused(spans):
    with pytest.raises(ValueError, match="not a span to replace"):
        apply_replacements("0123456789", [replacement(*span) for span in spans])


@pytest.mark.parametrize(
    "rows",
    [
        (Row(0, 4, 0, 6), Row(3, 5, 6, 8)),
        (Row(0, 4, 0, 6), Row(5, 6, 8, 9)),
        (Row(2, 4, 3, 6),),
        (Row(2, 2, 2, 6),),
    ],
)
def test_rows_that_do_not_line_up_are_no_map(rows):
    with pytest.raises(ValueError, match="not an offset map"):
        OffsetMap(rows)


def test_a_negative_offset_is_refused():
    with pytest.raises(ValueError, match="not an offset"):
        OffsetMap().to_scrubbed(-1)


def test_a_surrogate_is_not_shown():
    assert "Miller" not in repr(replacement(0, 1, "Miller"))


@pytest.mark.parametrize("policy", ["safe-harbor", "surrogate"])
def test_a_number_that_may_be_a_result_becomes_a_tag_and_no_other_number(policy):
    document = Document("n", "total 14250, home 30341")
    replacer = Replacer(load_policy(policy), bytes(range(32)))
    found = [
        Annotation(Span(6, 11), Label.ZIP, 0.4, "tagger"),
        Annotation(Span(18, 23), Label.ZIP, 0.95, "rules"),
    ]

    doubtful, sure = replacer.replacements(document, found)

    assert doubtful.surrogate == "[LOCATION:ZIP]"
    assert sure.surrogate.isdigit()


def test_a_number_that_is_sure_elsewhere_is_the_same_number_everywhere():
    document = Document("n", "MRN 4821307, 4821307")
    replacer = Replacer(load_policy("surrogate"), bytes(range(32)))
    found = [
        Annotation(Span(4, 11), Label.MEDICALRECORD, 0.97, "rules"),
        Annotation(Span(13, 20), Label.MEDICALRECORD, 0.65, "echo"),
    ]

    first, second = replacer.replacements(document, found)

    assert first.surrogate == second.surrogate
