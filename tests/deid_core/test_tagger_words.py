from hypothesis import given
from hypothesis import strategies as st

from deid_core.tagger.codec import Bio, TagSpan
from deid_core.tagger.words import NEWLINE, lines, pieces, word_spans


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


@given(st.text(), st.integers(0, 5))
def test_the_first_words_alone_have_the_same_places(text, most):
    assert word_spans(text, most=most) == word_spans(text)[:most]


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


def test_an_inside_that_follows_nothing_begins_a_span():
    words = [range(1), range(2, 3), range(4, 5)]
    found = TWO.decode(words, [2, 4, 4])
    assert [span for span, _, _ in found] == [TagSpan(0, 1, "A"), TagSpan(2, 5, "B")]
