"""Every format and every refusal by one sample; what is seen through."""

import codecs
import time
from contextlib import suppress

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.errors import InvalidRecord
from streams.formats import Format, recognise

HL7 = b"MSH|^~\\&|A|B|||20250101||ORU^R01|2|P|2.5\rPID|1||7\rOBX|1|TX|||fine"
NOTE = b'{"note_id": "n", "patient": {"id": "7"}, "text": "Seen."}'
FHIR = b'{"resourceType": "Patient", "id": "p"}'
CCDA = b'<ClinicalDocument xmlns="urn:hl7-org:v3"><title>T</title></ClinicalDocument>'
HTML = b"<p>Seen.</p>"
TEXT = b"Ms. Quellwright was seen."
RTF = rb"{\rtf1\ansi Seen.}"
PDF = b"%PDF-1.7\n1 0 obj"
DECLARED = b'<?xml version="1.0" encoding="UTF-8"?>\n'

SUPPORTED = {
    "text": (TEXT, Format.TEXT),
    "nothing": (b"", Format.TEXT),
    "text in UTF-16": ("Seen.".encode("utf-16"), Format.TEXT),
    "text beginning as HL7": (b"MSH2 was sequenced", Format.TEXT),
    "text beginning as JSON": (b"{ALLERGIES} none", Format.TEXT),
    "text beginning with a box": (b"[ ] milk\n[x] bread", Format.TEXT),
    "text beginning with a footnote": (b"[1] Smith et al.", Format.TEXT),
    "text beginning with less than": (b"<3 days of pain", Format.TEXT),
    "text beginning with a mask": (b"<NAME> was seen", Format.TEXT),
    "text with a long hash": (b"sha512 " + b"0a1b2c3d" * 16, Format.TEXT),
    "hl7": (HL7, Format.HL7),
    "hl7 with other separators": (HL7.replace(b"|", b"#"), Format.HL7),
    "hl7 file batch": (b"FHS|^~\\&|A\rBHS|^~\\&\r" + HL7, Format.HL7),
    "hl7 batch": (b"BHS|^~\\&|A\r" + HL7, Format.HL7),
    "hl7 in a frame": (b"\x0b" + HL7 + b"\x1c\r", Format.HL7),
    "note": (NOTE, Format.JSON),
    "note in short form": (b'{"id": 1, "text": "t"}', Format.JSON),
    "array of notes": (b"[" + NOTE + b"," + NOTE + b"]", Format.JSON),
    "notes in lines": (NOTE + b"\n" + NOTE + b"\n", Format.JSONL),
    "hl7 in json": (orjson.dumps({"message": HL7.decode()}), Format.JSON),
    "fhir": (FHIR, Format.FHIR),
    "fhir that names its type last": (
        b'{"id": "p", "text": {"div": "\\"note_id\\": {"}, "resourceType": "Patient"}',
        Format.FHIR,
    ),
    "fhir with an escaped name": (b'{"resource\\u0054ype": "Patient"}', Format.FHIR),
    "fhir in lines": (FHIR + b"\n" + FHIR, Format.FHIR),
    "ccda": (CCDA, Format.CCDA),
    "ccda with a declaration": (DECLARED + b"<?x y?><!-- c -->" + CCDA, Format.CCDA),
    "ccda with a prefix": (
        b"<c:ClinicalDocument a='>' xmlns:c='urn:hl7-org:v3'/>",
        Format.CCDA,
    ),
    "ccda in UTF-16": (CCDA.decode().encode("utf-16"), Format.CCDA),
    "rtf": (RTF, Format.RTF),
    "html": (b"<!doctype html><html></html>", Format.HTML),
    "html fragment": (HTML, Format.HTML),
    "xhtml": (DECLARED + b'<html xmlns="http://www.w3.org/1999/xhtml"/>', Format.HTML),
    "pdf": (PDF, Format.PDF),
    "pdf behind junk": (b"junk\n" + PDF + b"\n%%EOF\n", Format.PDF),
}

