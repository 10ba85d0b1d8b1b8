"""The readers of formats that scrub writes back, by name."""

from __future__ import annotations

from collections.abc import Mapping

from ..ccda.reader import FORMAT as CCDA
from ..ccda.reader import CcdaReader
from ..documents import hidden_in
from ..engine.errors import InvalidRecord
from ..engine.reasons import ReasonCode
from ..events.enclosed import TEXTS
from ..events.parts import Reader
from ..fhir.reader import FORMAT as FHIR
from ..fhir.reader import FhirReader
from ..hl7.reader import Hl7Reader
from .enclosed import MessageOpener

MAX_DEPTH = 2
"""Of messages inside of messages: FHIR in C-CDA in HL7."""


def _inner(depth: int) -> Mapping[str, Reader]:
    """Return the readers of messages inside of others."""
    opener = MessageOpener(_inner(depth - 1)) if depth > 1 else TEXTS
    return {FHIR: FhirReader(opener=opener), CCDA: CcdaReader(opener=opener)}


_OPENER = MessageOpener(_inner(MAX_DEPTH))
HL7 = Hl7Reader(opener=_OPENER)
READERS: Mapping[str, Reader] = {
    "hl7": HL7,
    FHIR: FhirReader(opener=_OPENER),
    CCDA: CcdaReader(opener=_OPENER),
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
