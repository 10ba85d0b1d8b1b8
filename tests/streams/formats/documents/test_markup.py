"""Texts that hold HTML, RTF, XML, JSON or escapes of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.formats.documents import hidden_in, is_plain, open_document, shown_in

SHOWN = {
    "Mr. Sm<b>ith</b> came": "Mr. Smith came",
    "Mr. Sm<b class='x y' hidden>ith</B>": "Mr. Smith",
    "Mr. Sm<span x>i<Whatever>th": "Mr. Smith",
    "Mr. Sm<!-- a -->i<!DOCTYPE x>t<?y z?>h": "Mr. Smith",
    "Mr. <![CDATA[Sm]]>ith": "Mr. Smith",
    "Mr. &#83;m&#x69th, &lt;5 mg, H&amp;P": "Mr. Smith, <5 mg, H&P",
    "Mr. &amp;#83;mith": "Mr. Smith",
    "Mr. M&uumlller, M&uuml;ller": "Mr. Müller, Müller",
    r"Mr. \u0053mith \ud83d\ude00": "Mr. Smith \U0001f600",
    "Sm\\u003cb\\u003eith": "Smith",
    "one<br>two<p>three<td>four": "one\ntwo\nthree\tfour",
    '<a href="mailto:x@y.zz">Mail</a>': "Mail",
    r"{\rtf1 Mr. {\b Sm}ith}": "Mr. Smith",
    "Report:\n {\\rtf1 Mr. {\\b Sm}ith}": "Report:\nMr. Smith",
    "Report:\n<html><body>Sm<i>ith</i>\ncame</html>": "Report:\nSmith came\n",
    "<!DOCTYPE html>\n<style>s</style><p>Sm<i>ith": "Smith\n",
}
PLAIN = (
    "",
    "WBC <5 & >3, K<4; BP <120/80>; HR>90",
    "T<norm and WBC>norm",
    "p <b 5 and c> 3",
    "<NAME> of <Patient Name>, R&D; AT&T, x &notin y",
    "{ALLERGIES} none {x}",
    "[ ] milk [x] bread",
    "MSH ----- low, MSH2 positive",
    r"C:\users\smith",
    "HR=80, Na=140; ======, Unplaced, TURKMENISTAN, emphasis, mmHg",
    "q8h/prn and/or HbA1c SARS-CoV-2 Pfizer-BioNTech B12/folate 1A2B3C4D5E6F",
    "a <!-- b",
)
HIDDEN = {
    "<given>Jo</given>": "HTML or XML",
    "<?xml version='1.0'?><x>x</x>": "HTML or XML",
    'x <given value="Jo"/>': "HTML or XML",
    ' {"text": "x"}': "JSON",
    '[{"text": "x"}]': "JSON",
    "Copy:\nMSH|^~\\&|A|B": "HL7 v2",
    r"seen {\rtf1 x}": "RTF or base64",
    "for Sm9obiBTbWl0aA==": "RTF or base64",
    "for V2lsc29u, seen": "RTF or base64",
    "(NjE3LTU1NS0wMTQy)": "RTF or base64",
    "TcO8bGxlcg==": "RTF or base64",
    "src='data:text/plain;base64,VUw'": "RTF or base64",
    "Content-Transfer-Encoding: base64\n\nVUw": "RTF or base64",
    "&amp;" + "amp;" * 9 + "lt;": "HTML or JSON escapes",
    "<html>" + "<div>" * 300: "HTML or JSON escapes",
    r"{\rtf1 \'zz}": "RTF or base64",
}


@pytest.mark.parametrize("text", SHOWN)
def test_html_rtf_and_escapes_are_read_as_they_are_shown(text):
    assert SHOWN[text] == shown_in(text)
    assert not hidden_in(SHOWN[text])


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_text_stays_as_it_is(text):
    assert text is shown_in(text)
    assert is_plain(text)
    assert not hidden_in(text)


@pytest.mark.parametrize("text", HIDDEN)
def test_what_can_not_be_opened_is_named(text):
    assert HIDDEN[text] == hidden_in(shown_in(text))


@pytest.mark.parametrize("media_type", ["text/plain", "text/html", "application/rtf"])
def test_documents_that_show_markup_are_read_without_it(media_type):
    text = (
        "Mr. &lt;i&gt;Sm&lt;/i&gt;ith" if "html" in media_type else "Mr. <i>Sm</i>ith"
    )
    data = rf"{{\rtf1 {text}}}" if "rtf" in media_type else text

    assert open_document(data.encode(), media_type).text.strip() == "Mr. Smith"


@given(st.text(st.sampled_from("ab<>/!?-&;#x31\\u005 =\"'\n{[MSH|^~")) | st.text())
def test_what_is_shown_is_shown_again(text):
    shown = shown_in(text)

    assert hidden_in(shown) or shown == shown_in(shown)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    ["<b", "<b ", "<b a=1 ", "a<b>", "a<x", "<!--", "</a", "&", "&lt;", "\\u", "{\n"],
)
def test_a_huge_text_takes_seconds(piece):
    hidden_in(shown_in(piece * (10**6 // len(piece))))


@pytest.mark.parametrize("tag", ["<td>", "<td a=b>", "<x=y>", "<td a b>", "<", "<td "])
def test_tags_in_a_row_take_linear_time(tag):
    """A tag that could be read in two ways took twice the time for each in a row."""
    assert "x" in shown_in(f"Ms. s{tag * 5_000} x")


@pytest.mark.parametrize("escape", ["&#1;", "\\u0001", "&#x1f;"])
def test_an_escape_brings_no_control_character_into_a_text(escape):
    assert shown_in(f"Seen a{escape}b.") == "Seen ab."
