"""RTF: what is read, what is dropped, what is written."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deid_core import Document
from streams.formats.documents import (
    Unreadable,
    UnreadableKind,
    open_document,
    shown_in,
)
from tests.streams.formats.documents.written import MARKERS, RECORD, scrubbed, unchanged

HEADER = rb"""{\rtf1\ansi\ansicpg1252\deff0
{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\fcharset204 Arial Cyr;}
{\f2\fcharset128 MS Gothic;}{\f3\fcharset2 Symbol;}{\f4\fcharset238 Arial CE;}}
"""


def text_of(body):
    return open_document(HEADER + body + b"}").text


READ = {
    rb"Mr. Smith": "Mr. Smith",
    b"Smi\nth": "Smith",
    rb"{\b Smi}{\i\fs24 th}": "Smith",
    rb"Smi\-th": "Smith",
    rb"Mary\_Ann\~Smith": "Mary-Ann Smith",
    rb"one\par two\line three\tab four": "one\ntwo\nthree\tfour",
    b"one\\\ntwo": "one\ntwo",
    rb"a\cell b\cell\row c\cell\row": "a\tb\t\nc",
    rb"\{a\} \\": "{a} \\",
    rb"M\'fcller": "Müller",
    b"M\xfcller": "Müller",
    "Müller".encode(): "Müller",
    rb"M\u252?ller": "Müller",
    rb"M\u252\'fcller": "Müller",
    rb"{\uc0 M\u252ller}": "Müller",
    rb"{\uc2 M\u252\'c3\'bcller}": "Müller",
    rb"\u-10179?\u-8704?": "\U0001f600",
    rb"\u128512?": "\U0001f600",
    rb"{\f1 \'cf\'f0}": "Пр",
    rb"{\f2 \'83\'65\'83e}": "テテ",
    rb"{\f3 \u-3913?}": "·",
    rb"{\f4 \'d8}\'d8": "ŘØ",
    rb"\ldblquote so\rdblquote\emdash\bullet": "“so”—•",
    rb"{\header H\par}Body{\footer F}": "H\nBody\nF",
    rb"Smi{\footnote {\super\chftn} Note}th": "Smith\n Note",
    rb"Smi{\*\annotation Comment}th": "Smith\nComment",
    rb"Smi{\shp{\*\shpinst{\sp{\sn n}{\sv v}}{\shptxt Box}}{\shprslt B}}th": (
        "Smith\nBox"
    ),
    rb"{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}": "link",
    rb"{\object{\*\objclass W}{\*\objdata 00}{\result shown}}": "shown",
    rb"{\listtext 1.\tab}Item": "1.\tItem",
    rb"Smi{\v hidden}th": "Smith",
    rb"Smi\v hidden\v0 th": "Smith",
    rb"Smi\v hidden\plain th": "Smith",
    rb"Smi{\deleted gone}th": "Smith",
    rb"Smi{\pict\bin9 }}}{{{ab \par}th": "Smith",
    rb"Smi{\*\unknown gone {deep}}th": "Smith",
    rb"Smi{\*\bkmkstart gone}th": "Smith",
    rb"Smi{\xe gone}th": "Smith",
    rb"{\info{\title T}{\author A}{\operator O}{\*\company C}}Text": "Text",
    b"Smi\x00\x01th": "Smith",
    rb"Smi{\unknown th}": "Smith",
    rb"one} behind the document {\b two": "one",
}


@pytest.mark.parametrize("body", READ)
def test_all_shown_text_is_read_and_nothing_else(body):
    assert READ[body] == text_of(body)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (rb"{\rtf1\ansicpg1251 \'cf\'f0}", "Пр"),
        (rb"{\rtf1\mac \'8e}", "é"),
        (rb"{\rtf1\pca \'81}", "ü"),
        (rb"{\rtf1\ansicpg65001 \'c3\'bc}", "ü"),
        (rb"{\rtf1 cut {\b off", "cut off"),
        (b"\xef\xbb\xbf \n{\\rtf1 mark}", "mark"),
        (b"{\\rtf1 end}" + bytes(9), "end"),
        (b"{ \\rtf1 blank}", " blank"),
    ],
)
def test_documents_are_read_in_their_code_page_and_without_their_surroundings(
    data, text
):
    assert text == open_document(data, "application/rtf").text


BROKEN, TOO_LARGE = UnreadableKind.BROKEN, UnreadableKind.TOO_LARGE


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (rb"\'zz", BROKEN),
        (b"\\", BROKEN),
        (rb"\bin999999 a", BROKEN),
        (rb"\bin-1 a", BROKEN),
        (rb"\'81", BROKEN),
        (rb"\u1114112?", BROKEN),
        (rb"\ansicpg4711", UnreadableKind.UNKNOWN),
        (b"{" * 100_000, TOO_LARGE),
        (b"{" * 100_000 + b"}" * 100_000, TOO_LARGE),
        (rb"\'41" * 3_000_000, TOO_LARGE),
        (b"a" * (9 << 20), TOO_LARGE),
        (b"a" * (33 << 20), TOO_LARGE),
    ],
)
def test_what_is_broken_or_too_large_is_refused(body, kind):
    with pytest.raises(Unreadable) as caught:
        open_document(b"{\\rtf1 " + body)

    assert kind is caught.value.kind


HIDING = rb"""{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 %s{\*\panose %s}{\*\falt %s};}}
{\colortbl;%s}{\stylesheet{\s0 %s;}}{\*\generator %s}
{\info{\title %s}{\author %s}{\doccomm %s}{\*\company %s}}
{\*\userprops{\propname %s}{\staticval %s}}{\header %s}{\footer %s}
Seen: %s. {\v %s}{\footnote %s}{\*\annotation %s}{\*\atnauthor %s}
{\field{\*\fldinst HYPERLINK %s}{\fldrslt %s}}{\*\bkmkstart %s}{\pict %s}
{\*\objdata %s}{\shp{\*\shpinst{\sp{\sn n}{\sv %s}}{\shptxt %s}}}{\xe %s}{\unknown %s}
{\*\unknown %s}{\deleted %s}{\*\datastore %s}\bin9 %s}%s {\rtf1 %s}"""


def test_no_place_of_a_document_hides_a_name(hybrid):
    count = HIDING.count(b"%s")
    assert count <= len(MARKERS)
    data = HIDING % tuple(each.encode() for each in MARKERS[:count])
    document = open_document(data.replace(rb"\bin9 ", rb"\bin7 "))

    result = scrubbed(document, hybrid)
    rebuilt = document.rebuilt(result)

    assert sum(each in document.text for each in MARKERS) >= 8
    assert rebuilt.media_type == "application/rtf"
    assert not [each for each in MARKERS if each in rebuilt.data.decode()]
    assert result.text == open_document(rebuilt.data).text


@pytest.mark.parametrize(
    "name",
    [rb"{\b Qa}xavel", rb"Q\'61xavel", rb"Q\u97?xavel", rb"Qa\-xavel", b"Qa\r\nxavel"],
)
def test_a_name_that_is_written_in_parts_is_one(name, hybrid):
    document = open_document(b"{\\rtf1 Mr. " + name + b" came.}")
    result = hybrid.deidentify(Document("-", document.text, RECORD))

    assert document.text == "Mr. Qaxavel came."
    assert "xavel" not in document.rebuilt(result).data.decode()


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]))
)
def test_every_text_is_written_so_that_it_is_read_again(text):
    document = open_document(b"{\\rtf1 a}")
    source = type(document)(f"a\tb\n{{x}}\\ {text}|")
    # Markup in a text is read as it is shown.
    assume(shown_in(source.text) == source.text)
    rebuilt = source.rebuilt(unchanged(source))

    assert rebuilt.data.isascii()
    assert source.text == open_document(rebuilt.data).text
