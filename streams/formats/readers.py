"""The readers of formats that scrub writes back, by name."""

from __future__ import annotations

from collections.abc import Mapping

from ..ccda.reader import FORMAT as CCDA
from ..ccda.reader import CcdaReader
from ..documents.content import holds_encoded
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


def require_decoded(text: str) -> None:
    """Check that no document is in a text, where names would stay unseen.

    Raises:
        InvalidRecord: There is RTF or base64 in it.
    """
    if holds_encoded(text.encode()):
        raise InvalidRecord(
            ReasonCode.UNSUPPORTED,
            "a text holds RTF or base64; send the document as one (OBX-2 ED, an "
            "attachment)",
        )
