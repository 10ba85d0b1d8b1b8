"""The sources of a map, from which the properties of a note event are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.hl7.datatypes import birth_date_of

from .paths import Index, Path

EPOCH, EPOCH_MS = "epoch", "epoch_ms"
"""Formats of numbers: seconds or milliseconds since 1970."""

Found = tuple[Index, str]
Convert = Callable[[str, Sequence[str]], str | None]


class Source(Protocol):
    """A source from which a property of a note event is made."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The fields that it reads."""
        ...

    def found(self, event: object) -> list[Found]:
        """Return its values that are not empty, with their places in lists.

        Raises:
            InvalidRecord: One is of another type or format.
        """
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """The same text for all events."""

    value: str

    @property
    def paths(self) -> tuple[Path, ...]:
        """None."""
        return ()

    def found(self, _event: object) -> list[Found]:
        """Return the text."""
        return [((), self.value)]


@dataclass(frozen=True, slots=True)
class Field:
    """The fields at a path.

    Args:
        path: Where.
        formats: Of a date or time; one that fits is enough.
        values: What is written instead of some values.
        convert: Returns a value in a note event's form, None if the formats don't fit.
    """

    path: Path
    formats: tuple[str, ...]
    values: Mapping[str, str]
    convert: Convert

    @property
    def paths(self) -> tuple[Path, ...]:
        """The path."""
        return (self.path,)

    def found(self, event: object) -> list[Found]:
        """Return the values at the path that are not empty."""
        found = []
        for index, value in self.path.values(event):
            if value in (None, [], {}) or (
                isinstance(value, str) and not value.strip()
            ):
                continue
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise refused(f"{self.path}: must be a text or a number")
            given = self.values.get(str(value), str(value))
            text = self.convert(given, self.formats)
            if text is None:
                expected = " or ".join(self.formats) or "ISO 8601"
                raise refused(f"{self.path}: a date or time must be {expected}")
            found.append((index, text))
        return found


@dataclass(frozen=True, slots=True)
class First:
    """For each element of a list, or once: the first source that is present."""

    sources: tuple[Source, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Those of all sources."""
        return tuple(path for each in self.sources for path in each.paths)

    def found(self, event: object) -> list[Found]:
        """Return the values, in the order of the lists."""
        found: dict[Index, str] = {}
        for source in self.sources:
            before = tuple(found)
            for index, value in source.found(event):
                if not any(_is_within(index, each) for each in before):
                    found[index] = value
        return sorted(found.items())


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a text.

    Args:
        source: Of the text.
        heading: Of each text, or empty.
        titles: Where the headings are.
    """

    source: Source
    heading: str = ""
    titles: Source | None = None

    def texts(self, event: object) -> Iterator[str]:
        """Yield its texts, each below its heading."""
        titles = dict(self.titles.found(event)) if self.titles else {}
        for index, text in self.source.found(event):
            heading = titles.get(index) or self.heading
            yield f"{heading}\n{text}" if heading else text


@dataclass(frozen=True, slots=True)
class Joined:
    """Several texts as one, with a blank line between them."""

    sections: tuple[Section, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Those of all sections."""
        return tuple(
            path
            for each in self.sections
            for source in (each.source, each.titles)
            if source is not None
            for path in source.paths
        )

    def found(self, event: object) -> list[Found]:
        """Return the text, unless all of it is absent."""
        texts = [text for each in self.sections for text in each.texts(event)]
        return [((), "\n\n".join(texts))] if texts else []


@dataclass(frozen=True, slots=True)
class Object:
    """A table that describes objects: one for each element of the lists it reads."""

    sources: Mapping[str, Source]

    def found(self, event: object) -> list[dict[str, Any]]:
        """Return the objects that hold anything of the event."""
        read = {key: each.found(event) for key, each in self.sources.items()}
        indexes = {
            index
            for key, found in read.items()
            if self.sources[key].paths
            for index, _ in found
        }
        # An element is complete at its innermost list.
        places = [
            each
            for each in sorted(indexes)
            if not any(each != other and _begins(other, each) for other in indexes)
        ]
        return [
            nested(
                (key, value)
                for key, found in read.items()
                for index, value in found
                if _begins(place, index)
            )
            for place in places
        ]


def leaves(source: Source) -> Iterator[Field]:
    """Yield the fields of a source, each by itself."""
    if isinstance(source, Field):
        yield source
    elif isinstance(source, First):
        for each in source.sources:
            yield from leaves(each)


def time_in(text: str, format: str) -> datetime | None:
    """Return the time that a text says in a format, or None."""
    try:
        if format in (EPOCH, EPOCH_MS):
            seconds = float(text) / (1000 if format == EPOCH_MS else 1)
            return datetime.fromtimestamp(seconds, UTC)
        return datetime.strptime(text, format)
    except (ValueError, OverflowError, OSError):
        return None


def unchanged(text: str, _formats: Sequence[str]) -> str:
    """Return a text as it is."""
    return text


def stripped(text: str, _formats: Sequence[str]) -> str:
    """Return a text without white space around it."""
    return text.strip()


def day_of(text: str, formats: Sequence[str]) -> str | None:
    """Return a day (YYYY-MM-DD), or None if it is none that can be read."""
    if not formats:
        return birth_date_of(text.strip()) or None
    for each in formats:
        if found := time_in(text.strip(), each):
            return birth_date_of(found.date().isoformat()) or None
    return None


def moment_of(text: str, formats: Sequence[str]) -> str | None:
    """Return a time in ISO 8601, or None if it is none that can be read."""
    if not formats:
        try:
            return datetime.fromisoformat(text.strip()).isoformat(timespec="seconds")
        except ValueError:
            return None
    for each in formats:
        if found := time_in(text.strip(), each):
            return found.isoformat(timespec="seconds")
    return None


def _is_within(index: Index, other: Index) -> bool:
    return _begins(index, other) or _begins(other, index)


def _begins(index: Index, start: Index) -> bool:
    return index[: len(start)] == start


def nested(values: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return values by dotted names as objects; the first of several is kept."""
    found: dict[str, Any] = {}
    for name, value in values:
        *tables, key = name.split(".")
        at = found
        for each in tables:
            at = at.setdefault(each, {})
        at.setdefault(key, value)
    return found


def refused(problem: str) -> InvalidRecord:
    """Return the refusal of an event."""
    return InvalidRecord(ReasonCode.SCHEMA, f"json_map: {problem}")
