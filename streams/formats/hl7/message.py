"""Messages, segments and unescaped fields.  Only this module uses python-hl7.

python-hl7's own `unescape` is not used: it logs fields with an unknown sequence, and it
knows neither FT commands without a count nor bytes in \\X...\\.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import hl7

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode

Component = tuple[str, ...]
"""The subcomponents of a component."""
Repetition = tuple[Component, ...]
"""The components of a repetition."""
Wanted = Mapping[str, Sequence[int]]
"""The segments to read, with the numbers of their fields in ascending order."""

NULL = '""'
DEFAULT_MARKS = "^~\\&"

_FIELD_SEPARATOR = re.compile(r"MSH[^\w\s]")
_MARKS = re.compile(r"[^\w\s]+")
_NOTHING_TO_ESCAPE = re.compile(r"[\w ]*")  # no delimiter: those are none of these
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
    """A field, split when it is first read and once, however many segments repeat it.

    Args:
        raw: Its text, with escape sequences.
        delimiters: Of the message.
    """

    __slots__ = ("_delimiters", "_lines", "_raw", "_repetitions")

    def __init__(self, raw: str, delimiters: Delimiters) -> None:
        self._raw = raw
        self._delimiters = delimiters
        self._repetitions: tuple[Repetition, ...] | None = None
        self._lines: tuple[str, ...] | None = None

    def split_as(self, parsed: object) -> None:
        """Take the parts of the field from its container of python-hl7."""
        value = partial(_value, delimiters=self._delimiters)
        items = _items(parsed)
        self._lines = tuple(_text(str(each), self._delimiters) for each in items)
        found = (
            tuple(
                tuple(value(str(leaf)) for leaf in _items(component))
                for component in _items(repetition)
            )
            for repetition in items
        )
        self._repetitions = tuple(each for each in found if any(map(any, each)))

    def strip_end(self) -> None:
        """Remove whitespace at the end of the text."""
        self._raw = self._raw.rstrip()

    @property
    def repetitions(self) -> tuple[Repetition, ...]:
        """The repetitions that are not empty."""
        if self._repetitions is None:
            self._repetitions = _repetitions(self._raw, self._delimiters)
        return self._repetitions

    @property
    def lines(self) -> tuple[str, ...]:
        """The repetitions as text; separators within them were not escaped."""
        if self._lines is None:
            self._lines = tuple(_lines(self._raw, self._delimiters))
        return self._lines


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment; its fields are addressed by their HL7 number, from 1.

    Args:
        name: `PID`.
        fields: Those that are read and not empty.
        line: Its number in the message; that of MSH is 0.
    """

    name: str
    fields: Mapping[int, Field] = field(repr=False)
    line: int = 0

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


def parse(text: str, wanted: Wanted) -> list[Segment]:
    """Return the wanted segments of a message in their order; MSH is the first.

    The fields are split here, since python-hl7 takes about 10 microseconds for each,
    even an empty one.  `parse_by_python_hl7` is the reference: test_reference.py
    compares the two on real, invented and mutated messages.

    Args:
        text: One message, CR between its segments.
        wanted: The segments and fields to read.

    Raises:
        InvalidRecord: bad_msh: the delimiters are invalid.
    """
    delimiters = delimiters_of(text)
    if delimiters.field == delimiters.subcomponent:
        # A subcomponent separator that MSH-2 leaves out is "&", and so may MSH-1 be.
        return parse_by_python_hl7(text, wanted)
    segments, parts = _read(text, wanted, delimiters)
    if parts:
        # As python-hl7, which strips the end of all the text that it parses.
        parts[next(reversed(parts))].strip_end()
    return segments


def parse_by_python_hl7(text: str, wanted: Wanted) -> list[Segment]:
    """Return the same as `parse`, with fields that python-hl7 has split.

    Raises:
        InvalidRecord: bad_msh: the delimiters are invalid.
    """
    delimiters = delimiters_of(text)
    separator = delimiters.field
    segments, parts = _read(text, wanted, delimiters)
    marks = text.split("\r", 1)[0].split(separator, 2)[1]
    try:
        _, parsed = hl7.parse(
            f"MSH{separator}{marks}{separator}\r{separator.join(('SEG', *parts))}"
        )
    except Exception:  # its exceptions show the message
        raise InvalidRecord(
            ReasonCode.BAD_MSH,
            "MSH: the message can't be parsed; check the sender's framing",
        ) from None
    for ours, theirs in zip(parts.values(), list(parsed)[1:], strict=True):
        ours.split_as(theirs)
    return segments


