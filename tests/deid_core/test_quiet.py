"""Quiet notes: doubtful proposals count only where something is sure."""

import pytest

from deid_core import Annotation, ConfigError, Document, Label, Span
from deid_core.config import load_preset
from deid_core.quiet import QuietOptions, without_doubtful

LONG = Document("1", "Woods screw manoeuvre, then McRoberts. " * 40)
PROSE = Document("1", "Woods was at the bedside and they had a talk with her. " * 12)
SHORT = Document("2", "Woods screw manoeuvre")


def proposed(score, detector="tagger", label=Label.PATIENT, at=0):
    return Annotation(Span(at, at + 5), label, score, detector)


def kept(document, *found):
    return without_doubtful(QuietOptions(), document, list(found))


def test_what_is_doubtful_is_dropped_from_a_long_note_without_anything_sure():
    sure_enough = proposed(0.92)
    rule = proposed(0.6, "rules", Label.IDNUM)

    listed = proposed(0.85, "lexicon", at=20)

    found = kept(LONG, proposed(0.6), listed, sure_enough, rule)

    assert found == [sure_enough, rule]


@pytest.mark.parametrize(
    "sure",
    [
        proposed(0.97),
        proposed(0.95, "rules", Label.PHONE),
        proposed(1.0, "known", Label.DOCTOR),
    ],
)
def test_one_sure_identifier_lets_the_doubtful_ones_count(sure):
    assert kept(LONG, proposed(0.4), sure) == [proposed(0.4), sure]


@pytest.mark.parametrize(
    "no_sign",
    [
        proposed(0.99, label=Label.DATE),
        proposed(0.99, "lexicon"),
        proposed(0.99, "rules", Label.PROFESSION),
    ],
)
def test_a_date_a_job_or_a_listed_name_does_not_show_that_a_note_is_of_somebody(
    no_sign,
):
    assert proposed(0.4) not in kept(LONG, proposed(0.4), no_sign)


def test_in_prose_a_doubt_of_the_tagger_counts_and_one_of_the_lexicon_if_both_agree():
    named, other = proposed(0.4), proposed(0.85, "lexicon", at=20)

    found = kept(PROSE, named, proposed(0.6, "lexicon"), other)

    assert found == [named, proposed(0.6, "lexicon")]


@pytest.mark.parametrize(
    "text",
    [
        f"{LONG.text}Woods says no. Cord gases sent.",
        f"{LONG.text}Kept npo. Woods",
        f"{LONG.text}\nWoods.\n",
    ],
)
def test_a_person_by_the_words_around_or_under_the_note_is_no_doubt(text):
    named = proposed(0.4, at=text.rindex("Woods"))
    unnamed = proposed(0.4)

    assert kept(Document("1", text), named, unnamed) == [named]


def test_many_doubts_together_are_no_doubt():
    many = [proposed(0.8, at=10 * each) for each in range(6)]

    assert kept(LONG, *many[:5]) == []
    assert kept(LONG, *many) == many


def test_short_notes_stay_as_they_are():
    assert kept(SHORT, proposed(0.4)) == [proposed(0.4)]


def test_a_preset_says_when_notes_are_quiet(tmp_path):
    preset = tmp_path / "own.toml"
    preset.write_text('name = "own"\ndetectors = ["rules"]\n[quiet]\nwords = 7\n')

    assert load_preset(str(preset)).quiet == QuietOptions(words=7)

    preset.write_text('name = "own"\ndetectors = ["rules"]\n[quiet]\nword = 7\n')
    with pytest.raises(ConfigError, match="word"):
        load_preset(str(preset))


def test_presets_without_that_table_drop_nothing():
    assert load_preset("lexical").quiet is None
