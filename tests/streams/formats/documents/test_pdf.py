"""PDF: the text layer as plain text; limits."""

import logging
import zlib

import pytest

from streams.formats.documents import Unreadable, UnreadableKind, open_document
from streams.formats.documents.pdf import open_pdf
from tests.streams.formats.documents.written import (
    IMAGE,
    MARKERS,
    pdf,
    scrubbed,
    shown,
    stream,
)

SCAN = UnreadableKind.SCAN
TOO_LARGE = UnreadableKind.TOO_LARGE


def kind_of(data):
    with pytest.raises(Unreadable) as caught:
        open_document(data, "application/pdf")
    return caught.value.kind


def test_the_text_of_all_pages_is_read_in_order():
    data = pdf(shown("Mr. Smith", "was seen."), shown("Page two."))

    assert open_document(data).text == "Mr. Smith\nwas seen.\nPage two."


def test_a_word_that_is_shown_in_parts_is_one():
    data = pdf(b"BT /F1 12 Tf 72 700 Td [(Smi) -10 (th)] TJ (son) Tj ET")

    assert open_document(data).text == "Smithson"


def test_forms_annotations_and_fields_are_read():
    form = stream(
        shown("In a form."),
        b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] "
        b"/Resources << /Font << /F1 3 0 R >> >>",
    )
    page = (
        shown("Seen.") + b" /X1 Do",
        b"/Annots [<< /Subtype /Text /Contents (A remark) >> "
        b"<< /Subtype /Widget /T (name) /V (Smith) >> 11 0 R]",
    )
    widget = b"<< /Subtype /Widget /Parent << /T (city) /V [(Rome) (Oslo)] >> >>"
    text = open_document(pdf(page, more=[form, widget])).text

    assert text.replace("\n\n", "\n") == (
        "Seen.\nIn a form.\nA remark\nname: Smith\ncity: Rome\ncity: Oslo"
    )


def test_a_page_without_text_is_named_if_another_has_one():
    document = open_document(pdf(shown("Seen."), b"/X1 Do", b"", more=[IMAGE]))

    assert document.text == "Seen.\n[page 2 is an image without text]"


CMAP = stream(
    b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <ff> "
    b"endcodespacerange 1 beginbfrange <00> <ff> <E000> endbfrange endcmap end"
)
UNKNOWN_TEXT = shown("abcdef").replace(b"/F1", b"/F2")
UNKNOWN_FONT = (
    b"/F2 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 10 0 R >>"
)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (pdf(b"/X1 Do", more=[IMAGE]), SCAN),
        (pdf(b"", b""), SCAN),
        (pdf(b"0 0 m 9 9 l S"), SCAN),
        (
            pdf(UNKNOWN_TEXT, fonts=UNKNOWN_FONT, more=[CMAP]),
            SCAN,
        ),
        (
            pdf(
                shown("Seen."),
                trailer=b"/ID [(a) (b)] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 "
                b"/O <" + b"00" * 32 + b"> /U <" + b"00" * 32 + b"> >>",
            ),
            UnreadableKind.ENCRYPTED,
        ),
        (b"%PDF-1.7\nnothing of a PDF", UnreadableKind.BROKEN),
        (
            pdf(shown("Seen.")).replace(b"/Pages 2", b"/Pages 9"),
            UnreadableKind.BROKEN,
        ),
    ],
)
def test_a_pdf_without_readable_text_is_refused_by_kind(data, kind):
    assert kind is kind_of(data)


def test_no_place_of_a_document_hides_a_name(hybrid):
    names = iter(MARKERS)
    marked = [next(names) for _ in range(9)]
    a, b, c, d, e, f, g, h, i = (each.encode() for each in marked)
    data = pdf(
        (
            shown(f"Seen: {a.decode()}.") + b" /Tag << /ActualText (%s) >> BDC EMC" % b,
            b"/Annots [<< /Subtype /Text /Contents (Mr. %s) /T (%s) >>"
            b"<< /Subtype /Widget /T (patient) /V (%s) >>]" % (c, d, e),
        ),
        catalog=b"/Outlines << /First << /Title (%s) >> >> /Metadata 10 0 R" % f,
        more=[stream(b"<x>%s</x>" % g)],
        trailer=b"/Info << /Title (%s) >>" % h,
    )
    document = open_document(data + i)
    rebuilt = document.rebuilt(scrubbed(document, hybrid))

    assert all(each in document.text for each in (marked[0], marked[2], marked[4]))
    assert rebuilt.media_type == "text/plain; charset=utf-8"
    assert not [each for each in marked if each in rebuilt.data.decode()]


FORM = (
    b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /Font << /F1 3 0 R >>"
    b" /XObject << /X %d 0 R >> >>"
)


@pytest.mark.parametrize(
    "data",
    [
        pdf(*[shown("a")] * 1_001),
        pdf(b"q Q " * 300_000),
        b"%PDF-1.7\n" * 5_000_000,
        pdf((shown("a"), b"/Annots [" + b"<</Subtype /Text>> " * 10_001 + b"]")),
        pdf(shown("a" * 1_000) + b"(b) Tj" * 99, *[shown("a" * 99_000)] * 99),
        pdf(shown("a"), fonts=b"".join(b"/G%d 3 0 R " % n for n in range(64))),
    ],
    ids=["pages", "operations", "bytes", "annotations", "text", "fonts"],
)
def test_what_is_too_large_is_refused(data):
    assert TOO_LARGE is kind_of(data)


def bomb(levels):
    content = shown("a") + b" " * (64 << 20)
    for _ in range(levels):
        content = zlib.compress(content, 9)
    filters = b" /Filter [%s]" % (b"/FlateDecode " * levels)
    return pdf(b"@@").replace(stream(b"@@"), stream(content, filters))


@pytest.mark.parametrize("levels", [1, 3])
def test_a_stream_that_swells_is_refused(levels):
    assert TOO_LARGE is kind_of(bomb(levels))


def test_forms_within_forms_are_bounded():
    """Each shows the next ten times: ten billion in all."""
    forms = [
        stream(b"/X Do " * 10 + shown("a"), FORM % (11 + n if n < 9 else 10))
        for n in range(10)
    ]
    text = open_document(pdf(b"/X1 Do", more=forms)).text

    assert len(text) < 10_000


def test_a_document_that_takes_too_long_is_refused():
    ticks = iter(range(0, 10_000, 5))
    with pytest.raises(Unreadable) as caught:
        open_pdf(pdf(shown(*["a"] * 20)), clock=lambda: next(ticks))

    assert TOO_LARGE is caught.value.kind


def test_nothing_of_a_document_is_logged(caplog):
    broken = pdf(b"BT /F1 (Quellwright) Tf (Quellwright) Tj /Quellwright Do ET BI")
    documents = (broken, broken[:-200], broken.replace(b"/Length", b"/Quellwright"))
    with caplog.at_level(logging.DEBUG):
        kinds = [kind_of(data) for data in documents]

    assert set(kinds) <= set(UnreadableKind)
    assert caplog.text == ""
