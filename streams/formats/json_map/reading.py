"""Maps of a sender's JSON events to note events, as data.

A TOML file that mirrors schemas/note_event/v1.json: each property names its source.

    ignored = ["visit.ward", "audit"]     # known, and dropped with all that is below

    note_id = "document.id"               # a path: paths.py
    note_type = { first = ["document.loinc", "document.type"] }  # that is present
    written_at = { path = "document.at", format = "%d.%m.%Y %H:%M" }
    text = { joined = [{ heading = "History", path = "hpi" }, "plan"] }

    [patient]
    id = "patient.mrn"
    assigning_authority = { constant = "NORTH" }

    [demographics]
    birth_dates = { path = "patient.dob", format = "%m/%d/%Y" }
    phones = ["patient.home_phone", "patient.phones[].number"]   # all of them

    [[demographics.names]]                # one for each element of the lists
    family = "patient.names[].last"
    given = "patient.names[].first"

Of tables (CSV, TSV) the paths are names of columns.  Two lists say what else of a table
is written: of events nothing is.

    kept = ["note_class_concept_id"]      # numbers of concepts stay as they are
    pseudonyms = ["visit_occurrence_id"]  # identifiers that other tables have as well

Anything else in an event refuses it: a field that nobody has looked at may be a note
or an identifier.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path as File
from typing import Any

from streams.engine.errors import ConfigError

from .mapping import LISTS, OBJECTS, REQUIRED, JsonMap
from .paths import Path, written
from .sources import (
    EPOCH,
    EPOCH_MS,
    Constant,
    Convert,
    Field,
    First,
    Joined,
    Object,
    Section,
    Source,
    day_of,
    moment_of,
    stripped,
    unchanged,
)

_TOP = ("note_id", "note_type", "written_at", "text")
_DROPPED = ("ignored", "kept", "pseudonyms")
_KEYS = (*_DROPPED, *_TOP, "patient", "demographics")
_SOURCES = ("path", "first", "constant", "joined")
_CONVERT: Mapping[str, Convert] = {
    "text": unchanged,
    "written_at": moment_of,
    "demographics.birth_dates": day_of,
}
_SAMPLE = datetime(1987, 11, 23, 14, 35, 9, tzinfo=UTC)


def load_json_map(file: File) -> JsonMap:
    """Return the map in a file.

    Raises:
        ConfigError: It is unreadable or wrong; the message names file, table and key.
    """
    try:
        table = tomllib.loads(_found(file).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or "not UTF-8"
        raise ConfigError(f"json_map {file}: can't be read ({what})") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"json_map {file}: not TOML: {error}") from None
    try:
        return _Compiler().map(table)
    except _Wrong as error:
        raise ConfigError(f"json_map {file}: {error}") from None


def _found(file: File) -> Traversable:
    """Return a file, or the map of that name in this folder."""
    own = resources.files(__package__).joinpath(f"{file}.toml")
    is_name = len(file.parts) == 1 and not file.suffix and not file.exists()
    return own if is_name and own.is_file() else file.expanduser()


class _Wrong(Exception):
    """An error in a map, and where it is."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")


