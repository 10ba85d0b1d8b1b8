"""Rules for every field of every segment, read from `rules/`.

A field without a rule is removed.  Its rule names what happens to its value, its data
types by version say which of its components hold a value, a code, a date.

    [PID]
    5 = ["patient", "PN", "2.3 XPN"] # patient name

Rules of a field or a component:

    keep, address, phone, place, shift   what the data type's components say
    remove                               nothing is written
    patient, doctor                      a person's name, as the notes show it
    id LABEL                             what the notes show; a pseudonym where a tag
    replace LABEL                        what the notes show
    facility                             an institution's name, likewise
    pseudonym KIND                       a pseudonym of the value
    scrub                                a text that is scrubbed on its own
    term                                 a short text, scrubbed with the others
    range                                kept if it is a range of numbers, else a term
    narrative, observation               part of a note; by the type in OBX-2
    delimiters, charset                  MSH-1, MSH-2 and MSH-18

Rules of components only: code, coded, system, oid, number, sign, date, title, phone,
phone part, country, authority; `value` stands for the field's rule.

Versions: a message of an unknown version is read as one of the nearest lower version; a
field that its version does not have yet, as in the first version that has it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

from deid_core import Label
from streams.engine.errors import ConfigError

FOLDER = files(__package__) / "rules"
FIELD_FILES = (
    *("control", "patient", "visit", "finance", "orders", "pharmacy", "scheduling"),
)
VERSIONS = (
    *("2.1", "2.2", "2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6", "2.7", "2.7.1"),
    *("2.8", "2.8.1", "2.8.2"),
)
USUAL_VERSION = "2.5.1"
"""Of a message that does not name its version."""

Version = tuple[int, ...]
Table = Mapping[str, Mapping[str, Sequence[str]]]
"""Segment to field number to rule and data types, as in the files."""

_VERSION = re.compile(r"2(?:\.\d{1,2}){1,2}", re.ASCII)
_SEGMENT = re.compile(r"[A-Z][A-Z0-9]{2}")
_NUMBER = re.compile(r"[1-9]\d{0,2}", re.ASCII)
_KIND = re.compile(r"[a-z]+")
_MORE = "..."


class Action(StrEnum):
    """The treatment of a value."""

    REMOVE = "remove"
    CODE = "code"
    CODED = "coded"
    SYSTEM = "system"
    OID = "oid"
    NUMBER = "number"
    SIGN = "sign"
    DATE = "date"
    TITLE = "title"
    NAME = "name"
    ID = "id"
    REPLACE = "replace"
    FACILITY = "facility"
    COUNTRY = "country"
    PHONE = "phone"
    PHONE_PART = "phone part"
    PSEUDONYM = "pseudonym"
    SCRUB = "scrub"
    TERM = "term"
    RANGE = "range"
    NARRATIVE = "narrative"
    OBSERVATION = "observation"
    CHARSET = "charset"
    DELIMITERS = "delimiters"


@dataclass(frozen=True, slots=True)
class Leaf:
    """The rule of a value: a component, a subcomponent, or a whole field.

    Args:
        action: What is done with it.
        label: What it is, where the policy decides.
        kind: Of its pseudonym.
    """

    action: Action
    label: Label | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class FieldRule:
    """The rule of a field in one version.

    Args:
        place: As counts name it: `PID-5`.
        components: The rules of the subcomponents of each component.
        is_list: The last component may occur any number of times.
        whole: The rule of a text, in which no component is separated.
        has_texts: Whether any of its values is free text.
        has_codes: Whether any of its values is a code, which may be a word.
    """

    place: str
    components: tuple[tuple[Leaf, ...], ...] = ()
    is_list: bool = False
    whole: Leaf | None = None
    has_texts: bool = field(init=False)
    has_codes: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "has_texts", self.holds(TEXTS))
        object.__setattr__(self, "has_codes", self.holds(CODES))

    def holds(self, actions: Collection[Action]) -> bool:
        """Return whether any of its rules is one of these."""
        whole = () if self.whole is None else (self.whole,)
        leaves = chain(whole, chain.from_iterable(self.components))
        return any(each.action in actions for each in leaves)


@dataclass(frozen=True, slots=True)
class Codes:
    """The forms of codes and of their names; see `rules/codes.toml`."""

    systems: Mapping[str, re.Pattern[str]]
    public: frozenset[str]
    identifying: frozenset[str]
    titles: frozenset[str]
    ages: frozenset[str]
    oids: tuple[str, ...]
    names: frozenset[str]


TEXTS = (Action.SCRUB, Action.TERM, Action.RANGE)
"""Values that are free text."""
CODES = (Action.CODE, Action.CODED)
"""Values that are free text if they are words."""
_PLACES = {
    Action.DELIMITERS: [
        f"{name}-{n}" for name in ("MSH", "BHS", "FHS") for n in (1, 2)
    ],
    Action.CHARSET: ["MSH-18"],
    Action.NARRATIVE: ["NTE-3"],
    Action.OBSERVATION: ["OBX-5"],
}
"""Rules that have a meaning in these fields only."""
_WHOLE = (*TEXTS, Action.DELIMITERS, Action.NARRATIVE, Action.OBSERVATION)
_BY_TYPE = ("keep", "address", "phone", "place", "shift")
_REMOVE = Leaf(Action.REMOVE)
_PLAIN = {each.value: Leaf(each) for each in Action} | {
    "patient": Leaf(Action.NAME, Label.PATIENT, "person"),
    "doctor": Leaf(Action.NAME, Label.DOCTOR, "provider"),
    "facility": Leaf(Action.FACILITY, Label.HOSPITAL, "authority"),
    "authority": Leaf(Action.PSEUDONYM, kind="authority"),
    "phone": Leaf(Action.PHONE, Label.PHONE),
    "country": Leaf(Action.COUNTRY, Label.COUNTRY),
}
_NOT_ALONE = ("name", "id", "replace", "pseudonym")
"""Actions that need a label or a kind."""
_STRINGS = ("ST", "TX", "FT")
_PRIMITIVES = (*_STRINGS, "ID", "IS", "SI", "NM", "SNM", "DT", "DTM", "TM", "TN")
_OBSERVATIONS = {
    **dict.fromkeys(("XPN", "PN"), "patient"),
    **dict.fromkeys(("XCN", "CN", "PPN", "NDL"), "doctor"),
    **dict.fromkeys(("XON",), "replace ORGANIZATION"),
    **dict.fromkeys(("CX", "CK"), "id IDNUM"),
    **dict.fromkeys(("EI", "EIP"), "pseudonym order"),
    **dict.fromkeys(("DLN",), "id LICENSE"),
}
"""Rules of OBX-5 by OBX-2; of other types, what the components say."""
_UNTYPED = ("HD", "RP", "ED")


class Rules:
    """The rules of all segments.

    Args:
        added: Rules of the site, of its own segments (Z..) above all; they come before
            those of the standard.

    Raises:
        ConfigError: A rule, a data type or a label is unknown; the message lists the
            known ones.
    """

    def __init__(self, added: Table | None = None) -> None:
        self._types = _types()
        standard = _standard()
        self._fields = {
            name: _read(name, table, self._types)
            for name, table in (standard | _merged(standard, added or {})).items()
        }
        self._by_version: dict[Version, Mapping[str, Mapping[int, FieldRule]]] = {}
        self._observations: dict[str, FieldRule | None] = {}
        self.codes = _codes()
        self.removed = frozenset(_load("removed")["segments"])
        self._versions = [*map(_numbers, VERSIONS)]
        for version in self._versions:
            self._at(version)
        for each in self._types:
            self._observations[each] = self._observation(each)

    @classmethod
    def with_file(cls, path: Path) -> Rules:
        """Return the rules with those of a site's TOML file.

        Raises:
            ConfigError: It can't be read, or a rule is unknown.
        """
        try:
            return cls(tomllib.loads(path.read_text("utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(
                f"{path}: {type(error).__name__}; give a TOML file of HL7 rules"
            ) from None

    def of(self, version: str) -> Mapping[str, Mapping[int, FieldRule]]:
        """Return the rules of a version (MSH-12), by segment and field."""
        found = _VERSION.match(version.strip())
        numbers = _numbers(found[0] if found else USUAL_VERSION)
        lower = [each for each in self._versions if each <= numbers]
        return self._by_version[lower[-1] if lower else self._versions[0]]

    def observation(self, type_: str) -> FieldRule | None:
        """Return the rule of a value in OBX-5 of the type in OBX-2, if it has one."""
        return self._observations.get(type_)

    def is_known(self, segment: str) -> bool:
        """Return whether the standard, or a rule of the site, knows a segment."""
        return segment in self._fields or segment in self.removed

    def _at(self, version: Version) -> None:
        self._by_version[version] = {
            name: {
                number: _in_version(types, version) for number, types in numbers.items()
            }
            for name, numbers in self._fields.items()
        }

    def _observation(self, type_: str) -> FieldRule | None:
        if type_ in (*_UNTYPED, *_STRINGS, "WD", "TM"):
            return None
        rule = _OBSERVATIONS.get(type_, "keep")
        return _compiled("OBX-5", rule, type_, self._types)


_Types = Mapping[str, Sequence[str]]
_Versions = tuple[tuple[Version, FieldRule], ...]


def _read(
    segment: str, table: Mapping[str, Sequence[str]], types: _Types
) -> dict[int, _Versions]:
    """Return each field's rules, by the version from which they hold."""
    if not _SEGMENT.fullmatch(segment) or not isinstance(table, Mapping):
        raise ConfigError(f"HL7 rules: {segment!r} must be a segment and a table")
    found: dict[int, _Versions] = {}
    for number, entry in table.items():
        place = f"{segment}-{number}"
        if not _NUMBER.fullmatch(number) or not _is_list_of_strings(entry):
            raise ConfigError(f"HL7 rules: {place} must be [rule, type, ...]")
        rule, *of_types = entry
        found[int(number)] = tuple(
            _of_type(place, rule, each, types) for each in of_types
        ) or ((_numbers(VERSIONS[0]), _compiled(place, rule, "ST", types)),)
    return found


