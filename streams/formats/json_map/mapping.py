"""A map of a sender's JSON events to note events, and how it is applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import Any

from deid_core.document import Address
from schemas import SchemaError
from streams.formats.hl7.datatypes import parted
from streams.kafka.topics import HL7_RAW
from streams.model.patients.demographics import Identifier, Name

from .paths import KnownPaths, Path, written
from .sources import Object, Source, leaves, nested, refused

MAX_NAMED = 8
"""Unknown fields that a refusal names."""

_NAME = tuple(each.name for each in fields(Name))
FULL = "full"
"""The key of a name that one field holds: `Quellwright, Mabelle`."""
OBJECTS: Mapping[str, tuple[str, ...]] = {
    "names": (*_NAME, FULL),
    "providers": (*_NAME, FULL),
    "addresses": tuple(each.name for each in fields(Address)),
    "ids": tuple(each.name for each in fields(Identifier)),
    "kin": ("relationship", *(f"name.{each}" for each in (*_NAME, FULL))),
}
"""The lists of objects in demographics, and the properties of their elements."""
LISTS = ("birth_dates", "phones", "emails", "facilities", "employers")
"""The lists of texts in demographics."""
REQUIRED = ("note_id", "text", "patient.id")


@dataclass(frozen=True, slots=True)
class JsonMap:
    """The map by which a sender's events become note events.

    Args:
        scalars: By property.
        lists: By property of demographics, one of `LISTS`.
        objects: By property of demographics, one of `OBJECTS`.
        ignored: The fields that are dropped.
        kept: Columns of tables with numbers of concepts, which stay; like the next ones
            dropped where events are not written back.
        pseudonyms: Columns of tables with identifiers, which become pseudonyms.
    """

    scalars: Mapping[str, Source]
    lists: Mapping[str, tuple[Source, ...]]
    objects: Mapping[str, tuple[Object, ...]]
    ignored: tuple[Path, ...]
    kept: tuple[Path, ...] = ()
    pseudonyms: tuple[Path, ...] = ()
    known: KnownPaths = field(init=False, repr=False)

    def __post_init__(self) -> None:
        mapped = [path for path, _ in self.targets()]
        dropped = (*self.ignored, *self.kept, *self.pseudonyms)
        object.__setattr__(self, "known", KnownPaths(mapped, dropped))

    @property
    def columns(self) -> frozenset[str]:
        """The names of the fields that are in no other one: those of a table."""
        dropped = (*self.ignored, *self.kept, *self.pseudonyms)
        paths = (*(path for path, _ in self.targets()), *dropped)
        return frozenset(str(path.steps[0]) for path in paths if len(path.steps) == 1)

    def columns_of(self, name: str) -> Iterator[str]:
        """Yield the columns that a property of a note event is made from."""
        for path in self.scalars[name].paths if name in self.scalars else ():
            yield str(path.steps[0])

    def targets(self) -> Iterator[tuple[Path, str]]:
        """Yield the path of each field that is read, and the property it becomes."""
        for name, source in self.scalars.items():
            yield from ((path, name) for path in source.paths)
        for name, sources in self.lists.items():
            for source in sources:
                yield from ((path, f"demographics.{name}") for path in source.paths)
        for name, objects in self.objects.items():
            for each in objects:
                for key, source in each.sources.items():
                    property_ = f"demographics.{name}.{key}"
                    yield from ((path, property_) for path in source.paths)

    def days(self, event: Mapping[str, Any]) -> dict[str, str]:
        """Return the time in each column that `written_at` is made from."""
        sources = (
            leaves(self.scalars["written_at"]) if "written_at" in self.scalars else ()
        )
        return {
            str(source.path): time
            for source in sources
            for _, time in source.found(event)
        }

    def event_of(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an event as a note event; one that is a note event is returned as is.

        Raises:
            InvalidRecord: A field is neither mapped nor ignored, or what is mapped is
                no note event; the reason names fields of the map, and no value.
        """
        try:
            HL7_RAW.schema.check(event)
        except SchemaError:
            return self._mapped(event)
        return event

    def _mapped(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        self._refuse_unknown(event)
        found: dict[str, Any] = nested(
            (name, value)
            for name, source in self.scalars.items()
            for _, value in source.found(event)
        )
        for name in REQUIRED:
            if not _at(found, name):
                raise refused(f"{name}: empty or absent; the event must have it")
        found["patient"].setdefault("assigning_authority", "")
        demographics = found.pop("demographics", {}) | self._demographics(event)
        if demographics:
            found["demographics"] = demographics
        try:
            HL7_RAW.schema.check(found)
        except SchemaError as error:
            raise refused(f"{error.path}: {error.expected}") from None
        return found

    def _demographics(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Return the lists of the patient's demographics that are not empty."""
        lists: dict[str, list[Any]] = {
            name: list(
                dict.fromkeys(v for each in sources for _, v in each.found(event))
            )
            for name, sources in self.lists.items()
        }
        for name, objects in self.objects.items():
            lists[name] = [_completed(o) for each in objects for o in each.found(event)]
        # An identifier without a value identifies nobody.
        lists["ids"] = [each for each in lists.get("ids", ()) if "value" in each]
        return {name: values for name, values in lists.items() if values}

    def _refuse_unknown(self, event: Mapping[str, Any]) -> None:
        named: dict[str, None] = {}
        others = 0
        # An event of a million unknown fields needs no full count.
        for each in islice(self.known.unknown(event), 1000):
            if each.is_nameable:
                named[written(each.steps)] = None
            else:
                others += 1
        if not named and not others:
            return
        listed = [*named][:MAX_NAMED]
        others += len(named) - len(listed)
        what = ", ".join([*listed, *([f"{others} more fields"] if others else [])])
        raise refused(
            f"{what}: not in the map with this type; map it, or list it in ignored "
            "(phistream map --check)"
        )


def _completed(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object of demographics in which full names are parted."""
    if isinstance(value.get("name"), dict):
        return value | {"name": _completed(value["name"])}
    if FULL not in value:
        return value
    names = zip(("family", "given", "middle"), parted(value[FULL], "", ""), strict=True)
    rest = {key: each for key, each in value.items() if key != FULL}
    return {key: each for key, each in names if each} | rest


def _at(event: Mapping[str, Any], name: str) -> object:
    value: Any = event
    for each in name.split("."):
        value = value.get(each, {})
    return value
