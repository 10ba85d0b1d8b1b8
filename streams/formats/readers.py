"""The readers of formats that scrub writes back, by name."""

from __future__ import annotations

from collections.abc import Mapping

from ..ccda.reader import FORMAT as CCDA
from ..ccda.reader import CcdaReader
from ..documents import hidden_in
from ..engine.errors import InvalidRecord
from ..engine.reasons import ReasonCode
from ..events.parts import Reader
from ..fhir.reader import FORMAT as FHIR
from ..fhir.reader import FhirReader
from ..hl7.reader import HL7

READERS: Mapping[str, Reader] = {
    "hl7": HL7,
    FHIR: FhirReader(),
    CCDA: CcdaReader(),
}
"""By the property `format` of notes."""
CONTENT_TYPES: Mapping[str, bytes] = {
    "hl7": b"x-application/hl7-v2+er7",
    "fhir": b"application/fhir+json",
    "ccda": b"application/xml",
}
"""The media types of rebuilt messages."""


def reader_of(name: str) -> Reader:
    """Return the reader of a format.

    Raises:
        InvalidRecord: There is none in this version.
    """
    found = READERS.get(name)
    if found is None:
        raise InvalidRecord(
            ReasonCode.SCHEMA, "notes: format: this version does not know it; update"
        )
    return found


def require_plain(text: str) -> None:
    """Check that a text is in no format, and holds none, where names would stay unseen.

    Raises:
        InvalidRecord: It does; the reason names the format.
    """
    if format := hidden_in(text):
        raise InvalidRecord(
            ReasonCode.UNSUPPORTED,
            f"a text holds {format}; send the document as one (OBX-2 ED, an "
            "attachment, a message of its own)",
        )
