"""Messages, segments and unescaped fields.  Only this module uses python-hl7.

python-hl7's own `unescape` is not used: it logs fields with an unknown sequence, and it
knows neither FT commands without a count nor bytes in \\X...\\.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import hl7

from ..engine.errors import InvalidRecord
from ..engine.reasons import ReasonCode

Component = tuple[str, ...]
"""The subcomponents of a component."""
Repetition = tuple[Component, ...]
"""The components of a repetition."""

NULL = '""'
DEFAULT_MARKS = "^~\\&"

_FIELD_SEPARATOR = re.compile(r"MSH[^\w\s]")
_MARKS = re.compile(r"[^\w\s]+")
_SEQUENCE = (
    r"[FSTREHN]|X(?:[0-9A-Fa-f]{2})+|[CM](?:[0-9A-Fa-f]{2}){2,3}"
    r"|\.(?:br|sp|sk|ce|in|ti|fi|nf) ?[+-]?\d{0,2}"
)


@dataclass(frozen=True, slots=True)
class Delimiters:
    """MSH-1 and MSH-2."""

    field: str
    component: str
    repetition: str
    escape: str
    subcomponent: str


class Field:
    """A field, parsed at most once however many segments repeat it."""

    def __init__(self, parsed: object, delimiters: Delimiters) -> None:
        self._items = _items(parsed)
        self._delimiters = delimiters

    @cached_property
    def repetitions(self) -> tuple[Repetition, ...]:
        """The repetitions that are not empty."""
        found = (self._repetition(each) for each in self._items)
        return tuple(each for each in found if any(any(c) for c in each))

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The repetitions as text; separators within them were not escaped."""
        texts = (str(each) for each in self._items)
        return tuple(
            "" if each == NULL else unescape(each, self._delimiters) for each in texts
        )

    def _repetition(self, repetition: object) -> Repetition:
        return tuple(
            tuple([self._value(str(leaf)) for leaf in _items(component)])
            for component in _items(repetition)
        )

    def _value(self, raw: str) -> str:
        return "" if raw == NULL else unescape(raw, self._delimiters).strip()


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment; its fields are addressed by their HL7 number, from 1."""

    name: str
    fields: Mapping[int, Field] = field(repr=False)

    def repetitions(self, number: int) -> tuple[Repetition, ...]:
        """Return the repetitions of a field that are not empty."""
        found = self.fields.get(number)
        return found.repetitions if found is not None else ()

    def value(self, number: int, component: int = 1) -> str:
        """Return a component of a field's first repetition, or an empty string."""
        repetitions = self.repetitions(number)
        return part(repetitions[0], component) if repetitions else ""

    def lines(self, number: int) -> tuple[str, ...]:
        """Return the text of a field whose repetitions are lines (OBX-5, NTE-3)."""
        found = self.fields.get(number)
        return found.lines if found is not None else ()


def part(repetition: Repetition, component: int, subcomponent: int = 1) -> str:
    """Return a subcomponent by its HL7 numbers, or an empty string."""
    if component > len(repetition):
        return ""
    values = repetition[component - 1]
    return values[subcomponent - 1] if subcomponent <= len(values) else ""


def parse(text: str, wanted: Mapping[str, frozenset[int]]) -> list[Segment]:
    """Return the wanted segments of a message in their order; MSH is the first.

    python-hl7 takes about 10 microseconds per field, even an empty one.  A tenth of the
    fields of a laboratory report is ever read: only those are parsed.

    Args:
        text: One message, CR between its segments.
        wanted: The segments to parse, with the numbers of their fields.

    Raises:
        InvalidRecord: bad_msh: the delimiters are invalid.
    """
    delimiters = _delimiters(text)
    separator = delimiters.field
    header, *lines = text.split("\r")
    # MSH-1 is the separator itself, so MSH-2 is the first field after the name.
    rows = [("MSH", _fields(header, wanted["MSH"], separator, first=2))]
    rows += [
        (line[:3], _fields(line, wanted[line[:3]], separator, first=1))
        for line in lines
        if line[:3] in wanted and line[3:4] in ("", separator)
    ]
    head = separator.join(("MSH", header.split(separator, 2)[1], ""))
    # Providers and codes recur in every OBX: each distinct field is parsed once.
    texts = dict.fromkeys(each for _, fields in rows for each in fields.values())
    try:
        _, parsed = hl7.parse(f"{head}\r{separator.join(('SEG', *texts))}")
    except Exception:  # its exceptions show the message
        raise InvalidRecord(
            ReasonCode.BAD_MSH,
            "MSH: the message can't be parsed; check the sender's framing",
        ) from None
    parts = {
        text: Field(each, delimiters)
        for text, each in zip(texts, list(parsed)[1:], strict=True)
    }
    return [
        Segment(name, {number: parts[each] for number, each in fields.items()})
        for name, fields in rows
    ]


def _fields(
    line: str, numbers: frozenset[int], separator: str, *, first: int
) -> dict[int, str]:
    """Return the wanted fields of a line by number, without empty ones."""
    values = enumerate(line.split(separator)[1:], first)
    return {number: each for number, each in values if each and number in numbers}


def unescape(raw: str, delimiters: Delimiters) -> str:
    """Return the text of escape sequences (HL7 v2 chapter 2.7).

    Highlighting and changes of the character set are removed.  Anything that is not a
    sequence of the standard is kept, so that a stray escape character removes no text.
    """
    if delimiters.escape not in raw:
        return raw
    return _sequences(delimiters.escape).sub(
        lambda found: _meaning(found[1], delimiters), raw
    )


@cache
def _sequences(escape: str) -> re.Pattern[str]:
    mark = re.escape(escape)
    return re.compile(f"{mark}({_SEQUENCE}){mark}", re.ASCII)


def _meaning(code: str, delimiters: Delimiters) -> str:
    plain = {
        "F": delimiters.field,
        "S": delimiters.component,
        "T": delimiters.subcomponent,
        "R": delimiters.repetition,
        "E": delimiters.escape,
    }
    if code in plain:
        return plain[code]
    if code[0] == "X":
        return _hexadecimal(code[1:])
    if code[0] != ".":
        return ""
    count = int(re.sub(r"\D", "", code) or 1)
    return {"br": "\n", "ce": "\n", "sp": "\n" * count, "sk": " " * count}.get(
        code[1:3], ""
    )


def _hexadecimal(digits: str) -> str:
    raw = bytes.fromhex(digits)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _delimiters(text: str) -> Delimiters:
    if not _FIELD_SEPARATOR.match(text):
        raise InvalidRecord(ReasonCode.BAD_MSH, "MSH-1: no field separator after MSH")
    separator = text[3]
    marks = text.split("\r", 1)[0][4:].split(separator, 1)[0]
    # A fifth character (truncation, v2.7) and more may follow; they are ignored.
    used = marks[:4]
    # Only the last one, of subcomponents, may be missing: it moves no other.
    is_whole = len(used) == len(DEFAULT_MARKS) or used == DEFAULT_MARKS[:3]
    if not (
        is_whole and _MARKS.fullmatch(marks) and len({separator, *used}) > len(used)
    ):
        raise InvalidRecord(
            ReasonCode.BAD_MSH, "MSH-2: the encoding characters are invalid; send ^~\\&"
        )
    return Delimiters(separator, *used.ljust(4, "&"))


def _items(container: object) -> Sequence[object]:
    """Return a container's parts; a leaf is its own only part."""
    if isinstance(container, str) or not isinstance(container, Sequence):
        return (container,)
    return container
