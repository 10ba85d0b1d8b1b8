"""Fields of a parsed message, unescaped: the only module that touches python-hl7.

python-hl7's own `unescape` logs the field when it meets an unknown sequence, and it
knows neither FT commands without a count nor bytes in \\X...\\; so that is done here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import hl7

from ..errors import InvalidRecord

Component = tuple[str, ...]
"""The subcomponents of a component."""
Repetition = tuple[Component, ...]
"""The components of a repetition."""

NULL = '""'
SEPARATORS_AT_LEAST = 3  # component, repetition, escape

_DELIMITERS = re.compile(r"MSH[^A-Za-z0-9\s]")


@dataclass(frozen=True, slots=True)
class Delimiters:
    """MSH-1 and MSH-2."""

    field: str
    component: str
    repetition: str
    escape: str
    subcomponent: str


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment; its fields are read by their HL7 number, from 1."""

    name: str
    fields: Sequence[object] = field(repr=False)
    delimiters: Delimiters = field(repr=False)

    def repetitions(self, number: int) -> list[Repetition]:
        """Return the repetitions of a field that are not empty."""
        if number >= len(self.fields):
            return []
        found = [self._repetition(each) for each in _items(self.fields[number])]
        return [each for each in found if any(any(c) for c in each)]

    def value(self, number: int, component: int = 1) -> str:
        """Return a component of a field's first repetition, or an empty string."""
        repetitions = self.repetitions(number)
        return part(repetitions[0], component) if repetitions else ""

    def lines(self, number: int) -> list[str]:
        """Return the text of a field whose repetitions are lines (OBX-5, NTE-3).

        Separators within a line were not escaped by the sender, so they are text.
        """
        if number >= len(self.fields):
            return []
        return [self._unescaped(str(each)) for each in _items(self.fields[number])]

    def _repetition(self, repetition: object) -> Repetition:
        return tuple(
            tuple(self._value(str(leaf)) for leaf in _items(component))
            for component in _items(repetition)
        )

    def _value(self, raw: str) -> str:
        return "" if raw == NULL else self._unescaped(raw).strip()

    def _unescaped(self, raw: str) -> str:
        return unescape(raw, self.delimiters)


def part(repetition: Repetition, component: int, subcomponent: int = 1) -> str:
    """Return a subcomponent by its HL7 numbers, or an empty string."""
    if component > len(repetition):
        return ""
    values = repetition[component - 1]
    return values[subcomponent - 1] if subcomponent <= len(values) else ""


def parse(text: str, wanted: Mapping[str, frozenset[int]]) -> list[Segment]:
    """Return the wanted segments of a message, in their order; MSH is the first.

    Args:
        text: One message, CR between its segments.
        wanted: The segments to parse, and of each the numbers of the fields; no
            numbers are all.  What is not wanted is left aside: python-hl7 takes
            some 10 microseconds a field.

    Raises:
        InvalidRecord: bad_msh when the delimiters can't be told.
    """
    delimiters = _delimiters(text)
    lines = text.split("\r")
    kept = [
        _pruned(line, wanted[line[:3]], delimiters.field)
        for line in lines[1:]
        if line[:3] in wanted
    ]
    try:
        message = hl7.parse("\r".join([lines[0], *kept]))
    except Exception:  # its exceptions show the message
        raise InvalidRecord("bad_msh", "MSH: the message can't be parsed") from None
    return [Segment(str(each[0]), each, delimiters) for each in message if each]


def _pruned(line: str, numbers: frozenset[int], separator: str) -> str:
    if not numbers:
        return line
    fields = line.split(separator)
    kept = [each if n in numbers or n == 0 else "" for n, each in enumerate(fields)]
    return separator.join(kept).rstrip(separator)


def unescape(raw: str, delimiters: Delimiters) -> str:
    """Return the text of escape sequences (HL7 v2 chapter 2.7).

    Unknown sequences, highlighting and changes of the character set are left out.
    """
    mark = delimiters.escape
    if not mark or mark not in raw:
        return raw
    quoted = re.escape(mark)
    return re.sub(
        f"{quoted}([^{quoted}\r\n]{{0,200}}){quoted}",
        lambda found: _sequence(found[1], delimiters),
        raw,
    )


def _sequence(code: str, delimiters: Delimiters) -> str:
    plain = {
        "F": delimiters.field,
        "S": delimiters.component,
        "T": delimiters.subcomponent,
        "R": delimiters.repetition,
        "E": delimiters.escape,
    }
    if code in plain:
        return plain[code]
    if code[:1] == "X":
        return _hexadecimal(code[1:])
    command = re.match(r"\.(br|sp|sk|ce|in|ti|fi|nf)\s*[+-]?(\d{0,2})", code)
    if command is None:
        return ""
    name, count = command[1], int(command[2] or 1)
    if name in ("br", "ce"):
        return "\n"
    return {"sp": "\n", "sk": " "}.get(name, "") * count


def _hexadecimal(digits: str) -> str:
    try:
        raw = bytes.fromhex(digits)
    except ValueError:
        return ""
    text = raw.decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _delimiters(text: str) -> Delimiters:
    if not _DELIMITERS.match(text):
        raise InvalidRecord("bad_msh", "MSH-1: no field separator after MSH")
    end = text.find(text[3], 4)
    # A fifth character (truncation, v2.7) and more may follow; they are not used.
    marks = text[4:end] if end > 0 else ""
    if len(marks) < SEPARATORS_AT_LEAST or len(set(text[3] + marks[:4])) < min(
        5, len(marks) + 1
    ):
        raise InvalidRecord("bad_msh", "MSH-2: the encoding characters can't be told")
    subcomponent = marks[3] if len(marks) > 3 else "&"
    return Delimiters(text[3], marks[0], marks[1], marks[2], subcomponent)


def _items(container: object) -> Sequence[object]:
    """Return a container's parts; a leaf, which is text, is its own only part."""
    if isinstance(container, str) or not isinstance(container, Sequence):
        return (container,)
    return container
