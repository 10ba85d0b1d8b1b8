import pytest

from deid_core.language import context
from deid_core.language.context import Evidence


def place(marked):
    """Return the text without guillemets, and the range inside of them."""
    before, _, rest = marked.partition("«")
    inside, _, after = rest.partition("»")
    return before + inside + after, len(before), len(before) + len(inside)


@pytest.mark.parametrize(
    ("marked", "shown"),
    [
        ("No cue at all. «Camila»", Evidence.NOTHING),
        ("We had a call to «Camila» at noon.", Evidence.SENTENCE),
        ("«Camila» agrees. Plan as above.", Evidence.SUBJECT),
        ("Spoke with «Camila» at noon.", Evidence.CUE),
        ("«Camila», his wife, is here.", Evidence.CUE),
        ("Her daughter «Camila» called.", Evidence.CUE),
        ("«Camila» is a pleasant 60-year-old woman.", Evidence.CUE),
    ],
)
def test_a_name_is_a_person_where_the_context_shows_enough(marked, shown):
    assert context.is_person(*place(marked), shown)
    assert context.is_person(*place(marked), Evidence.NOTHING)


@pytest.mark.parametrize(
    ("marked", "missing"),
    [
        ("No cue at all. «Camila»", {"sentence", "subject", "cue"}),
        ("We had «Camila» at noon.", {"subject", "cue"}),
        ("«Camila» does well.", {"cue"}),
    ],
)
def test_a_name_is_no_person_where_the_context_shows_too_little(marked, missing):
    refused = {
        each.value for each in Evidence if not context.is_person(*place(marked), each)
    }
    assert refused == missing


@pytest.mark.parametrize("evidence", Evidence)
def test_no_evidence_makes_a_device_or_a_score_a_person(evidence):
    for marked in ("placed a «Foley» catheter", "a «Ranson» score", "«Gleason» 3+4"):
        assert not context.is_person(*place(marked), evidence)


def test_the_place_in_a_sentence_is_no_evidence_for_a_single_word_if_told_so():
    single, double = "we had «Anna» at noon", "we had «Anna Roe» at noon"
    assert context.is_person(*place(single), Evidence.SENTENCE)
    assert not context.is_person(*place(single), Evidence.SENTENCE, by_capital=False)
    assert context.is_person(*place(double), Evidence.SENTENCE, by_capital=False)


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("We asked «Young» to rest.", True),
        ("«Young» has left.", True),
        ("Mild. «Young» women only.", False),
        ("per «Young»", True),
    ],
)
def test_a_name_that_is_also_a_word_needs_evidence_to_be_found_again(marked, expected):
    assert context.is_person_again(*place(marked), is_word=True) is expected


def test_a_name_that_is_no_word_is_found_again_but_before_a_device():
    assert context.is_person_again(*place("Reitman. «Reitman» (new)"), is_word=False)
    assert context.is_person_again(*place("The «Krueger» boy"), is_word=False)
    assert context.is_person_again(*place("0402  «Zelda»: K 2.6"), is_word=False)
    assert not context.is_person_again(*place("the «Foley» catheter"), is_word=False)


def test_evidence_of_a_person_outweighs_a_clinical_term_for_a_name_found_again():
    assert context.is_person_again(*place("told by «Reitman» catheter"), is_word=False)


def test_an_institution_ends_before_its_town_and_state():
    text, _, end = place("seen at «Mercy»'s hospital in Rochester, MN today")
    tail = context.end_of_institution(text, end)
    assert text[end : tail.end] == "'s hospital"
    assert text[slice(*tail.city)] == "Rochester"
    assert text[slice(*tail.state)] == "MN"


@pytest.mark.parametrize("place_of_care", ["May", "Night", "ICU", "Room 3"])
def test_a_time_or_a_room_is_no_institution_although_it_follows_care(place_of_care):
    text, start, end = place(f"was seen at «{place_of_care}»")
    assert context.is_after_care(text, start)
    assert not context.may_be_institution(text, start, end)