class _Compiler:
    """Reads the tables of a map."""

    def map(self, table: Mapping[str, Any]) -> JsonMap:
        """Return the map.

        Raises:
            _Wrong: A key is unknown or absent, or a value is wrong.
        """
        _check_keys(table, _KEYS, "the top")
        patient = _table(table.get("patient", {}), "patient")
        demographics = _table(table.get("demographics", {}), "demographics")
        _check_keys(patient, ("id", "assigning_authority"), "patient")
        _check_keys(demographics, ("sex", *LISTS, *OBJECTS), "demographics")
        given = {
            **{name: table.get(name) for name in _TOP},
            **{f"patient.{name}": each for name, each in patient.items()},
            "demographics.sex": demographics.get("sex"),
        }
        for name in REQUIRED:
            if given.get(name) is None:
                raise _Wrong(name, "missing; name the field that holds it")
        return JsonMap(
            scalars={
                name: self._scalar(each, name)
                for name, each in given.items()
                if each is not None
            },
            lists={
                name: tuple(
                    self._source(each, f"demographics.{name}")
                    for each in _several(demographics[name])
                )
                for name in LISTS
                if name in demographics
            },
            objects={
                name: tuple(
                    self._object(each, name, f"demographics.{name}[{number}]")
                    for number, each in enumerate(_several(demographics[name]))
                )
                for name in OBJECTS
                if name in demographics
            },
            **{name: _paths(table.get(name, []), name) for name in _DROPPED},
        )

    def _scalar(self, given: object, where: str) -> Source:
        if isinstance(given, list):
            raise _Wrong(where, "has one source; write { first = [...] }")
        source = self._source(given, where)
        for path in _unjoined(source):
            if path.lists:
                what = "joined = [...]" if where == "text" else "a path without []"
                raise _Wrong(where, f"{path} has several values; write {what}")
        return source

    def _source(self, given: object, where: str) -> Source:
        if isinstance(given, str):
            given = {"path": given}
        if not isinstance(given, dict):
            raise _Wrong(where, f"write a path, or one of {', '.join(_SOURCES)}")
        kinds = [each for each in _SOURCES if each in given]
        if len(kinds) != 1:
            raise _Wrong(where, f"needs one of {', '.join(_SOURCES)}")
        [kind] = kinds
        if kind == "path":
            return self._field(given, where)
        _check_keys(given, kinds, where)
        if kind == "constant":
            return Constant(_text(given[kind], f"{where}.constant"))
        sources = _array(given[kind], f"{where}.{kind}")
        if not sources:
            raise _Wrong(f"{where}.{kind}", "is empty")
        if kind == "first":
            return First(tuple(self._source(each, where) for each in sources))
        return self._joined(sources, where)

    def _joined(self, sources: Sequence[object], where: str) -> Source:
        if where != "text":
            raise _Wrong(where, "joined is for text alone")
        return Joined(
            tuple(
                self._section(each, f"text.joined[{number}]")
                for number, each in enumerate(sources)
            )
        )

    def _section(self, given: object, where: str) -> Section:
        if not isinstance(given, dict):
            return Section(self._source(given, where))
        others = {key: each for key, each in given.items() if key in _SOURCES}
        _check_keys(given, (*_SOURCES[:2], "heading", "heading_path"), where)
        heading, titles = given.get("heading"), given.get("heading_path")
        return Section(
            self._source(others, where),
            "" if heading is None else _text(heading, f"{where}.heading"),
            None if titles is None else self._source(titles, f"{where}.heading_path"),
        )

    def _field(self, given: Mapping[str, Any], where: str) -> Field:
        convert = _CONVERT.get(where.partition(".joined")[0], stripped)
        has_format = convert in (day_of, moment_of)
        _check_keys(given, ("path", "values", *["format"] * has_format), where)
        formats = tuple(
            _checked_format(_text(each, f"{where}.format"), where)
            for each in _several(given.get("format", []))
        )
        values = _table(given.get("values", {}), f"{where}.values")
        return Field(
            _path(given["path"], f"{where}.path"),
            formats,
            {key: _text(each, f"{where}.values") for key, each in values.items()},
            convert,
        )

    def _object(self, given: object, name: str, where: str) -> Object:
        table = _flat(_table(given, where))
        _check_keys(table, OBJECTS[name], where)
        sources = {k: self._source(each, f"{where}.{k}") for k, each in table.items()}
        lists = {path.lists for each in sources.values() for path in each.paths}
        longest = max(lists, key=len, default=())
        for each in lists:
            if longest[: len(each)] != each:
                both = f"{written(each)} and {written(longest)}"
                raise _Wrong(where, f"{both} are different lists; use two tables")
        if not lists:
            raise _Wrong(where, "reads no field of the event")
        return Object(sources)


def _unjoined(source: Source) -> Iterator[Path]:
    """Yield the paths whose values become values of their own."""
    if isinstance(source, First):
        for each in source.sources:
            yield from _unjoined(each)
    elif not isinstance(source, Joined):
        yield from source.paths


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table in which the keys of a name are `name.KEY`."""
    flat: dict[str, Any] = {}
    for key, each in table.items():
        is_name = key == "name" and isinstance(each, dict)
        flat |= {f"name.{k}": v for k, v in each.items()} if is_name else {key: each}
    return flat


def _check_keys(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    names = [*known]
    for key in table:
        if key not in names:
            raise _Wrong(f"{where}: {key}", f"unknown; known: {', '.join(names)}")


def _table(given: object, where: str) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise _Wrong(where, "must be a table")
    return given


def _array(given: object, where: str) -> list[Any]:
    if not isinstance(given, list):
        raise _Wrong(where, "must be an array")
    return given


def _several(given: object) -> list[Any]:
    return given if isinstance(given, list) else [given]


def _text(given: object, where: str) -> str:
    if not isinstance(given, str) or not given:
        raise _Wrong(where, "must be a text")
    return given


def _paths(given: object, where: str) -> tuple[Path, ...]:
    return tuple(
        _path(each, f"{where}[{number}]")
        for number, each in enumerate(_array(given, where))
    )


def _path(given: object, where: str) -> Path:
    try:
        return Path.parse(_text(given, where))
    except ValueError as error:
        raise _Wrong(where, str(error)) from None


def _checked_format(text: str, where: str) -> str:
    """Return a format of dates or times.

    A year of two digits is refused: the century of a birth date would be a guess.
    """
    if text in (EPOCH, EPOCH_MS):
        return text
    shown, parsed = _SAMPLE.strftime(text), None
    # Python 3.14 warns of a day without a year, which is refused anyway.
    if str(_SAMPLE.year) in shown:
        with suppress(ValueError):
            parsed = datetime.strptime(shown, text)
    if parsed is None or parsed.date() != _SAMPLE.date() or "%y" in text:
        raise _Wrong(
            f"{where}.format",
            f"must have day, month and year of four digits, e.g. %d.%m.%Y; or {EPOCH}, "
            f"{EPOCH_MS}",
        )
    return text
