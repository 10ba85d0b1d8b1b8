"""What a patient's notes show in place of single values: fields of a message."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from deid_core import Deidentifier, Document, Label
from streams.model.patients.demographics import is_day

from .outputs import Pseudonyms

_DAY_OR_YEAR = re.compile(r"[0-9]{4}(?:-[0-9]{2}-[0-9]{2})?")


@dataclass(frozen=True, slots=True)
class PatientValues:
    """`streams.model.parts.Values` of one patient, by the policy of the stream.

    Args:
        deidentifier: Replaces values in notes.
        document: Names the patient and the record, as for a note.
        pseudonyms: For identifiers.
    """

    deidentifier: Deidentifier
    document: Document = field(repr=False)
    pseudonyms: Pseudonyms

    def replaced(self, label: Label, value: str) -> str:
        """Return what the policy writes for a value: its tag, surrogate, or itself."""
        return self.deidentifier.replaced_value(self.document, label, value)

    def day(self, day: str) -> str:
        """Return a day as the policy writes dates: a day, a year, or empty.

        A tag or a pseudonym would be no date, and a time of day is never published.

        Args:
            day: YYYY-MM-DD; anything else gives an empty string.
        """
        if not is_day(day):
            return ""
        written = self.replaced(Label.DATE, day)
        return written if _DAY_OR_YEAR.fullmatch(written) else ""

    def pseudonym(self, kind: str, value: str) -> str:
        """Return the keyed pseudonym of an identifier: 32 hexadecimal digits."""
        return self.pseudonyms.value(kind, value)

    def is_leak(self, written: str) -> bool:
        """Return that it is none; `parts.rebuilt` compares where one leaked."""
        return False
