"""Recognises what bytes hold, by their content."""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Iterator
from enum import StrEnum

from .plain import words

HEAD_BYTES = 1 << 16
TAIL_BYTES = 1 << 12


class Content(StrEnum):
    """The kind of content that bytes hold; text is what is nothing else."""

    TEXT = "text"
    RTF = "rtf"
    HTML = "html"
    PDF = "pdf"
    HL7 = "hl7"
    JSON = "json"
    XML = "xml"
    IMAGE = "image"
    DICOM = "dicom"
    OFFICE = "office"
    ARCHIVE = "archive"
    ENCODED = "encoded"  # text with an encoded document in it
    BINARY = "binary"  # anything else that is no text


_BEGINNINGS: tuple[tuple[bytes, Content], ...] = (
    (b"\x89PNG\r\n\x1a\n", Content.IMAGE),
    (b"\xff\xd8\xff", Content.IMAGE),  # JPEG
    (b"GIF87a", Content.IMAGE),
    (b"GIF89a", Content.IMAGE),
    (b"II*\x00", Content.IMAGE),  # TIFF
    (b"MM\x00*", Content.IMAGE),
    (b"II+\x00", Content.IMAGE),  # BigTIFF
    (b"MM\x00+", Content.IMAGE),
    (b"\x00\x00\x00\x0cjP  ", Content.IMAGE),  # JPEG 2000
    (b"\xff\x4f\xff\x51", Content.IMAGE),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Content.OFFICE),  # .doc, .xls, .ppt
    (b"\x1f\x8b", Content.ARCHIVE),  # gzip
    (b"BZh", Content.ARCHIVE),
    (b"\xfd7zXZ\x00", Content.ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", Content.ARCHIVE),
    (b"Rar!\x1a\x07", Content.ARCHIVE),
    (b"\x28\xb5\x2f\xfd", Content.ARCHIVE),  # Zstandard
)
_AT: tuple[tuple[int, re.Pattern[bytes], Content], ...] = (
    (0, re.compile(rb"RIFF.{4}WEBP", re.DOTALL), Content.IMAGE),
    (0, re.compile(rb"BM.{4}\x00\x00\x00\x00", re.DOTALL), Content.IMAGE),
    (4, re.compile(rb"ftyp(?:heic|heix|mif1|avif)"), Content.IMAGE),
    (128, re.compile(rb"DICM"), Content.DICOM),
    (257, re.compile(rb"ustar[\x00 ]"), Content.ARCHIVE),
)
_ZIP = re.compile(rb"PK(?:\x03\x04|\x05\x06|\x07\x08)")
_OFFICE_NAME = re.compile(
    rb"\[Content_Types\]\.xml|mimetypeapplication/vnd\.oasis|(?:word|xl|ppt)/"
)
_PDF = b"%PDF-"
_PDF_WITHIN = 1024

START_BLOCK = b"\x0b"
_HL7 = re.compile(rb"(?:MSH|FHS|BHS|BTS|FTS)(?![A-Za-z0-9 ])")
_RTF = re.compile(rb"\{\s*\\rtf")
_JSON = re.compile(rb'\{\s*["}]|\[\s*\{\s*["}]')
_JSON_ARRAY = re.compile(rb'\[\s*["\[]')
# What may precede the root element.
_PROLOG = re.compile(rb"(?:\s|<\?[^>]{0,2000}>|<!--.{0,4000}?-->)*", re.DOTALL)
_XML_DECLARATION = re.compile(rb"<\?xml\s")
_DOCTYPE = re.compile(rb"<!DOCTYPE\s+([\w:.-]+)", re.IGNORECASE)
_BEGINS_MARKUP = re.compile(rb"<[A-Za-z_!?]")
START_TAG = re.compile(
    rb"<(?P<name>[A-Za-z_][\w:.-]*)(?P<attributes>\s(?:[^<>\"']|\"[^\"]*\"|'[^']*')*)?/?>"
)
_HTML_NAMES = words(
    "html head body title meta link style base div p span table tbody tr td br hr b i "
    "u font center pre h1 h2 h3 h4 h5 h6 ul ol dl li strong em a img section article "
    "header main script blockquote small"
)
_ENCODED_RUN = re.compile(rb"[A-Za-z0-9+/]{64,}")
_DECLARATIONS = (b";base64,", b"encoding: base64")
_SHORTEST_ENCODED, _LONGEST_SHORT = 8, 64
_PADDED_RUN = re.compile(
    rb"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{6,63}={1,2}(?![A-Za-z0-9+/_=-])"
)
# Of characters of base64: small letters, and all others.
_KINDS = (
    bytes(
        ord(
            "a"
            if chr(c).islower()
            else "A"
            if chr(c).isalnum() or chr(c) in "+/-_"
            else " "
        )
        for c in range(128)
    )
    + b" " * 128
)
_FOR_URLS = bytes.maketrans(b"-_", b"+/")
_TEXT = re.compile(r"[A-Za-z\u00c0-\u024f0-9 \r\n\t.,:;'\"^|/@()&+-]{4,}")
_KINDS_OF_LETTERS = tuple(map(re.compile, (rb"[a-z]", rb"[A-Z]", rb"[0-9]")))
_UTF_16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def content_of(data: bytes) -> Content:
    """Return what bytes hold.

    Byte order marks, leading blanks and the start block of MLLP are seen through.
    """
    found = _binary(data)
    if found is None:
        head, tail = beginning(data), data[-TAIL_BYTES:]
        found = _formatted(head, tail.replace(b"\x00", b"").rstrip())
    if found is not None:
        return found
    if b"\x00" in data:
        if not data.startswith(tuple(mark for mark, _ in _UTF_16)):
            return Content.BINARY
        data = data.replace(b"\x00", b"")
    return Content.ENCODED if holds_encoded(data) else Content.TEXT


