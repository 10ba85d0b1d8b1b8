from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core.tagger.codec import Bio, TagSpan, runs_of
from deid_core.tagger.words import (
    NEWLINE,
    PlacedWords,
    WordNumbers,
    lines,
    pieces,
    word_spans,
)


def test_words_come_apart_at_digits_marks_and_inner_capitals():
    assert pieces("NASSMadrid 28016,nºCol:2/3") == [
        *("NASS", "Madrid", "28016", ",", "nº", "Col", ":", "2", "/", "3"),
    ]


def test_a_word_in_capitals_stays_whole():
    assert pieces("DNI McNeil A") == ["DNI", "Mc", "Neil", "A"]


@given(st.text())
def test_words_and_their_places_agree_in_any_text(text):
    found = [
        text[w.start : w.stop] for s, e in lines(text) for w in word_spans(text, s, e)
    ]
    assert found == [word for word in pieces(text) if word != NEWLINE]


ASCII = st.text(st.characters(max_codepoint=127))


@given(ASCII)
def test_a_text_of_ascii_alone_is_cut_as_any_other(text):
    assert pieces(text) == pieces(f"{text}\n\u00e9")[: len(pieces(text))]
    assert pieces(f"{text}\n\u00e9")[len(pieces(text)) :] == [NEWLINE, "\u00e9"]


@settings(deadline=None)
@given(st.lists(st.text(), min_size=1))
def test_the_words_of_a_batch_are_those_of_its_lines(texts):
    words = PlacedWords.of(texts)
    found = [words.strings(*each) for each in pairwise(words.starts.tolist())]
    assert found == [pieces(text[s:e]) for text in texts for s, e in lines(text)]
    expected = [at for at, text in enumerate(texts) for _ in lines(text)]
    assert words.text_of_line == expected


@settings(deadline=None)
@given(st.lists(st.text(st.characters() | st.sampled_from(" \t\n\u00a0aA1."))))
def test_the_words_of_a_batch_may_keep_the_blanks_before_them(texts):
    words = PlacedWords.of(["", *texts], blanks=True)
    expected = [
        piece
        for text in texts
        for piece in pieces(text, blanks=True)
        if piece != NEWLINE
    ]
    places = zip(words.leads.tolist(), words.ends.tolist(), strict=True)
    assert [words.text[begin:end] for begin, end in places] == expected


@pytest.mark.parametrize("character", ["\u4e2d", "\U0001f600", "\ud800", "\u3000"])
def test_what_lies_beyond_the_table_is_cut_as_the_patterns_have_it(character):
    text = f"Ana{character}{character}12 {character}"
    words = PlacedWords.of([text])
    assert words.strings(0, len(words)) == pieces(text)


@settings(deadline=None)
@given(st.lists(st.text()), st.lists(st.text(), min_size=1))
def test_a_word_keeps_its_number_and_no_other_has_it(learned, texts):
    known = PlacedWords.of(learned)
    numbers = WordNumbers(len(known))
    first, unknown = numbers.of(known)
    assert (len(known), [-1] * len(known)) == (unknown, first.tolist())
    numbers.add(known.codes, known.leads, known.ends, first)
    strings = list(dict.fromkeys(known.strings(0, len(known))))
    assert [strings[number] for number in first] == known.strings(0, len(known))

    words = PlacedWords.of(texts)
    found, unknown = numbers.of(words)
    number_of = {word: number for number, word in enumerate(strings)}
    expected = [number_of.get(word, -1) for word in words.strings(0, len(words))]
    assert (found.tolist(), unknown) == (expected, expected.count(-1))
    codes, begins, ends = numbers.since(0)
    kept = [codes[each].tolist() for each in map(slice, begins, ends)]
    assert kept == [[*map(ord, word)] for word in strings]


def test_words_may_keep_the_blank_before_them():
    assert pieces("ana@x.es  b@x.es\n\tC1059", blanks=True) == [
        *("ana", "@", "x", ".", "es", " b", "@", "x", ".", "es"),
        *("\n", "\tC", "1059"),
    ]


@given(st.text())
def test_blanks_before_words_change_no_word(text):
    kept = pieces(text, blanks=True)
    assert [each if each == NEWLINE else each.lstrip() for each in kept] == pieces(text)


@given(st.text())
def test_lines_and_their_ends_are_the_whole_text(text):
    assert NEWLINE.join(text[start:end] for start, end in lines(text)) == text


TWO = Bio(("A", "B"))


def test_labels_are_numbered_outside_first_then_begin_and_inside_of_each_tag():
    assert TWO.labels == ("O", "B-A", "I-A", "B-B", "I-B")


def test_inside_follows_only_its_own_tag():
    allowed = TWO.allowed()
    assert allowed[:, 2].tolist() == [False, True, True, False, False, False]
    assert allowed[:, [0, 1, 3]].all()


@given(st.data())
def test_spans_of_whole_words_come_back_from_their_labels(data):
    words = [range(3 * at, 3 * at + 2) for at in range(8)]
    cuts = data.draw(st.lists(st.integers(0, 8), unique=True).map(sorted))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    spans = [
        TagSpan(words[a].start, words[b - 1].stop, data.draw(st.sampled_from("AB")))
        for a, b in pairs
    ]
    labels = TWO.encode(words, spans)
    assert [found[0] for found in TWO.decode(words, labels.tolist())] == spans


@given(st.lists(st.integers(0, 4)), st.lists(st.integers(1, 6)))
def test_the_spans_of_many_lines_are_those_of_each(labels, lengths):
    starts = [at for at in accumulate(lengths, initial=0) if at < len(labels)]
    found = runs_of(np.array(labels, np.int8), np.array([*starts, len(labels)]))
    expected = [
        (start + first, start + past)
        for start, end in pairwise([*starts, len(labels)])
        for _, first, past in TWO.decode(
            [range(at, at + 1) for at in range(end - start)], labels[start:end]
        )
    ]
    assert list(zip(*(each.tolist() for each in found), strict=True)) == expected


def test_an_inside_that_follows_nothing_begins_a_span():
    words = [range(1), range(2, 3), range(4, 5)]
    found = TWO.decode(words, [2, 4, 4])
    assert [span for span, _, _ in found] == [TagSpan(0, 1, "A"), TagSpan(2, 5, "B")]
