"""A note as it is read, and the way back from each of its readings."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core.language import reading
from deid_core.language.reading import is_visible, readings_of

EVERY = [chr(code) for code in range(sys.maxunicode + 1)]
WHITE_SPACE = "\t\n\x0b\x0c\r\x85"
IGNORED_BY_DEFAULT = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u3164\ufe00\ufe0f\uffa0\ufff0"
    "\U000e0000\U000e0100\U000e01ef\U000e0fff"
)


def texts(text):
    return [each.text for each in readings_of(text)]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Kowal\u00adczykova", ["Kowalczykova"]),
        ("Kowal\u200dczy\u2060kova\ufe0f", ["Kowalczykova"]),
        ("M\u200br. Sm\u200bith", ["Mr. Smith", "M r. Sm ith"]),
        ("Smith\u200bseen", ["Smithseen", "Smith seen"]),
        ("Smith\x00seen\x1fhere", ["Smithseenhere", "Smith seen here"]),
        ("Smith \u200b seen, \u200bhere\ufeff", ["Smith  seen, here"]),
        ("\ufeffSmith", ["Smith"]),
        ("12\u00ad05\u00ad2019", ["12052019", "12-05-2019"]),
        ("Smith\u00adJones", ["SmithJones", "Smith-Jones"]),
        ("Kowal\u00ad\r\n  czykova", ["Kowalczykova", "Kowal\nczykova"]),
        ("5 \u00ad\nSmith", ["5 \nSmith"]),
        ("by \U000e0041\U000e006e\U000e006e.", ["by .", "by  Ann ."]),
        ("Sm\ud800ith", ["Smith", "Sm ith"]),
        ("\uff33\uff4d\uff49\uff54\uff48 \uff14\uff12", ["Smith 42"]),
        ("\U0001d412\U0001d426ith \u24b6nn", ["Smith Ann"]),
        ("Gri\ufb03n, 5\u338e, \u2163", ["Griffin, 5mg, IV"]),
        ("Jose\u0301 Jose\u200b\u0301", ["Jos\u00e9 Jos\u00e9"]),
        ("S\u0336m\u0336i\u0336t\u0336h", ["Smith"]),
        ("\ud55c \u1112\u1161\u11ab", ["\ud55c \ud55c"]),
        ("John\u00a0Smith\u2009on\u3000May\u202f4", ["John Smith on May 4"]),
        ("617\u2011555\u20110123", ["617-555-0123"]),
        ("a\x0bb\x0cc\u2028d\u2029e\x85f", ["a\nb\nc\nd\ne\nf"]),
        ("\u0661\u0662\u096a", ["124"]),
        ("\u2076\u00b9\u2077\u207b\u2075\u200b\u2075\u2075", ["617-555"]),
        ("3\u02b3\u1d48", ["3rd"]),
    ],
)
def test_a_text_is_read_as_it_looks(written, read):
    assert read == texts(written)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Mr. Smith,\t4 May\r\n",
        "m\u00b2 10\u2079/L 5\u00bd 1\u00ba \u00aa 5 \u00b5g \u2026 \u2122",
        "O\u00b4Brien",
        "Jos\u00e9 Garc\u00eda\u2013N\u00fa\u00f1ez \u2018x\u2019 \u201cy\u201d",
        "\u2460 \u00b2\u00b2\u00b2 \u738b\u5c0f\u660e \ud55c\uad6d \U0001f642",
    ],
)
def test_a_text_without_odd_characters_is_the_very_same(text):
    [only] = readings_of(text)

    assert only.text is text


def test_every_format_character_and_control_is_left_out():
    """
    By the categories of the interpreter's own Unicode; white space stays.
    """
    unseen = [
        c
        for c in EVERY
        if unicodedata.category(c) in {"Cf", "Cc", "Cs"} and c not in WHITE_SPACE
    ]
    assert len(unseen) > 2_000

    for character in [*unseen, *IGNORED_BY_DEFAULT, "\ufdd0", "\uffff"]:
        assert texts(f"Sm{character}ith")[0] == "Smith", hex(ord(character))
        assert not is_visible(character)


def test_every_wide_narrow_or_mathematical_letter_and_digit_is_read_as_the_plain_one():
    forms = [
        c
        for c in EVERY
        if unicodedata.decomposition(c).startswith(("<wide>", "<narrow>", "<font>"))
        and unicodedata.normalize("NFKC", c).isalnum()
        and is_visible(c)
    ]
    assert len(forms) > 1_000

    for character in forms:
        plain = unicodedata.normalize("NFKC", character)
        assert texts(f"a {character} b") == [f"a {plain} b"], hex(ord(character))


def test_every_digit_of_a_script_is_read_as_one_of_ascii():
    for character in EVERY:
        if unicodedata.category(character) == "Nd":
            assert texts(f"no {character}") == [f"no {unicodedata.decimal(character)}"]


def test_what_is_passed_over_has_no_form_of_its_own():
    """
    The pattern only finds what may read otherwise: it must not pass over any of it.
    """
    pattern = reading._not_plain()

    for character in EVERY:
        if not pattern.match(character):
            assert reading._form(character) == character, hex(ord(character))


ODD = [
    "a", "B", "9", "\u00e9", "e\u0301", "\ufb03", "\u00bd", "\u00b2", "\u2079",
    "\u00ad", "\u00ad\n ", "\u200b", "\u200d", "\x00", "\ufeff", "\ud800", "\u0301",
    "\uff21", "\u00a0", "\u2028", "\U000e0041", "\U0001d412", "\U0001f642", "\u1161",
    " ", "\n", "-", ".",
]  # fmt: skip
odd_texts = st.lists(st.sampled_from(ODD), max_size=24).map("".join)


@given(odd_texts)
def test_the_way_back_goes_forward_and_misses_only_what_reads_as_nothing(text):
    for one in readings_of(text):
        places = [one.in_note(at, at + 1) for at in range(len(one.text))]
        assert places == sorted(places)
        last = 0
        for start, end in places:
            assert last <= end <= len(text)
            assert texts(text[last:start])[0].strip() == ""
            last = end
        assert texts(text[last:])[0] == ""


@given(odd_texts, st.integers(0, 30), st.integers(1, 30))
def test_a_range_read_there_and_back_is_at_least_itself(text, start, length):
    for one in readings_of(text):
        start = min(start, max(0, len(one.text) - 1))
        end = min(len(one.text), start + length)
        if start < end:
            first, last = one.in_note(start, end)
            assert one.text[start:end] in one.of_note(first, last)
            assert (first, last) == (
                one.in_note(start, start + 1)[0],
                one.in_note(end - 1, end)[1],
            )


@pytest.mark.parametrize(("start", "end"), [(-1, 1), (0, 5), (2, 2), (3, 1)])
def test_a_range_beyond_the_reading_is_refused(start, end):
    [only] = readings_of("a\u00adbcd")

    with pytest.raises(ValueError, match="range of the reading"):
        only.in_note(start, end)


def test_the_text_is_not_in_the_repr():
    assert "Smith" not in repr(readings_of("Sm\u200bith"))
