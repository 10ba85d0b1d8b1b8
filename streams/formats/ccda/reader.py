"""Reads and writes CDA R2 and C-CDA documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lxml import etree

from deid_core import ScrubbedDocument
from streams.formats.enclosed_notes import (
    TEXTS,
    Enclosed,
    Opener,
    Whose,
    skipped_with,
    with_enclosed,
)
from streams.formats.free_texts import Gathered, NoValues, Unread
from streams.formats.values import Known
from streams.model.parts import FreeText, Part, Rebuilt, Values
from streams.model.patients.demographics import Demographics, records_of

from .demographics import demographics_of, known_of, patient_ids_of, patient_role_of
from .notes import notes_of, sent_at_of
from .writer import Writer
from .xml_text import dumps, load, loads, text_of

FORMAT = "ccda"
AUTHORITY = "C-CDA"

_TAG = re.compile(r"<[^<>]*>")
_ATTRIBUTE_VALUE = re.compile(r'(?<!xmlns)(?<!xmlns:sdtc)(?<!xmlns:xsi)="([^"]*)"')
_BETWEEN = "\n\n\n\n"


@dataclass(frozen=True, slots=True)
class CcdaReader:
    """The format CDA R2, as C-CDA and others have it.

    Args:
        authority: The assigning authority of patient identifiers that have no root
            besides themselves.
        opener: Of documents inside.
    """

    authority: str = AUTHORITY
    opener: Opener = TEXTS

    def parts(self, value: bytes) -> list[Part]:
        """Return the document as one part: it has one patient.

        Raises:
            InvalidRecord: It can't be read, is not supported, or names no patient.
        """
        root = load(value)
        whose = self._whose(root)
        enclosed = self._enclosed(root, whose)
        current, former = with_enclosed(whose.demographics, Demographics(), enclosed)
        notes, skipped = notes_of(
            root,
            whose.keys[0],
            current,
            lambda data, type_: self.opener.open(data, type_, lambda: whose).text,
        )
        return [
            Part(
                FORMAT,
                text_of(root),
                records_of(whose.keys, sent_at_of(root), current, former),
                tuple(notes),
                skipped_with(skipped, enclosed),
            )
        ]

    def read(self, content: str) -> _OpenedPart:
        """Return a document, opened."""
        root = loads(content)

        def open_(data: bytes, media_type: str) -> Enclosed:
            return self.opener.open(data, media_type, lambda: self._whose(root))

        part = _OpenedPart(root, known_of(root), Gathered(open_))
        Writer(part.gathered, NoValues(), part.known).document(root)
        return part

    def text(self, value: bytes) -> str:
        """Return a rebuilt message as text."""
        return value.decode()

    def shown(self, value: bytes) -> str:
        """Return a rebuilt message without the names of its elements and attributes."""
        text = self.text(value)
        # Elements part values, or words of a narrative: `Quell<content>wright`.
        return _BETWEEN.join((_TAG.sub("", text), _TAG.sub(_values_of_tag, text)))

    def _whose(self, root: etree._Element) -> Whose:
        keys = patient_ids_of(patient_role_of(root), self.authority)
        return Whose(keys, demographics_of(root))

    def _enclosed(self, root: etree._Element, whose: Whose) -> list[Part]:
        """Return the messages inside."""
        if not any(
            {"representation", "mediaType"} & {*each.keys()} for each in root.iter()
        ):
            return []
        unread = Unread(
            lambda data, type_: self.opener.part(data, type_, lambda: whose)
        )
        Writer(unread, NoValues(), Known()).document(root)
        return unread.enclosed


@dataclass(frozen=True, slots=True, repr=False)
class _OpenedPart:
    """A document, ready to be scrubbed and rebuilt."""

    root: etree._Element
    known: Known
    gathered: Gathered

    @property
    def texts(self) -> list[FreeText]:
        """The free texts; one that repeats is there once.

        Each narrative is one text.  The last ones hold all terms, each a line: a term
        alone would be scrubbed as a note of one word.
        """
        return self.gathered.all()

    def rebuilt(self, scrubbed: Sequence[ScrubbedDocument], values: Values) -> Rebuilt:
        """Return the document without identifiers."""
        writer = Writer(self.gathered.given(scrubbed), values, self.known)
        written = writer.document(self.root)
        return Rebuilt(
            dumps(written),
            dict(writer.removed),
            dict(writer.unreadable),
            tuple(writer.enclosed),
        )


def _values_of_tag(tag: re.Match[str]) -> str:
    return "\n".join(("", *_ATTRIBUTE_VALUE.findall(tag[0]), ""))