def _read(
    text: str, wanted: Wanted, delimiters: Delimiters
) -> tuple[list[Segment], dict[str, Field]]:
    """Return the wanted segments, and their distinct fields by text, not split yet."""
    separator = delimiters.field
    header, *lines = text.split("\r")
    # MSH-1 is the separator itself, so MSH-2 is the first field after the name.
    rows = [(0, ["MSH", "", *header.split(separator)[1:]])]
    rows += [
        (at, line.split(separator))
        for at, line in enumerate(lines, 1)
        if line[:3] in wanted and line[3:4] in ("", separator)
    ]
    segments: list[Segment] = []
    parts: dict[str, Field] = {}
    for at, row in rows:
        name, count = row[0], len(row)
        fields: dict[int, Field] = {}
        for number in wanted[name]:
            if number >= count:
                break
            if raw := row[number]:
                if raw not in parts:
                    parts[raw] = Field(raw, delimiters)
                fields[number] = parts[raw]
        segments.append(Segment(name, fields, at))
    return segments, parts


def _repetitions(raw: str, delimiters: Delimiters) -> tuple[Repetition, ...]:
    value: Callable[[str], str] = str.strip
    if delimiters.escape in raw or NULL in raw:
        value = partial(_value, delimiters=delimiters)
    found: list[Repetition] = []
    for repetition in raw.split(delimiters.repetition):
        components = repetition.split(delimiters.component)
        if delimiters.subcomponent in repetition:
            parts = (each.split(delimiters.subcomponent) for each in components)
            values = tuple([tuple(map(value, each)) for each in parts])
        else:
            values = tuple([(value(each),) for each in components])
        if any(map(any, values)):
            found.append(values)
    return tuple(found)


def _lines(raw: str, delimiters: Delimiters) -> Sequence[str]:
    texts = raw.split(delimiters.repetition)
    if delimiters.escape in raw or NULL in raw:
        return [_text(each, delimiters) for each in texts]
    return texts


def _value(raw: str, delimiters: Delimiters) -> str:
    return _text(raw, delimiters).strip()


def _text(raw: str, delimiters: Delimiters) -> str:
    return "" if raw == NULL else unescape(raw, delimiters)


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


def pieces(raw: str, delimiters: Delimiters) -> Iterator[tuple[str, str]]:
    """Return a raw text in pieces, each with its text: sequences, and what is between.

    The texts are those of `unescape`, one after the other.
    """
    if delimiters.escape not in raw:
        yield raw, raw
        return
    end = 0
    for found in _sequences(delimiters.escape).finditer(raw):
        if found.start() > end:
            yield raw[end : found.start()], raw[end : found.start()]
        yield found[0], _meaning(found[1], delimiters)
        end = found.end()
    if end < len(raw):
        yield raw[end:], raw[end:]


def escape(text: str, delimiters: Delimiters) -> str:
    """Return a text as it is written in a field; line feeds become line breaks."""
    if _NOTHING_TO_ESCAPE.fullmatch(text):
        return text
    return "".join([_escaped(each, delimiters) for each in text])


def _escaped(character: str, delimiters: Delimiters) -> str:
    mark = delimiters.escape
    codes = {
        delimiters.subcomponent: "T",
        delimiters.repetition: "R",
        delimiters.component: "S",
        delimiters.field: "F",
        mark: "E",
        "\n": ".br",
        "\r": ".br",
    }
    code = codes.get(character)
    return f"{mark}{code}{mark}" if code else character


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


def delimiters_of(text: str) -> Delimiters:
    """Return the delimiters of a message.

    Raises:
        InvalidRecord: bad_msh: they are invalid.
    """
    if not _FIELD_SEPARATOR.match(text):
        raise InvalidRecord(ReasonCode.BAD_MSH, "MSH-1: no field separator after MSH")
    separator = text[3]
    marks = text.split("\r", 1)[0][4:].split(separator, 1)[0]
    # A fifth character (truncation, v2.7) and more may follow; they are ignored.
    used = marks[:4]
    # The last ones may be missing where those before them are the usual ones.
    is_usual = len(used) > 1 and DEFAULT_MARKS.startswith(used)
    is_whole = len(used) == len(DEFAULT_MARKS) or is_usual
    full = used + DEFAULT_MARKS[len(used) :]
    # MSH-1 may be "&" if MSH-2 leaves it out.
    first = max(len(used), len(DEFAULT_MARKS) - 1)
    if not (
        is_whole
        and _MARKS.fullmatch(marks)
        and separator not in full[:first]
        and len(set(used)) == len(used)
    ):
        raise InvalidRecord(
            ReasonCode.BAD_MSH, "MSH-2: the encoding characters are invalid; send ^~\\&"
        )
    return Delimiters(separator, *full)


def _items(container: object) -> Sequence[object]:
    """Return a container's parts; a leaf is its own only part."""
    if isinstance(container, str) or not isinstance(container, Sequence):
        return (container,)
    return container
