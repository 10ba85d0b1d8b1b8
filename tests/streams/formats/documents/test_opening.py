"""Which documents are opened, and why others aren't."""

import base64
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.formats.documents import (
    Unreadable,
    UnreadableKind,
    from_base64,
    open_document,
)
from tests.sampling import examples
from tests.streams.formats.documents.written import pdf, shown, unchanged

TEXT = b"Seen.\r\nAgain."
RTF = rb"{\rtf1\ansi{\fonttbl{\f0\fcharset204 A;}}\f0 Se\'e5n\u252? {\v h}\par}"
HTML = b"<html><body><p>Se<b>en</b></p><table><tr><td>x</table></body></html>"
PDF = pdf(shown("Seen.", "Again."))


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (TEXT, "text/plain"),
        (TEXT, "TEXT/PLAIN; charset=us-ascii"),
        (RTF, "application/rtf"),
        (RTF, "text/rtf"),
        (HTML, "text/html"),
        (PDF, "application/pdf"),
        (PDF, "application/octet-stream"),
        (b"", ""),
    ],
)
def test_a_document_is_recognised_by_its_content_with_or_without_a_type(
    data, media_type
):
    assert open_document(data).text == open_document(data, media_type).text


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (RTF, "text/plain"),
        (HTML, "text/plain"),
        (PDF, "text/html"),
        (TEXT, "application/rtf"),
        (TEXT, "application/pdf"),
        (RTF, "text/html"),
    ],
)
def test_a_type_that_contradicts_the_content_is_refused(data, media_type):
    with pytest.raises(Unreadable) as caught:
        open_document(data, media_type)

    assert UnreadableKind.BROKEN is caught.value.kind


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\x00", "image"),
        (b"\xff\xd8\xff\xe0", "image"),
        (b"GIF89a", "image"),
        (b"II*\x00\x08", "image"),
        (bytes(128) + b"DICM", "dicom"),
        (b"PK\x03\x04[Content_Types].xml", "office"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "office"),
        (b"PK\x03\x04notes.txt", "archive"),
        (b"\x1f\x8b\x08", "archive"),
        (b"a\x00b", "unknown"),
        (b'{"resourceType": "Patient"}', "unknown"),
        (b"MSH|^~\\&|", "unknown"),
        (b"<?xml version='1.0'?><a/>", "unknown"),
        ("Señora".encode("latin-1"), "unknown"),
        ("Señora".encode("utf-32"), "unknown"),
        (b"a" * (33 << 20), "too_large"),
        (b"a " * (5 << 20), "too_large"),
    ],
)
@pytest.mark.parametrize("media_type", ["", "text/plain"])
def test_what_is_no_document_of_text_is_refused_by_kind(data, kind, media_type):
    with pytest.raises(Unreadable) as caught:
        open_document(data, media_type)

    is_contradicted = media_type and data[:1] in (b"{", b"M", b"<", b"a")
    expected = {kind, "broken"} if is_contradicted else {kind}
    assert caught.value.kind in expected


@pytest.mark.parametrize("media_type", ["image/png", "audio/basic", "nonsense"])
def test_a_type_that_is_not_known_is_refused(media_type):
    with pytest.raises(Unreadable):
        open_document(TEXT, media_type)


ENCODED = base64.b64encode(b"Ms. Quellwright was seen on the third floor. " * 2)


@pytest.mark.parametrize(
    "data",
    [
        ENCODED,
        b"Content-Transfer-Encoding: base64\n\n" + ENCODED,
        b"{\\rtf1 See: " + ENCODED + b"}",
        b"<p>See: " + ENCODED + b"</p>",
        b"See: {\\rtf1 x}",
    ],
)
def test_a_document_within_a_text_is_not_passed_as_text(data):
    with pytest.raises(Unreadable) as caught:
        open_document(data)

    assert UnreadableKind.UNKNOWN is caught.value.kind


@pytest.mark.parametrize(
    ("data", "media_type", "text"),
    [
        ("Señora".encode(), "", "Señora"),
        ("Señora".encode("utf-8-sig"), "text/plain", "Señora"),
        ("Señora".encode("utf-16"), "", "Señora"),
        (b"\xfe\xff" + "Señora".encode("utf-16-be"), "", "Señora"),
        ("Señora".encode("latin-1"), "text/plain; charset=ISO-8859-1", "Señora"),
        ("“Señora”".encode("cp1252"), 'text/plain;charset="windows-1252"', "“Señora”"),
        ("5 €".encode("iso8859-15"), "text/plain; charset=ISO-8859-15", "5 €"),
        (b"a\r\nb\rc\x0cd\x85e", "text/plain; charset=latin1", "a\nb\nc\nd…e"),
        (b"Smi\x01th", "", "Smith"),
    ],
)
def test_plain_text_is_read_in_its_character_set(data, media_type, text):
    document = open_document(data, media_type)

    assert text == document.text
    assert text.encode() == document.rebuilt(unchanged(document)).data


@pytest.mark.parametrize("charset", ["utf-7", "ebcdic", "cp037", "rot13"])
def test_a_character_set_that_is_not_read_is_refused(charset):
    with pytest.raises(Unreadable):
        open_document(TEXT, f"text/plain; charset={charset}")


def test_base64_may_have_line_breaks_and_nothing_else():
    encoded = base64.encodebytes(RTF * 9).decode()

    assert from_base64(encoded.replace("\n", "\r\n ")) == RTF * 9
    for bad in (encoded + "*", encoded[:-2], "QQ=", "Señora", "A" * (65 << 20)):
        with pytest.raises(Unreadable):
            from_base64(bad)


def test_no_text_is_in_the_repr_of_a_document():
    for each in (TEXT, RTF, HTML, PDF):
        document = open_document(each)
        rebuilt = document.rebuilt(unchanged(document))

        assert "Se" not in repr(document) + repr(rebuilt)


TOKENS = [b"{", b"}", b"\\", b"\\u", b"<", b">", b"<<", b"9999", b"/", b"("]


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from([TEXT, RTF, HTML, PDF]), st.data())
def test_a_mutated_document_is_opened_and_written_or_refused(source, data):
    mutated = bytearray(source)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(mutated)))
        new = data.draw(st.binary(max_size=4) | st.sampled_from(TOKENS))
        mutated[at : at + data.draw(st.integers(0, 6))] = new
    start = time.process_time()
    with suppress(Unreadable):
        document = open_document(bytes(mutated))
        rebuilt = document.rebuilt(unchanged(document))
        reopened = open_document(rebuilt.data, rebuilt.media_type)

        assert document.text.split() == reopened.text.split()
    assert time.process_time() - start < 10
