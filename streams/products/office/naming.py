"""Find records that name a patient by key, by identifier, or as HL7 and JSON do.

Most dead letters could not be parsed, so the text is searched rather than a message:
decoded in each way in which it may have been written, and with the escapes of JSON, HL7
and XML resolved, also where one is inside of another.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from streams.engine.errors import InvalidRecord
from streams.formats.hl7.message import (
    DEFAULT_MARKS,
    Delimiters,
    delimiters_of,
    unescape,
)
from streams.kafka.wire_format import split
from streams.model.patients.demographics import PatientId

SURE_LENGTH = 6
"""An identifier of this length is hardly a number of something else."""

_IDS = {"PID": (2, 3, 4), "MRG": (1, 2, 3, 4)}
"""Fields of HL7 that hold identifiers of a patient."""
_ID_NAMES = ("id", "value")
_AUTHORITY_NAMES = ("assigning_authority", "system")
"""Properties of JSON and FHIR that hold an identifier, and who assigned it."""
_ESCAPED = re.compile(r"""\\(?:u([0-9A-Fa-f]{4})|([nrtbf"\\/]))""")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_DEFAULT = Delimiters("|", *DEFAULT_MARKS)


class RecordContent(NamedTuple):
    """Key and value of a record; PHI, so that it belongs into no log."""

    key: bytes
    value: bytes

    def __repr__(self) -> str:
        return "Content()"


def content_of(key: bytes | None, value: bytes | None) -> RecordContent:
    """Return key and value of a record."""
    return RecordContent(key or b"", value or b"")


def is_sure(patient: PatientId) -> bool:
    """Return whether the identifier alone names the patient, in any text."""
    return len(patient.id) >= SURE_LENGTH


def names(content: RecordContent, patient: PatientId) -> bool | None:
    """Return whether a record names a patient; None if that can't be said.

    It does by its key, by the identifier as a word, or where HL7 and JSON hold the
    identifiers of patients.  A short identifier as a word counts only together with its
    assigning authority; what is neither HL7 nor JSON can't be judged by it.
    """
    key, value = content
    if key == patient.key:
        return True
    texts = list(dict.fromkeys(_readings(value)))
    key_texts = [text for each in _decoded(key) for text in _resolved(each)]
    found = [text for text in texts if _holds(text, patient.id)]
    is_in_key = any(_holds(text, patient.id) for text in key_texts)
    if not found and not is_in_key:
        return False
    if is_sure(patient):
        return True
    authority = patient.assigning_authority
    if authority and any(_holds(text, authority) for text in (*key_texts, *texts)):
        return True
    parsed = [each for each in map(_json, texts) if each is not None]
    if any(_is_in_json(each, patient) for each in parsed):
        return True
    if any(_is_in_hl7(each, patient) for each in found):
        return True
    is_read = bool(parsed) or any(each.lstrip().startswith("MSH") for each in texts)
    return None if patient.id in key_texts or (found and not is_read) else False


def _readings(value: bytes) -> Iterator[str]:
    """Yield a value as text in each way in which it may have been written."""
    for body in dict.fromkeys((value, split(value)[1])):
        for text in _decoded(body):
            # A byte order mark, or what frames a message.
            yield from _resolved(text.lstrip("\ufeff\x0b"))


def _decoded(value: bytes) -> Iterator[str]:
    try:
        yield value.decode()
    except UnicodeDecodeError:
        yield value.decode("latin-1")
        yield value.decode("utf-8", "replace")
    if b"\0" in value:
        for encoding in ("utf-16-le", "utf-16-be"):
            yield value.decode(encoding, "replace")
            # One byte before the text, e.g. of a frame.
            yield value[1:].decode(encoding, "replace")


def _resolved(text: str) -> Iterator[str]:
    """Yield a text as it is, and with its escapes resolved."""
    plain = _ESCAPED.sub(_unescaped, text) if "\\" in text else text
    # Messages may lie in a value of JSON, and so may JSON.
    twice = _ESCAPED.sub(_unescaped, plain) if "\\" in plain else plain
    for each in dict.fromkeys((text, plain, twice)):
        for resolved in (each, unescape(each, _delimiters(each))):
            yield resolved
            if "&" in resolved:
                yield html.unescape(resolved)


def _unescaped(found: re.Match[str]) -> str:
    code, character = found.groups()
    return chr(int(code, 16)) if code else _CONTROLS.get(character, character)


def _delimiters(text: str) -> Delimiters:
    try:
        return delimiters_of(text[text.index("MSH") :])
    except (InvalidRecord, ValueError):
        return _DEFAULT


def _holds(text: str, word: str) -> bool:
    """Return whether a text holds a word that is no part of a longer one."""
    found = rf"(?<![0-9A-Za-z]){re.escape(word)}(?![0-9A-Za-z])"
    return re.search(found, text) is not None


def _is_in_hl7(text: str, patient: PatientId) -> bool:
    marks = _delimiters(text)
    for segment in re.split(r"[\r\n]+", text):
        numbers = _IDS.get(segment[:3], ())
        fields = segment.split(marks.field)
        for field in (fields[n] for n in numbers if n < len(fields)):
            for each in field.split(marks.repetition):
                parts = [unescape(e, marks) for e in each.split(marks.component)]
                authority = parts[3].split(marks.subcomponent)[0] if parts[3:] else ""
                if (authority, parts[0].strip()) == (
                    patient.assigning_authority,
                    patient.id,
                ):
                    return True
    return False


def _json(text: str) -> Any:  # noqa: ANN401  # any JSON
    """Return what a text is as JSON; None if it is none, or null."""
    try:
        found = orjson.loads(text)
    except ValueError:
        return None
    # A number or a word is no record.
    return found if isinstance(found, list | dict) else None


def _is_in_json(found: Any, patient: PatientId) -> bool:  # noqa: ANN401  # any JSON
    waiting: list[Any] = [found]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str) and each[:1] in ("{", "["):
            # JSON may lie in a value of JSON.
            each = _json(each)
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            if _is_id(each, patient):
                return True
            waiting += each.values()
    return False


def _is_id(given: dict[str, Any], patient: PatientId) -> bool:
    is_named = any(str(given.get(name, "")) == patient.id for name in _ID_NAMES)
    authorities = [str(given[name]) for name in _AUTHORITY_NAMES if given.get(name)]
    return is_named and (authorities or [""])[0] == patient.assigning_authority
