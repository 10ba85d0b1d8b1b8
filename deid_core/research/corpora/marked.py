"""Notes with their identifiers marked in the text, and the patient's record beside it.

    === a017 | discharge letter, general surgery
    # record: {"names": [{"family": "Doe", "given": "Jane"}], "mrn": "4410286"}
    Pt [[PATIENT|Doe]] seen [[DATE|3/4]] by Dr. [[STAFF|Roe]].

A file holds many notes; the line of the record may be absent.  Keys of a record:
``names`` (``family``, ``given``, ``former``), ``birth_date`` (ISO 8601), ``mrn``,
``other_ids``, ``phones``, ``address`` (``line``, ``city``, ``state``, ``zip``), ``kin``
(``name``, ``phone``) and ``providers``.  Errors name file and line, never text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from deid_core.document import (
    NOTHING_KNOWN,
    Address,
    KnownId,
    KnownIdentifiers,
    PersonName,
    Span,
)
from deid_core.errors import ConfigError
from deid_core.labels import Label

from .conventions import Conventions
from .corpus import GoldDocument, GoldSpan, ordered

HEADER = re.compile(r"=== (?P<id>\S+) \| (?P<service>\S.*)")
_RECORD = "# record:"
_MARK = re.compile(r"\[\[(?P<tag>[A-Z0-9]+)\|(?P<value>[^\[\]]+)\]\]")
_BRACKETS = re.compile(r"\[\[|\]\]")


# A record may say null where it has nothing.
_Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class _Name(_Part):
    family: _Text = ""
    given: _Text = ""
    former: _Text = ""


class _Kin(_Part):
    name: _Text = ""
    relation: _Text = ""
    phone: _Text = ""


class _Address(_Part):
    line: _Text = ""
    city: _Text = ""
    state: _Text = ""
    zip: _Text = ""


class Record(_Part):
    """The patient's record as it is written beside a note."""

    names: tuple[_Name, ...] = ()
    birth_date: date | None = None
    sex: _Text = ""
    mrn: _Text = ""
    other_ids: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
    address: _Address | None = None
    kin: tuple[_Kin, ...] = ()
    providers: tuple[str, ...] = ()

    def known(self) -> KnownIdentifiers:
        """Return the record as detectors know it."""
        ids = [KnownId(self.mrn, Label.MEDICALRECORD)] if self.mrn else []
        ids += (KnownId(each, Label.IDNUM) for each in self.other_ids)
        former = (PersonName(n.former, n.given) for n in self.names if n.former)
        return KnownIdentifiers(
            patient_names=(
                *(PersonName(n.family, n.given) for n in self.names),
                *former,
            ),
            kin_names=tuple(_person(each.name) for each in self.kin if each.name),
            provider_names=tuple(map(_person, self.providers)),
            birth_dates=(self.birth_date,) if self.birth_date else (),
            addresses=tuple(map(_address, filter(None, (self.address,)))),
            phones=(*self.phones, *(each.phone for each in self.kin if each.phone)),
            ids=tuple(ids),
        )


def _person(name: str) -> PersonName:
    given, _, family = name.rpartition(" ")
    return PersonName(family, given)


def _address(written: _Address) -> Address:
    return Address(
        street=written.line, city=written.city, state=written.state, zip=written.zip
    )


@dataclass(slots=True)
class _Note:
    where: str
    id: str
    service: str
    lines: list[str] = field(default_factory=list, repr=False)


def read_marked(path: Path, conventions: Conventions) -> Iterator[GoldDocument]:
    """Yield the notes of a file, or of all ``.txt`` files of a folder by name.

    Raises:
        ConfigError: A header, a record or a mark cannot be read.
    """
    files = sorted(path.glob("*.txt")) if path.is_dir() else [path]
    for file in files:
        # No line end is translated: offsets count each character.
        text = file.read_bytes().decode("utf-8")
        yield from marked_notes(text, str(file), conventions)


def marked_notes(
    text: str, where: str, conventions: Conventions
) -> Iterator[GoldDocument]:
    """Yield the notes of a text.

    Args:
        text: As in a file.
        where: The name of the file, for errors.
        conventions: The labels of the tags.

    Raises:
        ConfigError: A header, a record or a mark cannot be read.
    """
    for note in _notes(text, where):
        yield _document(note, conventions)


def is_marked(path: Path) -> bool:
    """Return whether a file, or the first of a folder, begins as marked notes do."""
    files = sorted(path.glob("*.txt"))[:1] if path.is_dir() else [path]
    try:
        return any(_first_bytes(file) == b"=== " for file in files)
    except OSError:
        return False


def _first_bytes(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(4)


def _notes(text: str, where: str) -> Iterator[_Note]:
    note: _Note | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("==="):
            if note is not None:
                yield note
            found = HEADER.fullmatch(line.rstrip())
            if found is None:
                raise ConfigError(f'{where}:{number}: not "=== ID | SERVICE"')
            note = _Note(f"{where}:{number}", found["id"], found["service"])
        elif note is not None:
            note.lines.append(line)
        elif line.strip():
            raise ConfigError(f'{where}:{number}: text before the first "=== ID | ..."')
    if note is not None:
        yield note


def _document(note: _Note, conventions: Conventions) -> GoldDocument:
    known = NOTHING_KNOWN
    if note.lines and note.lines[0].startswith(_RECORD):
        known = _record(note.lines[0].removeprefix(_RECORD), note.where).known()
        del note.lines[0]
    marked = "\n".join(note.lines).strip("\n")
    parts: list[str] = []
    spans: list[GoldSpan] = []
    length = end = 0
    for at, mark in enumerate(_MARK.finditer(marked)):
        before, value = marked[end : mark.start()], mark["value"]
        start = length + len(before)
        length, end = start + len(value), mark.end()
        parts += before, value
        label = conventions.label_of(mark["tag"])
        spans.append(GoldSpan(Span(start, length), mark["tag"], label, at))
    text = "".join(parts) + marked[end:]
    if _BRACKETS.search(text):
        raise ConfigError(f"{note.where}: a mark is not [[TAG|value]]")
    return replace(ordered(note.id, text, spans, (), note.service), known=known)


def _record(text: str, where: str) -> Record:
    try:
        return Record.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{where}: record {place}: {first['type']}") from None


def marked_text(document: GoldDocument, record: str = "") -> str:
    """Return a note as a file of marked notes holds it, with a line end after it.

    Args:
        document: Its spans are disjoint.
        record: The patient's record as JSON, in one line.
    """
    return "".join(_marked_parts(document, record))


def _marked_parts(document: GoldDocument, record: str) -> Iterable[str]:
    yield f"=== {document.id} | {document.note_type or 'note'}\n"
    if record:
        yield f"{_RECORD} {record}\n"
    end = 0
    for each in document.spans:
        yield document.text[end : each.span.start]
        yield f"[[{each.tag}|{document.text[each.span.start : each.span.end]}]]"
        end = each.span.end
    yield document.text[end:].rstrip("\n") + "\n"
