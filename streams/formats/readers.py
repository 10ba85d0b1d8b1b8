"""The readers of formats that scrub writes back, by name.

HL7 v2 is read here; the module of another format is imported when a message of its
format comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.documents import hidden_in
from streams.formats.enclosed_notes import TEXTS, Opener
from streams.formats.hl7.reader import Hl7Reader
from streams.model.parts import Reader
from streams.model.patients.demographics import NOBODY, PatientId

from .enclosed import MessageOpener
from .recognising import Format

MAX_DEPTH = 2
"""Of messages inside of messages: FHIR in C-CDA in HL7."""


Maker = Callable[[Opener], Reader]
_CLASSES: Mapping[str, tuple[str, str]] = {
    Format.FHIR.value: ("streams.formats.fhir.reader", "FhirReader"),
    Format.CCDA.value: ("streams.formats.ccda.reader", "CcdaReader"),
}
"""The reader of a format, by module and name."""


def _made(name: str, opener: Opener, **options: PatientId) -> Reader:
    module, reader = _CLASSES[name]
    made: Reader = getattr(import_module(module), reader)(opener=opener, **options)
    return made


_MAKERS: Mapping[str, Maker] = {name: partial(_made, name) for name in _CLASSES}


class _OnUse(Mapping[str, Reader]):
    """Readers by format; each is imported when a message of its format comes.

    Args:
        makers: Return the readers.
        opener: Of what their messages hold.
    """

    def __init__(self, makers: Mapping[str, Maker], opener: Opener) -> None:
        self._makers = makers
        self._opener = opener
        self._made: dict[str, Reader] = {}

    def __getitem__(self, name: str) -> Reader:
        if name not in self._made:
            self._made[name] = self._makers[name](self._opener)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _inner(depth: int) -> Mapping[str, Reader]:
    """Return the readers of messages inside of others."""
    return _OnUse(_MAKERS, MessageOpener(_inner(depth - 1)) if depth > 1 else TEXTS)


_OPENER = MessageOpener(_inner(MAX_DEPTH))
HL7 = Hl7Reader(opener=_OPENER)
READERS: Mapping[str, Reader] = _OnUse(
    {Format.HL7.value: lambda _: HL7, **_MAKERS}, _OPENER
)
"""By the property `format` of notes."""
FILE_READERS: Mapping[str, Reader] = _OnUse(
    {
        **_MAKERS,
        Format.HL7.value: lambda _: HL7,
        Format.FHIR.value: partial(_made, "fhir", nobody=NOBODY),
    },
    _OPENER,
)
"""Of files, which need no patient to be sent to: a list of practitioners is one."""
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