def _of_type(
    place: str, rule: str, entry: str, types: _Types
) -> tuple[Version, FieldRule]:
    version, _, type_ = entry.rpartition(" ")
    if version and version not in VERSIONS:
        raise ConfigError(
            f"HL7 rules: {place}: {version!r} is no version; known: "
            + ", ".join(VERSIONS)
        )
    since = _numbers(version or VERSIONS[0])
    return since, _compiled(place, rule, type_, types)


def _compiled(place: str, rule: str, type_: str, types: _Types) -> FieldRule:
    if type_ not in types and type_ != "varies":
        raise ConfigError(
            f"HL7 rules: {place}: the data type {type_!r} is unknown; known: "
            + ", ".join(sorted(types))
        )
    value = Leaf(Action.CODE) if rule in _BY_TYPE else _leaf(place, rule)
    if place not in _PLACES.get(value.action, [place]):
        raise ConfigError(
            f"HL7 rules: {place}: {rule!r} is for {', '.join(_PLACES[value.action])}"
        )
    if value.action is Action.FACILITY and type_ == "HD":
        type_ = "FACILITY"
    is_text = value.action in _WHOLE
    if is_text and (type_ in _STRINGS or type_ == "varies"):
        return FieldRule(place, whole=value)
    if type_ in _PRIMITIVES and rule not in _BY_TYPE and not is_text:
        return FieldRule(place, ((value,),))
    # Senders write the name and the system of a code also where it should stand alone.
    is_code = type_ in ("ID", "IS") and (is_text or rule in _BY_TYPE)
    listed = ("code", *types["CWE"][1:]) if is_code else types[type_]
    components = tuple(
        _component(place, each, value, types) for each in listed if each != _MORE
    )
    if value is _REMOVE:
        components = ((_REMOVE,),)
    elif rule not in _BY_TYPE and not is_text and not _holds(components, value):
        # A code, say, in place of the name that an earlier version had.
        components = ((value,),)
    return FieldRule(place, components, is_list=_MORE in listed)


