"""How telegraphic notes are."""

import pytest

from deid_core.language.density import density

PROSE = (
    "The patient is a 54-year-old woman who was seen in the clinic with her daughter"
    " for a cough that has been present for three weeks, and she is not in pain."
)
TELEGRAPHIC = "54F w/ dtr, cough x3 wk, no SOB. CXR neg. d/w Roe, f/u 3/4. RN KD"


def test_prose_and_telegraphic_notes_are_told_apart():
    assert density(PROSE) == 0.0
    assert density(TELEGRAPHIC) == 1.0
    assert 0.0 < density(PROSE + 3 * f" {TELEGRAPHIC}") < 1.0


@pytest.mark.parametrize("text", [PROSE, TELEGRAPHIC])
def test_the_letter_case_says_nothing(text):
    assert density(text.upper()) == density(text.lower()) == density(text)


def test_a_note_without_words_is_read_as_a_telegraphic_one():
    assert density("") == density(" \n") == 1.0
