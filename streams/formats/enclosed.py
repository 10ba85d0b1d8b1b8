"""Opens messages inside of messages: C-CDA and FHIR, in OBX-5, attachments, bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deid_core import ScrubbedDocument
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.documents import Unreadable, UnreadableKind, hidden_in
from streams.formats.documents.content import Content, content_of
from streams.formats.documents.opening import MAX_BYTES, MAX_CHARACTERS
from streams.formats.enclosed_notes import (
    TEXTS,
    Enclosed,
    OfMessage,
    RebuiltEnclosed,
    Whose,
)
from streams.model.parts import FreeText, OpenedPart, Part, Reader, Values
from streams.model.patients.demographics import Demographics

from .recognising import recognise

_CONTENTS = frozenset({Content.XML, Content.JSON})
_UNDECLARED = frozenset({"", "application/octet-stream"})
_XML = frozenset(
    {
        *("application/xml", "text/xml", "application/cda+xml", "application/hl7-cda"),
        *("application/hl7-cda+xml", "application/hl7-sda+xml", "text/xml+cda"),
    }
)
_JSON = frozenset({"application/fhir+json", "application/json", "text/json"})
_DECLARED: Mapping[str, frozenset[str]] = {"ccda": _XML, "fhir": _JSON}
"""The media types that messages may have, by format."""
_WRITTEN: Mapping[str, str] = {
    "ccda": "application/xml",
    "fhir": "application/fhir+json",
}
_KINDS: Mapping[ReasonCode, UnreadableKind] = {
    ReasonCode.BAD_XML: UnreadableKind.BROKEN,
    ReasonCode.BAD_JSON: UnreadableKind.BROKEN,
    ReasonCode.UNDECODABLE: UnreadableKind.BROKEN,
    ReasonCode.TOO_LARGE: UnreadableKind.TOO_LARGE,
    ReasonCode.TOO_MANY: UnreadableKind.TOO_LARGE,
}


@dataclass(frozen=True, slots=True)
class EnclosedMessage:
    """A message inside of another one.

    Args:
        part: All of it.
        opened: The part, opened.
        media_type: As it is written.
    """

    part: Part
    opened: OpenedPart
    media_type: str

    @property
    def text(self) -> str:
        """The notes, one after the other."""
        return "\n\n".join(each.text for each in self.part.notes)

    def texts(self, note_type: str) -> Sequence[FreeText]:
        """Return the free texts; each has its own type of notes."""
        return self.opened.texts

    def rebuilt(
        self, scrubbed: Sequence[ScrubbedDocument], values: Values
    ) -> RebuiltEnclosed:
        """Return the message without identifiers."""
        rebuilt = self.opened.rebuilt(scrubbed, values)
        return RebuiltEnclosed(
            rebuilt.value, self.media_type, rebuilt, self.part.format
        )


@dataclass(frozen=True, slots=True)
class MessageOpener:
    """Opens messages of one patient, and texts.

    Args:
        readers: By format; those of the level below, so that nesting is bounded.
    """

    readers: Mapping[str, Reader]

    def open(self, data: bytes, media_type: str, of: OfMessage) -> Enclosed:
        """Return a document.

        Raises:
            Unreadable: It can't be opened, or is another patient's.
        """
        name = _format_of(data)
        if name is None:
            return TEXTS.open(data, media_type, of)
        written = _media_type(name, media_type)
        if len(data) > MAX_BYTES:
            raise Unreadable(UnreadableKind.TOO_LARGE)
        reader = self.readers[name]
        try:
            parts = reader.parts(data)
            # Several patients: whose it is can't be said.
            if len(parts) != 1 or not _may_be_same(of(), _whose(parts[0])):
                raise Unreadable(UnreadableKind.OTHER_PATIENT)
            opened = reader.read(parts[0].content)
        except InvalidRecord as error:
            raise Unreadable(_kind_of(error)) from None
        _require_plain([each.text for each in opened.texts])
        _require_plain([each.text for each in parts[0].notes])
        return EnclosedMessage(parts[0], opened, written)

    def part(self, data: bytes, media_type: str, of: OfMessage) -> Part | None:
        """Return a document that is a message; None for any other, opened or not."""
        if _format_of(data) is None:
            return None
        try:
            opened = self.open(data, media_type, of)
        except Unreadable:
            return None  # counted when the message around it is rebuilt
        return opened.part if isinstance(opened, EnclosedMessage) else None


def _format_of(data: bytes) -> str | None:
    """Return the format of a message that is opened; None for all else."""
    if content_of(data) not in _CONTENTS:
        return None
    try:
        found = recognise(data).value
    except InvalidRecord:
        return None
    return found if found in _DECLARED else None


def _media_type(format: str, media_type: str) -> str:
    """Return the media type that is written: the declared one, if it is the format's.

    Raises:
        Unreadable: It is that of another format.
    """
    declared = media_type.partition(";")[0].strip().lower()
    if declared in _UNDECLARED:
        return _WRITTEN[format]
    if declared not in _DECLARED[format]:
        raise Unreadable(UnreadableKind.BROKEN)
    return declared


def _require_plain(texts: Sequence[str]) -> None:
    """Check that texts are not too long, and hold no documents.

    Raises:
        Unreadable: They are, or do.
    """
    if sum(map(len, texts)) > MAX_CHARACTERS:
        raise Unreadable(UnreadableKind.TOO_LARGE)
    if any(map(hidden_in, texts)):
        raise Unreadable(UnreadableKind.UNKNOWN)


def _kind_of(error: InvalidRecord) -> UnreadableKind:
    return _KINDS.get(error.code, UnreadableKind.UNKNOWN)


def _whose(part: Part) -> Whose:
    keys = [each.patient for each in part.updates]
    keys += [each.patient for each in part.notes]
    current = part.updates[0].current if part.updates else Demographics()
    return Whose(keys, current)


def _may_be_same(outer: Whose, inner: Whose) -> bool:
    """Return whether two messages may be of the same patient.

    One identifier in common says so; else nothing may say that they are not: birth
    dates or names that have nothing in common.
    """
    if _ids(outer) & _ids(inner):
        return True
    pairs = (
        (set(outer.demographics.birth_dates), set(inner.demographics.birth_dates)),
        (_names(outer), _names(inner)),
    )
    return all(not own or not other or own & other for own, other in pairs)


def _ids(whose: Whose) -> set[str]:
    ids = [each.value for each in whose.demographics.ids if each.type != "VN"]
    return {each.strip().lstrip("0").casefold() for each in (*_keys(whose), *ids)}


def _keys(whose: Whose) -> list[str]:
    return [each.id for each in whose.keys]


def _names(whose: Whose) -> set[str]:
    """Return given and family names, in compared form."""
    return {
        each.casefold()
        for name in whose.demographics.names
        for written in (name.family, name.given)
        for each in written.replace("-", " ").split()
    }
