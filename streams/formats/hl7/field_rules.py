"""Rules for every field of every segment, read from `rules/`.

A field without a rule is removed.  Its rule names what happens to its value, its data
types by version say which of its components hold a value, a code, a date.

    [PID]
    5 = ["patient", "PN", "2.3 XPN"] # patient name

Its words are those of `streams.formats.values`, and these:

    plain-code           a code without a system, e.g. one of an HL7 table
    oid, sign, title     kept if it is one
    name LABEL           a person's name; a pseudonym if it holds a digit
    facility             an institution's name; a pseudonym where notes show a tag
    country              a country, unless notes show a tag
    phone-part           of a number in several components
    range                kept if it is a range of numbers, else a term
    observation          part of a note; by the type in OBX-2
    delimiters, charset  MSH-1, MSH-2 and MSH-18

In a data type, `value` stands for the field's rule.

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

from streams.engine.errors import ConfigError
from streams.formats.values import Rule, Verb, Vocabulary

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
_MORE = "..."


class Word(StrEnum):
    """The words of rules that only HL7 has."""

    PLAIN_CODE = "plain-code"
    OID = "oid"
    SIGN = "sign"
    TITLE = "title"
    NAME = "name"
    FACILITY = "facility"
    COUNTRY = "country"
    PHONE_PART = "phone-part"
    RANGE = "range"
    OBSERVATION = "observation"
    CHARSET = "charset"
    DELIMITERS = "delimiters"


VOCABULARY = Vocabulary(
    (
        *(Verb.REMOVE, Verb.TYPE, Verb.NUMBER, Verb.DATE, Verb.CODE, Verb.SYSTEM),
        *(Verb.MEANING, Verb.TERM, Verb.SCRUB, Verb.NARRATIVE, Verb.TELECOM),
        *(Verb.REPLACE, Verb.IDENTIFIER, Verb.PSEUDONYM),
        *Word,
    ),
    incomplete=(Verb.REPLACE, Verb.IDENTIFIER, Verb.PSEUDONYM, Word.NAME),
)


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
    components: tuple[tuple[Rule, ...], ...] = ()
    is_list: bool = False
    whole: Rule | None = None
    has_texts: bool = field(init=False)
    has_codes: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "has_texts", self.holds(TEXTS))
        object.__setattr__(self, "has_codes", self.holds(CODES))

    def holds(self, verbs: Collection[StrEnum]) -> bool:
        """Return whether any of its rules is one of these."""
        whole = () if self.whole is None else (self.whole,)
        leaves = chain(whole, chain.from_iterable(self.components))
        return any(each.verb in verbs for each in leaves)


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


TEXTS = (Verb.SCRUB, Verb.TERM, Verb.MEANING, Word.RANGE)
"""Values that are free text."""
CODES = (Word.PLAIN_CODE, Verb.CODE)
"""Values that are free text if they are words."""
_PLACES = {
    Word.DELIMITERS: [f"{name}-{n}" for name in ("MSH", "BHS", "FHS") for n in (1, 2)],
    Word.CHARSET: ["MSH-18"],
    Verb.NARRATIVE: ["NTE-3"],
    Word.OBSERVATION: ["OBX-5"],
}
"""Rules that have a meaning in these fields only."""
_WHOLE = (*TEXTS, Word.DELIMITERS, Verb.NARRATIVE, Word.OBSERVATION)
_REMOVE = Rule(Verb.REMOVE)
_STRINGS = ("ST", "TX", "FT")
_PRIMITIVES = (*_STRINGS, "ID", "IS", "SI", "NM", "SNM", "DT", "DTM", "TM", "TN")
_OBSERVATIONS = {
    **dict.fromkeys(("XPN", "PN"), "name PATIENT"),
    **dict.fromkeys(("XCN", "CN", "PPN", "NDL"), "name DOCTOR"),
    **dict.fromkeys(("XON",), "replace ORGANIZATION"),
    **dict.fromkeys(("CX", "CK"), "identifier IDNUM"),
    **dict.fromkeys(("EI", "EIP"), "pseudonym order"),
    **dict.fromkeys(("DLN",), "identifier LICENSE"),
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
        rule = _OBSERVATIONS.get(type_, "type")
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
    stated = VOCABULARY.rule(rule, f"HL7 rules: {place}")
    is_typed = stated.verb is Verb.TYPE
    value = Rule(Word.PLAIN_CODE) if is_typed else stated
    if place not in _PLACES.get(value.verb, [place]):
        raise ConfigError(
            f"HL7 rules: {place}: {rule!r} is for {', '.join(_PLACES[value.verb])}"
        )
    if value.verb is Word.FACILITY and type_ == "HD":
        type_ = "FACILITY"
    is_text = value.verb in _WHOLE
    if is_text and (type_ in _STRINGS or type_ == "varies"):
        return FieldRule(place, whole=value)
    if type_ in _PRIMITIVES and not is_typed and not is_text:
        return FieldRule(place, ((value,),))
    # Senders write the name and the system of a code also where it should stand alone.
    is_code = type_ in ("ID", "IS") and (is_text or is_typed)
    listed = (Word.PLAIN_CODE, *types["CWE"][1:]) if is_code else types[type_]
    components = tuple(
        _component(place, each, value, types) for each in listed if each != _MORE
    )
    if value == _REMOVE:
        components = ((_REMOVE,),)
    elif not is_typed and not is_text and not _holds(components, value):
        # A code, say, in place of the name that an earlier version had.
        components = ((value,),)
    return FieldRule(place, components, is_list=_MORE in listed)


def _holds(components: Sequence[Sequence[Rule]], value: Rule) -> bool:
    return any(value in each for each in components)


def _component(place: str, each: str, value: Rule, types: _Types) -> tuple[Rule, ...]:
    """Return the rules of the subcomponents of a component."""
    if each == "value":
        return (value,)
    if each not in types:
        return (VOCABULARY.rule(each, f"HL7 rules: {place}"),)
    # What is a composite within a subcomponent can only hold its first value.
    return tuple(_component(place, part, value, types)[0] for part in types[each])


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
    systems = {
        name: re.compile(form, re.ASCII)
        for form, names in table["systems"].items()
        for name in names
    }
    return Codes(
        systems=systems,
        public=frozenset((*systems, *public, *identifying)),
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