def _holds(components: Sequence[Sequence[Leaf]], value: Leaf) -> bool:
    return any(value in each for each in components)


def _component(place: str, each: str, value: Leaf, types: _Types) -> tuple[Leaf, ...]:
    """Return the rules of the subcomponents of a component."""
    if each == "value":
        return (value,)
    if each not in types:
        return (_leaf(place, each),)
    # What is a composite within a subcomponent can only hold its first value.
    return tuple(_component(place, part, value, types)[0] for part in types[each])


def _leaf(place: str, rule: str) -> Leaf:
    found = _leaf_of(rule)
    if found is None:
        known = sorted({*_PLAIN, *_BY_TYPE} - {*_NOT_ALONE})
        raise ConfigError(
            f"HL7 rules: {place}: {rule!r} is unknown; known: {', '.join(known)}, "
            "pseudonym KIND, id LABEL, replace LABEL; labels: "
            + ", ".join(Label.__members__)
        )
    return found


@cache
def _leaf_of(rule: str) -> Leaf | None:
    verb, _, argument = rule.partition(" ")
    if verb in ("id", "replace") and argument in Label.__members__:
        return Leaf(Action(verb), Label[argument], argument.lower())
    if verb == "pseudonym" and _KIND.fullmatch(argument):
        return Leaf(Action.PSEUDONYM, kind=argument)
    if rule == "remove":
        return _REMOVE
    return None if rule in _NOT_ALONE else _PLAIN.get(rule)


