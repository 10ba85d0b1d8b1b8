"""Reads and writes CDA R2 and C-CDA documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lxml import etree

from deid_core import Label, ScrubbedDocument

from ..events.parts import FreeText, Part, Rebuilt, Values
from ..fhir.free_texts import Gathered
from ..patients.demographics import records_of
from .demographics import demographics_of, known_of, patient_ids_of, patient_role_of
from .notes import notes_of, sent_at_of
from .writer import Writer
from .xml_text import dumps, load, loads, text_of

FORMAT = "ccda"
AUTHORITY = "C-CDA"


@dataclass(frozen=True, slots=True)
class CcdaReader:
    """The format CDA R2, as C-CDA and others have it.

    Args:
        authority: The assigning authority of patient identifiers that have no root
            besides themselves.
    """

    authority: str = AUTHORITY

    def parts(self, value: bytes) -> list[Part]:
        """Return the document as one part: it has one patient.

        Raises:
            InvalidRecord: It can't be read, is not supported, or names no patient.
        """
        root = load(value)
        keys = patient_ids_of(patient_role_of(root), self.authority)
        demographics = demographics_of(root)
        notes, skipped = notes_of(root, keys[0], demographics)
        updates = records_of(keys, sent_at_of(root), demographics)
        return [Part(FORMAT, text_of(root), updates, tuple(notes), skipped)]

    def texts(self, content: str) -> list[FreeText]:
        """Return the free texts of a document; one that repeats is returned once.

        Each narrative is one text.  The last ones hold all terms, each a line: a term
        alone would be scrubbed as a note of one word.
        """
        return _gathered(loads(content)).all()

    def rebuilt(
        self, content: str, scrubbed: Sequence[ScrubbedDocument], values: Values
    ) -> Rebuilt:
        """Return the document without identifiers.

        Raises:
            ValueError: The scrubbed texts are not those of the document.
        """
        root = loads(content)
        given = _gathered(root).given(scrubbed)
        writer = Writer(given, values, known_of(root))
        written = writer.document(root)
        return Rebuilt(dumps(written), dict(writer.removed), dict(writer.unreadable))


def _gathered(root: etree._Element) -> Gathered:
    gathered = Gathered()
    Writer(gathered, _Nothing(), known_of(root)).document(root)
    return gathered


class _Nothing:
    """Values of no patient, for what is not written."""

    def replaced(self, label: Label, value: str) -> str:
        return ""

    def day(self, day: str) -> str:
        return ""

    def pseudonym(self, kind: str, value: str) -> str:
        return "0" * 32
