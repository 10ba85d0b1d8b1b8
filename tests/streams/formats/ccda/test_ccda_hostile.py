"""Documents that are broken, huge or made to do harm."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.ccda.xml_text import MAX_DEPTH, MAX_ELEMENTS
from tests.sampling import examples
from tests.streams.formats.ccda.scrubbing import READER, sample

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
EXTERNAL = '<!ENTITY e SYSTEM "file:///etc/passwd">'
QUICK = 5.0
"""Seconds of CPU time."""


def document(inside: str, *, before: str = "", root: str = "ClinicalDocument") -> bytes:
    return f'{before}<{root} xmlns="urn:hl7-org:v3">{inside}</{root}>'.encode()


def refused(value: bytes) -> InvalidRecord:
    start = time.process_time()
    with pytest.raises(InvalidRecord) as raised:
        READER.parts(value)
    assert time.process_time() - start < QUICK
    return raised.value


@pytest.mark.parametrize(
    "before",
    [
        f'<!DOCTYPE x [<!ENTITY l0 "lol">{LAUGHS}]>',
        f"<!DOCTYPE x [{EXTERNAL}]>",
        '<!DOCTYPE x SYSTEM "http://quellwright.example/x.dtd">',
        '<?xml version="1.0"?><!-- > --><?p ?>\n<!DOCTYPE x>',
        "<!DOCTYPE ClinicalDocument>",
    ],
)
def test_a_document_type_is_refused_unread(before):
    error = refused(document("<title>&l11;&e;</title>", before=before))

    assert error.code is ReasonCode.BAD_XML
    assert "DTD" in error.reason


def test_a_document_type_is_refused_in_utf_16():
    value = document("", before=f"<!DOCTYPE x [{EXTERNAL}]>").decode()

    assert "DTD" in refused(value.encode("utf-16")).reason


def test_nothing_is_included():
    include = (
        '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" parse="text" '
        'href="file:///etc/passwd"/>'
    )
    value = sample("ccd").replace(b"<item>", f"<item>{include}".encode())

    [part] = READER.parts(value)

    assert "root:" not in part.content
    assert "root:" not in part.notes[0].text


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"", ReasonCode.BAD_XML),
        (b"<ClinicalDocument", ReasonCode.BAD_XML),
        (document("<a></b>"), ReasonCode.BAD_XML),
        (document("&undefined;"), ReasonCode.BAD_XML),
        (document("&#0;"), ReasonCode.BAD_XML),
        (document("", root="Bundle"), ReasonCode.BAD_XML),
        (b"<ClinicalDocument/>", ReasonCode.BAD_XML),
        (document("\xff").replace(b"\xc3\xbf", b"\xff"), ReasonCode.UNDECODABLE),
        (document(""), ReasonCode.NO_PATIENT),
        (
            document("<recordTarget><patientRole/></recordTarget>"),
            ReasonCode.NO_PATIENT,
        ),
        (
            document("<recordTarget><patientRole/></recordTarget>" * 2),
            ReasonCode.UNSUPPORTED,
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(value, code):
    assert refused(value).code is code


@pytest.mark.parametrize("tag", ["section", "content", "x"])
def test_deep_nesting_is_refused(tag):
    for depth in (MAX_DEPTH, 200_000):
        value = document(f"<{tag}>" * depth + f"</{tag}>" * depth)
        assert refused(value).code in (ReasonCode.TOO_LARGE, ReasonCode.BAD_XML)


def test_blanks_take_no_long_time():
    blank = " " * 500_000

    assert refused(document(f"<title>a{blank}b</title>", before=blank))


def test_too_many_elements_are_refused():
    for number in (MAX_ELEMENTS, 20 * MAX_ELEMENTS):
        assert refused(document("<a/>" * number)).code is ReasonCode.TOO_LARGE


def test_too_many_attributes_are_refused():
    attributes = " ".join(f'a{n}="1"' for n in range(100))

    assert refused(document(f"<a {attributes}/>")).code is ReasonCode.TOO_LARGE


def test_the_deepest_document_that_is_read_can_be_written():
    above = len(("ClinicalDocument", "component", "structuredBody", "component"))
    above += len(("section", "text", "paragraph"))

    def nested(depth: int) -> bytes:
        inside = "<content>" * depth + "Hello" + "</content>" * depth
        return sample("ccd").replace(b"Hemoglobin 13.2", inside.encode(), 1)

    refused(nested(MAX_DEPTH - above + 1))
    [part] = READER.parts(nested(MAX_DEPTH - above))
    assert any("Hello" in each.text for each in READER.read(part.content).texts)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_declared_encodings_are_read(encoding):
    text = sample("ccd").decode().replace("<given>Winifred", "<given>Zo\xeb", 1)
    text = text.replace('encoding="UTF-8"', f'encoding="{encoding[:10]}"', 1)
    text = text.replace('encoding="utf-8-sig"', 'encoding="UTF-8"')

    [part] = READER.parts(text.encode(encoding))

    assert "Zo\xeb" in part.content


SAMPLES = [sample(name) for name in ("ccd", "discharge", "referral")]


@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[*HealthCheck]
)
@given(st.data())
def test_mutated_bytes_are_read_or_refused(data):
    value = bytearray(data.draw(st.sampled_from(SAMPLES)))
    for _ in range(data.draw(st.integers(1, 8))):
        start = data.draw(st.integers(0, len(value) - 1))
        end = min(len(value), start + data.draw(st.integers(0, 40)))
        value[start:end] = data.draw(st.binary(max_size=8))
    _read_or_refused(bytes(value))


@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[*HealthCheck]
)
@given(st.data())
def test_mutated_elements_are_read_or_refused(data):
    parser = etree.XMLParser(remove_comments=True, remove_pis=True)
    root = etree.fromstring(data.draw(st.sampled_from(SAMPLES)), parser)
    elements = list(root.iter())
    text = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=20)
    for _ in range(data.draw(st.integers(1, 6))):
        element = elements[data.draw(st.integers(0, len(elements) - 1))]
        other = elements[data.draw(st.integers(1, len(elements) - 1))]
        kind = data.draw(st.sampled_from(["text", "tail", "value", "tag", "move"]))
        if kind == "text":
            element.text = data.draw(text)
        elif kind == "tail" and element is not root:
            element.tail = data.draw(text)
        elif kind == "value" and element.attrib:
            key = data.draw(st.sampled_from(sorted(map(str, element.attrib))))
            element.set(key, data.draw(text))
        elif kind == "tag" and element is not root:
            element.tag = other.tag
        elif kind == "move" and other not in element.iterancestors():
            copy = etree.fromstring(etree.tostring(other, with_tail=False))
            element.append(copy)
    _read_or_refused(etree.tostring(root))


def _read_or_refused(value: bytes) -> None:
    try:
        parts = READER.parts(value)
    except InvalidRecord:
        return
    for part in parts:
        assert all(each.text for each in READER.read(part.content).texts)