def _in_version(rules: _Versions, version: Version) -> FieldRule:
    found = rules[0][1]
    for since, rule in rules:
        if since <= version:
            found = rule
    return found


def _numbers(version: str) -> Version:
    return tuple(map(int, version.split(".")))


@cache
def _types() -> _Types:
    table = _load("types")
    return {
        name: tuple(table[each] if isinstance(each, str) else each)
        for name, each in table.items()
    }


def _standard() -> dict[str, Mapping[str, Sequence[str]]]:
    found: dict[str, Mapping[str, Sequence[str]]] = {}
    for each in FIELD_FILES:
        found |= _load(each)
    return found


def _merged(standard: Table, added: Table) -> dict[str, Mapping[str, Sequence[str]]]:
    for name, table in added.items():
        if not isinstance(table, Mapping):
            raise ConfigError(f"HL7 rules: {name!r} must be a segment and a table")
    return {name: {**standard.get(name, {}), **table} for name, table in added.items()}


def _codes() -> Codes:
    table = _load("codes")
    public, identifying = (table[each]["systems"] for each in ("public", "identifying"))
    return Codes(
        systems={
            name: re.compile(form, re.ASCII) for name, form in table["systems"].items()
        },
        public=frozenset((*table["systems"], *public, *identifying)),
        identifying=frozenset(identifying),
        titles=frozenset(table["titles"]["words"]),
        ages=frozenset(table["ages"]["codes"]),
        oids=tuple(table["oids"]["roots"]),
        names=frozenset(chain.from_iterable(table["names"].values())),
    )


def _load(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))


def _is_list_of_strings(entry: object) -> bool:
    return (
        isinstance(entry, Sequence)
        and not isinstance(entry, str)
        and bool(entry)
        and all(isinstance(each, str) for each in entry)
    )
