"""PDF: the text layer of its pages, put back as plain text.

The text of pages, the contents of annotations and the values of form fields are read.
Metadata, bookmarks and attachments are dropped.  A page that shows an image and has no
text is named in the text; a document without any text is a scan.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO

from pypdf import Configuration, PageObject, PdfReader, apply_configuration
from pypdf.errors import LimitReachedError
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    PdfObject,
    TextStringObject,
)

from .document import Unreadable, UnreadableKind
from .plain import PlainText, without_controls

MAX_PAGES = 1_000
MAX_ANNOTATIONS = 10_000
MAX_FONTS = 64
MAX_FORM_DEPTH = 20
MAX_OPERATIONS = 500_000
MAX_SECONDS = 10.0
MAX_CHARACTERS = 8 << 20

_MAX_STREAM_BYTES = 16 << 20
_CONFIGURATION = Configuration(
    maximum_declared_stream_length=32 << 20,
    array_based_stream_maximum_output_length=_MAX_STREAM_BYTES,
    lzw_maximum_output_length=_MAX_STREAM_BYTES,
    run_length_maximum_output_length=_MAX_STREAM_BYTES,
    zlib_maximum_output_length=_MAX_STREAM_BYTES,
    zlib_maximum_recovery_input_length=1 << 20,
    brotli_maximum_output_length=_MAX_STREAM_BYTES,
    stream_filters_maximum_length=4,
    stream_decoding_work_maximum_length=2 * _MAX_STREAM_BYTES,
    stream_parsing_work_maximum_count=1_000_000,
    page_tree_maximum_entries=4 * MAX_PAGES,
    xform_maximum_invocations_per_extraction=500,
)
# Its warnings may hold values of the document.
logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)

_LIGATURES = str.maketrans(
    {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"}
)
# What fonts give whose characters are not known: codes, glyph names.
_NO_CHARACTER = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd]|/[A-Za-z]{1,9}[0-9]{1,5}(?=/)"
)
_MAX_SHARE_WITHOUT_CHARACTER = 0.02


def open_pdf(data: bytes, clock: Callable[[], float] = time.thread_time) -> PlainText:
    """Return the text layer of a PDF.

    Args:
        data: The PDF.
        clock: Seconds of CPU time; a last limit, since what a PDF takes can't be told
            from its size.

    Raises:
        Unreadable: It has no text layer, or characters can't be told by its fonts; it
            is encrypted, broken or too large.
    """
    try:
        with apply_configuration(_CONFIGURATION):
            text = _Pages(data, clock).text()
    except (LimitReachedError, RecursionError, MemoryError):
        raise Unreadable(UnreadableKind.TOO_LARGE) from None
    except Unreadable:
        raise
    except Exception:  # of any class, since broken documents mislead pypdf
        raise Unreadable(UnreadableKind.BROKEN) from None
    return PlainText(text)


@dataclass(slots=True)
class _Budget:
    """The operations and the time that are left for reading."""

    clock: Callable[[], float]
    operations: int = MAX_OPERATIONS
    shows_image: bool = False
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = self.clock() + MAX_SECONDS

    def count(self, operator: object, *_rest: object) -> None:
        """Count an operation of a page, before it is carried out."""
        self.operations -= 1
        self.check()
        if operator in (b"Do", b"INLINE IMAGE"):
            self.shows_image = True

    def check(self) -> None:
        """Raise if nothing is left."""
        if self.operations < 0 or self.clock() > self.deadline:
            raise Unreadable(UnreadableKind.TOO_LARGE)


class _Pages:
    """Reads the pages of a PDF."""

    def __init__(self, data: bytes, clock: Callable[[], float]) -> None:
        self._budget = _Budget(clock)
        self._font_counts: dict[int, int] = {}
        self._reader = PdfReader(BytesIO(data))
        if self._reader.is_encrypted:
            raise Unreadable(UnreadableKind.ENCRYPTED)
        if len(self._reader.pages) > MAX_PAGES:
            raise Unreadable(UnreadableKind.TOO_LARGE)

    def text(self) -> str:
        """Return the text of all pages."""
        texts = []
        has_text = False
        size = 0
        for number, page in enumerate(self._reader.pages, start=1):
            self._budget.shows_image = False
            text = "\n".join(self._texts_of(page)).strip()
            has_text |= bool(text)
            if not text and self._budget.shows_image:
                text = f"[page {number} is an image without text]"
            size += len(text)
            if size > MAX_CHARACTERS:
                raise Unreadable(UnreadableKind.TOO_LARGE)
            texts.append(text)
        whole = "\n".join(filter(None, texts))
        if not has_text or _lacks_characters(whole):
            raise Unreadable(UnreadableKind.SCAN)
        whole = whole.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
        return without_controls(whole.translate(_LIGATURES))

    def _texts_of(self, page: PageObject) -> Iterator[str]:
        if self._fonts_at_once(page) > MAX_FONTS:
            raise Unreadable(UnreadableKind.TOO_LARGE)
        yield page.extract_text(visitor_operand_before=self._budget.count).rstrip()
        self._budget.check()  # pypdf drops exceptions within forms
        annotations = page.get("/Annots")
        if annotations is None:
            return
        for count, each in enumerate(annotations.get_object()):
            if count >= MAX_ANNOTATIONS:
                raise Unreadable(UnreadableKind.TOO_LARGE)
            self._budget.check()
            annotation = each.get_object()
            if isinstance(annotation, DictionaryObject):
                yield from _texts_of(annotation)

    def _fonts_at_once(self, shown: DictionaryObject, depth: int = 0) -> int:
        """Return how many fonts are in memory at once while pypdf reads a page or form.

        Each may take megabytes, though a few bytes declare it.
        """
        if depth > MAX_FORM_DEPTH:
            raise Unreadable(UnreadableKind.TOO_LARGE)
        if id(shown) not in self._font_counts:
            self._font_counts[id(shown)] = 0  # of a form within itself
            resources = shown.get_inherited("/Resources")
            within = [
                self._fonts_at_once(form, depth + 1)
                for form in _entries(resources, "/XObject")
                if form.get("/Subtype") == "/Form"
            ]
            own = len(_entries(resources, "/Font"))
            self._font_counts[id(shown)] = own + max(within, default=0)
        return self._font_counts[id(shown)]


def _entries(resources: PdfObject | None, name: str) -> list[DictionaryObject]:
    """Return the resources of a kind."""
    kinds = None if resources is None else resources.get_object()
    found = kinds.get(name) if isinstance(kinds, DictionaryObject) else None
    entries = None if found is None else found.get_object()
    if not isinstance(entries, DictionaryObject):
        return []
    objects = (each.get_object() for each in entries.values())
    return [each for each in objects if isinstance(each, DictionaryObject)]


def _texts_of(annotation: DictionaryObject) -> Iterator[str]:
    """Yield the contents of an annotation, or the name and value of a form field."""
    if contents := _string(annotation.get("/Contents")):
        yield contents
    name, value = annotation.get("/T"), annotation.get("/V")
    if "/Parent" in annotation:  # a field may have several widgets
        parent = annotation["/Parent"]
        if isinstance(parent, DictionaryObject):
            name, value = name or parent.get("/T"), value or parent.get("/V")
    values = None if value is None else value.get_object()
    for each in values if isinstance(values, ArrayObject) else [values]:
        if shown := _string(each):
            yield f"{_string(name)}: {shown}".removeprefix(": ")


def _string(value: PdfObject | None) -> str:
    found = None if value is None else value.get_object()
    return found if isinstance(found, TextStringObject) else ""


def _lacks_characters(text: str) -> bool:
    count = sum(1 for _ in _NO_CHARACTER.finditer(text))
    return count > _MAX_SHARE_WITHOUT_CHARACTER * len(text)
