"""Documents for tests, written byte by byte."""

from __future__ import annotations

from deid_core import Document, KnownIdentifiers, PersonName, ScrubbedDocument
from deid_core.document import OffsetMap

MARKERS = tuple(f"Q{a}x{b}vel" for a in "aeiou" for b in "aeioukt")
"""Names that are in no list; the record alone tells that they are names."""
RECORD = KnownIdentifiers(
    patient_names=tuple(PersonName(family=each) for each in MARKERS)
)


def unchanged(document):
    """Return the text of a document as if nothing had been found in it."""
    return ScrubbedDocument("-", document.text, (), OffsetMap())


def scrubbed(document, deidentifier, known=RECORD):
    return deidentifier.deidentify(Document("-", document.text, known))


def pdf(*pages, catalog=b"", fonts=b"", more=(), trailer=b""):
    """Return a PDF.

    Args:
        pages: For each its content stream, or that and further entries of the page.
        catalog: Further entries.
        fonts: Further entries of the fonts; F1 is Helvetica.
        more: Further objects, numbered from 10.
        trailer: Further entries.
    """
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R " + catalog + b" >>",
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        **{10 + n: each for n, each in enumerate(more)},
    }
    numbers = []
    for n, page in enumerate(pages):
        content, entries = page if isinstance(page, tuple) else (page, b"")
        number = 1000 + 2 * n
        numbers.append(b"%d 0 R" % number)
        objects[number] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R %s >> /XObject << /X1 10 0 R >> >> %s >>"
        ) % (number + 1, fonts, entries)
        objects[number + 1] = stream(content)
    objects[2] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (
        len(numbers),
        b" ".join(numbers),
    )
    return _file(objects, trailer)


def stream(content, entries=b""):
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (
        len(content),
        entries,
        content,
    )


def shown(*lines):
    """Return a content stream that shows lines."""
    each = b"".join(b"(%s) Tj 0 -14 Td " % line.encode() for line in lines)
    return b"BT /F1 12 Tf 72 700 Td " + each + b"ET"


def _file(objects, trailer):
    data, offsets = bytearray(b"%PDF-1.7\n"), {}
    for number, content in sorted(objects.items()):
        offsets[number] = len(data)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(data)
    data += b"xref\n0 1\n0000000000 65535 f \n"
    for number, offset in offsets.items():
        data += b"%d 1\n%010d 00000 n \n" % (number, offset)
    data += b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (
        max(offsets) + 1,
        trailer,
        start,
    )
    return bytes(data)


IMAGE = stream(
    b"\x00",
    b"/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 "
    b"/ColorSpace /DeviceGray",
)