def beginning(data: bytes, size: int = HEAD_BYTES) -> bytes:
    """Return the first bytes in UTF-8, without what is seen through."""
    head = data[:size]
    for mark, codec in _UTF_16:
        if head.startswith(mark):
            head = head.decode(codec, "ignore").encode("utf-8", "ignore")
    return head.removeprefix(codecs.BOM_UTF8).lstrip(START_BLOCK + b" \t\r\n\f")


def holds_hl7(data: bytes) -> bool:
    """Return whether bytes begin as HL7 messages or a batch of them do."""
    return bool(_HL7.match(beginning(data)))


def without_prolog(head: bytes) -> bytes:
    """Return the beginning of XML or HTML from its document type or root element."""
    prolog = _PROLOG.match(head)
    return head[prolog.end() :] if prolog else head


def _binary(data: bytes) -> Content | None:
    for start, content in _BEGINNINGS:
        if data.startswith(start):
            return content
    for offset, pattern, content in _AT:
        if pattern.match(data, offset):
            return content
    if _ZIP.match(data):
        is_office = _OFFICE_NAME.search(data[:HEAD_BYTES] + data[-HEAD_BYTES:])
        return Content.OFFICE if is_office else Content.ARCHIVE
    if _PDF in data[: _PDF_WITHIN + len(_PDF)]:
        is_first = beginning(data).startswith(_PDF)
        return Content.PDF if is_first or b"%%EOF" in data[-TAIL_BYTES:] else None
    return None


def _formatted(head: bytes, tail: bytes) -> Content | None:
    """Return the format of text that has one."""
    if _HL7.match(head):
        return Content.HL7
    if _RTF.match(head):
        return Content.RTF
    if _JSON.match(head) or (_JSON_ARRAY.match(head) and tail.endswith(b"]")):
        return Content.JSON
    return _markup(head, tail)


def _markup(head: bytes, tail: bytes) -> Content | None:
    """Return the kind of markup; notes may begin with `<` as well."""
    if not head.startswith(b"<"):
        return None
    rest = without_prolog(head)
    if doctype := _DOCTYPE.match(rest):
        is_html = doctype[1].lower() == b"html"
        return Content.HTML if is_html else Content.XML
    root = START_TAG.match(rest)
    if root is None:
        is_markup = _BEGINS_MARKUP.match(rest) and tail.endswith(b">")
        return Content.XML if is_markup or _XML_DECLARATION.match(head) else None
    name, attributes = root["name"], root["attributes"] or b""
    local_name = name.rpartition(b":")[2].decode().lower()
    is_declared = bool(_XML_DECLARATION.match(head))
    if local_name == "html" or (local_name in _HTML_NAMES and not is_declared):
        return Content.HTML
    is_closed = re.search(rb"</\s*" + re.escape(name) + rb"\s*>\Z", tail)
    if is_declared or b"xmlns" in attributes or is_closed:
        return Content.IMAGE if local_name == "svg" else Content.XML
    return None


def holds_encoded(data: bytes) -> bool:
    """Return whether a text has a document in it that is not decoded: RTF, base64.

    A long run of letters of all kinds is base64; a short one is if it holds a text.
    """
    lowered = data.lower()
    if _RTF.search(data) or any(each in lowered for each in _DECLARATIONS):
        return True
    if any(
        all(kind.search(run[0]) for kind in _KINDS_OF_LETTERS)
        for run in _ENCODED_RUN.finditer(data)
    ):
        return True
    return any(map(_holds_text, _short_runs(data)))


def _short_runs(data: bytes) -> Iterator[bytes]:
    """Yield the words that may be base64: padded, or with a capital or digit inside."""
    if b"=" in data:
        yield from _PADDED_RUN.findall(data)
    kinds = data.translate(_KINDS)
    at = kinds.find(b"aA")
    while at >= 0:
        end = kinds.find(b" ", at)
        end = len(data) if end < 0 else end
        yield data[kinds.rfind(b" ", 0, at) + 1 : end]
        at = kinds.find(b"aA", end)


def _holds_text(run: bytes) -> bool:
    """Return whether a word is the base64 of a text; hardly any other word is."""
    if len(run) % 4 or not _SHORTEST_ENCODED <= len(run) <= _LONGEST_SHORT:
        return False
    try:
        text = base64.b64decode(run.translate(_FOR_URLS), validate=True).decode()
    except ValueError:
        return False
    if not _TEXT.fullmatch(text):
        return False
    if run.endswith(b"=") or len(run) > _SHORTEST_ENCODED:
        return 4 * sum(map(str.isalnum, text)) >= 3 * len(text)
    return all(each.isalpha() or each == " " for each in text)