REFUSED = {
    "png": (b"\x89PNG\r\n\x1a\n\x00", "an image"),
    "jpeg": (b"\xff\xd8\xff\xe0\x00\x10JFIF", "an image"),
    "gif": (b"GIF89a\x01", "an image"),
    "tiff": (b"II*\x00\x08", "an image"),
    "tiff, big-endian": (b"MM\x00*\x08", "an image"),
    "bmp": (b"BM\x46\x00\x00\x00\x00\x00\x00\x00", "an image"),
    "webp": (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "an image"),
    "heic": (b"\x00\x00\x00\x18ftypheic", "an image"),
    "svg": (b'<svg xmlns="http://www.w3.org/2000/svg"></svg>', "an image"),
    "dicom": (bytes(128) + b"DICM\x02\x00", "DICOM"),
    "doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00", "an Office document"),
    "docx": (b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml", "an Office document"),
    "zip": (b"PK\x03\x04" + bytes(26) + b"notes.txt", "an archive"),
    "gzip": (b"\x1f\x8b\x08\x00", "an archive"),
    "tar": (b"notes.txt".ljust(257, b"\x00") + b"ustar\x0000", "an archive"),
    "binary": (b"\x00\x01\x02\x03", "binary"),
    "utf-16 without a mark": ("Seen.".encode("utf-16-le"), "binary"),
    "latin-1": (
        "Señora".encode("latin-1"),
        "not UTF-8; name its character set",
    ),
    "unknown object": (b'{"a": 1}', "neither a note event"),
    "unknown objects in lines": (b'{"a": 1}\n{"a": 2}\n', "neither a note event"),
    "unknown array": (b'[{"a": 1}]', "neither a note event"),
    "array of strings": (b'["Quellwright", "Mabelle"]', "neither a note event"),
    "empty object": (b"{}", "neither a note event"),
    "note without an id": (b'{"text": "t"}', "neither a note event"),
    "note whose text is none": (b'{"id": "1", "text": {}}', "neither a note event"),
    "names only within": (
        b'{"a": {"resourceType": "Patient", "note_id": 1, "text": ""}}',
        "neither a note event",
    ),
    "names only in a value": (
        b'{"a": "\\"resourceType\\": \\"Patient\\""}',
        "neither a note event",
    ),
    "names behind a megabyte": (
        orjson.dumps({"a": "x" * (1 << 20), "resourceType": "Patient"}),
        "let it begin with resourceType or note_id",
    ),
    "fhir in xml": (b'<Patient xmlns="http://hl7.org/fhir"/>', "FHIR in XML"),
    "other xml": (DECLARED + b"<note>Quellwright</note>", "XML, but no C-CDA"),
    "undeclared xml": (b"<n><p>Quellwright</p></n>", "XML, but no C-CDA"),
    "ccda without its namespace": (b"<ClinicalDocument></ClinicalDocument>", "XML"),
    "hl7 in xml": (b'<ORU_R01 xmlns="urn:hl7-org:v2xml"/>', "XML, but no C-CDA"),
    "ccda with a document type": (
        b'<!DOCTYPE x [<!ENTITY e "Quellwright">]>' + CCDA,
        "XML with a document type",
    ),
    "unreadable xml": (DECLARED + b"<<Quellwright", "XML with a document type"),
    "rtf within text": (b"See: {\\rtf1 Smi\\'74h}", "text with a document in it"),
    "base64 within text": (
        b"See: " + b"TXMuIFF1ZWxsd3JpZ2h0IHdhcyBzZWVu" * 3,
        "text with a document in it",
    ),
}


@pytest.mark.parametrize("name", SUPPORTED)
def test_a_format_is_recognised_by_its_content(name):
    value, expected = SUPPORTED[name]
    assert expected is recognise(value)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_supported_is_refused_by_name_and_without_a_value(name):
    value, says = REFUSED[name]
    with pytest.raises(InvalidRecord) as caught:
        recognise(value)

    assert says in caught.value.reason
    assert "Quellwright" not in str(caught.value)


@pytest.mark.parametrize("value", [HL7, NOTE, FHIR, CCDA, HTML, TEXT, RTF, PDF])
@pytest.mark.parametrize(
    "before", [codecs.BOM_UTF8, b"\r\n\r\n", b" \t\n", codecs.BOM_UTF8 + b"\n \x0b"]
)
def test_marks_blanks_and_frames_are_seen_through(value, before):
    assert recognise(value) is recognise(before + value)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_of_every_kind_are_seen_through(end):
    assert Format.HL7 is recognise(HL7.replace(b"\r", end))
    assert Format.JSONL is recognise(NOTE + end + NOTE)
    assert Format.JSON is recognise(NOTE.replace(b" ", end))


@pytest.mark.parametrize(
    "unit",
    [b"a", b"<", b"[", b"{", b'{"', b'"\\', b"<!--", b"<?x?>", b'<a b="', b"Ab1", b" "],
)
def test_no_huge_value_takes_long(unit):
    value = unit * ((8 << 20) // len(unit))
    start = time.process_time()
    with suppress(InvalidRecord):
        recognise(value)

    assert time.process_time() - start < 5


@given(st.sampled_from([HL7, NOTE, FHIR, CCDA, HTML, TEXT, RTF, PDF]), st.data())
def test_any_bytes_are_recognised_or_refused(value, data):
    at = data.draw(st.integers(0, len(value)))
    cut = data.draw(st.integers(0, 9))
    mutated = value[:at] + data.draw(st.binary(max_size=9)) + value[at + cut :]
    with suppress(InvalidRecord):
        assert recognise(mutated) in Format
