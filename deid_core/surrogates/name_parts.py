"""The words of a written name: titles, particles, initials, given and family names.

A family name is the last word, or comes before a comma: "Jane Ann Smith", "SMITH, JANE
ANN", "Smith^Jane".  The record and the lists of names have precedence; the position
decides where they are silent or ambiguous.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import pairwise

from deid_core.fiction.gender import Gender
from deid_core.fiction.name_pools import Role, name_pools
from deid_core.language import fragments
from deid_core.language.lexicons import load_list

from .people import NAME_WORD, RecordPeople, gender_of_title
from .real import without_separators

_MOST_INITIALS = 3
_PARTICLES = frozenset(
    fragments.words(
        "al bin da de del della den der di dos du el ibn la las le los van von y zu"
    )
)
# Words between names that were merged into one annotation.
_BETWEEN = frozenset(fragments.words("and at by for from in of or the to with"))
_PIECES = re.compile(rf"({NAME_WORD.pattern})")
_INSIDE_A_NAME = re.compile(r"[\s,^.\u2010-\u2015-]*")
_HYPHENS = "-\u2010\u2011"
_TITLE_BEFORE = re.compile(
    r"(?:^|(?<=[^A-Za-z]))(mr|mrs|ms|mx|miss|dr|doctor|prof|professor|sr|sra|senor"
    r"|senora)\.?[ ]{1,2}\Z",
    re.IGNORECASE,
)


class WordKind(Enum):
    """The kind of a word of a written name."""

    TITLE = auto()
    BETWEEN = auto()
    PARTICLE = auto()
    INITIALS = auto()
    NAME = auto()


@dataclass(frozen=True, slots=True)
class NameWord:
    """One word of a written name.

    Args:
        word: As it is written.
        compared: In compared form.
        kind: Its kind.
        role: By its position; None if that allows both.
    """

    word: str = field(repr=False)
    compared: str = field(repr=False)
    kind: WordKind
    role: Role | None = None


def pieces_of(text: str) -> list[str]:
    """Return a name's words, every second piece, and the text between them."""
    return _PIECES.split(text)


def parts_of(pieces: Sequence[str], people: RecordPeople) -> list[NameWord]:
    """Return the words with their kinds and roles.

    Args:
        pieces: As `pieces_of` returns them.
        people: A title that is also a name of the record counts as the name.
    """
    words = pieces[1::2]
    parts = [
        NameWord(word, compared, _kind(word, compared, at, len(words), people))
        for at, (word, compared) in enumerate(
            zip(words, map(without_separators, words), strict=True)
        )
    ]
    for at, role in _roles(parts, pieces):
        parts[at] = replace(parts[at], role=role)
    return parts


def roles_shown(
    texts: Iterable[tuple[str, str]], people: RecordPeople
) -> Mapping[str, Role]:
    """Return the words that have the same role wherever a note shows one.

    Args:
        texts: Names of the note, each with the text before it.
        people: Of the record.
    """
    shown: defaultdict[str, set[Role]] = defaultdict(set)
    for before, text in texts:
        parts = [
            p for p in parts_of(pieces_of(text), people) if p.kind is WordKind.NAME
        ]
        for part in parts:
            if part.role is not None:
                shown[part.compared].add(part.role)
        if len(parts) == 1 and parts[0].role is None and _TITLE_BEFORE.search(before):
            shown[parts[0].compared].add(Role.FAMILY)
    return {word: next(iter(roles)) for word, roles in shown.items() if len(roles) == 1}


def genders_shown(
    texts: Iterable[tuple[str, str]], people: RecordPeople
) -> Mapping[str, Gender]:
    """Return the given names behind titles of one gender: "Mr. Ashley Jones".

    Names of the record are left out: it decides itself, for fields as well.

    Args:
        texts: Names of the note, each with the text before it.
        people: Of the record.
    """
    shown: defaultdict[str, set[Gender]] = defaultdict(set)
    for before, text in texts:
        title = _TITLE_BEFORE.search(before)
        gender = gender_of_title(title[1]) if title else None
        for part in parts_of(pieces_of(text), people):
            if part.kind in (WordKind.TITLE, WordKind.BETWEEN):
                gender = gender_of_title(part.word)
            elif gender is not None and _is_given(part):
                shown[part.compared].add(gender)
            if part.role is Role.FAMILY:
                gender = None
    return {
        word: next(iter(genders))
        for word, genders in shown.items()
        if len(genders) == 1 and word not in people.roles
    }


def is_title(compared: str, *, is_known: bool) -> bool:
    """Return whether a word, in compared form, is a title and no one's name."""
    if compared in load_list("placeholders"):
        return True
    titles = load_list("honorifics") | load_list("doctor_titles")
    return compared in titles and not is_known


def _kind(
    word: str, compared: str, at: int, count: int, people: RecordPeople
) -> WordKind:
    is_known = compared in people.roles
    if is_title(compared, is_known=is_known):
        return WordKind.TITLE
    if word in _BETWEEN and not is_known and at:
        return WordKind.BETWEEN
    if compared in _PARTICLES and at + 1 < count:
        return WordKind.PARTICLE
    if len(compared) == 1 or (not is_known and _are_initials(word, compared)):
        return WordKind.INITIALS
    return WordKind.NAME


def _is_given(part: NameWord) -> bool:
    if part.kind is not WordKind.NAME:
        return False
    is_sure = name_pools().sure_role(part.compared) is Role.GIVEN
    return part.role is Role.GIVEN or is_sure


def _are_initials(word: str, compared: str) -> bool:
    if len(compared) > _MOST_INITIALS or not word.isupper():
        return False
    pools = name_pools()
    is_name = pools.is_given(compared) or compared in pools.family.get(compared[:1], ())
    return not is_name


def _roles(parts: list[NameWord], pieces: Sequence[str]) -> Iterator[tuple[int, Role]]:
    """Yield the role of each name whose position decides it."""
    for person in _persons(parts, pieces):
        groups = _groups(person, pieces)
        units = [_units(group, pieces) for group in groups]
        if len(groups) > 1 and min(map(len, units[:2])) == 1:
            # "Smith, Jane Ann": family names, comma, given names.
            yield from _all(parts, groups[0], Role.FAMILY)
            for group in groups[1:]:
                yield from _all(parts, group, Role.GIVEN)
            continue
        for each in units:
            yield from _in_order(parts, each, is_titled=_is_titled(parts, each[0][0]))


def _persons(parts: list[NameWord], pieces: Sequence[str]) -> Iterator[list[int]]:
    """Yield the names and initials of each person, as places of words."""
    person: list[int] = []
    for at, part in enumerate(parts):
        if part.kind is WordKind.BETWEEN or not _INSIDE_A_NAME.fullmatch(
            pieces[2 * at]
        ):
            yield from [person] if person else []
            person = []
        if part.kind in (WordKind.NAME, WordKind.INITIALS):
            person.append(at)
    yield from [person] if person else []


def _groups(person: list[int], pieces: Sequence[str]) -> list[list[int]]:
    """Return the groups between commas, or between the carets of HL7."""
    groups = [[person[0]]]
    for before, at in pairwise(person):
        gap = "".join(pieces[2 * before + 2 : 2 * at + 1 : 2])
        if "," in gap or "^" in gap:
            groups.append([])
        groups[-1].append(at)
    return groups


def _units(group: list[int], pieces: Sequence[str]) -> list[list[int]]:
    """Return the words of a group; those with a hyphen between them are one."""
    units = [[group[0]]]
    for at in group[1:]:
        if pieces[2 * at] and pieces[2 * at] in _HYPHENS:
            units[-1].append(at)
        else:
            units.append([at])
    return units


def _in_order(
    parts: list[NameWord], units: list[list[int]], *, is_titled: bool
) -> Iterator[tuple[int, Role]]:
    """Yield roles of "Jane Ann Smith" and "Mr. Smith"."""
    if len(units) == 1:
        # "Mr. Smith"; a lone "Jane" or "Smith" may be either.
        yield from _all(parts, units[0], Role.FAMILY) if is_titled else ()
        return
    if len(units) == 2 and parts[units[1][0]].kind is WordKind.INITIALS:
        # "Smith J" as well as "Jane S."
        return
    yield from _all(parts, units[0], Role.GIVEN)
    for unit in units[1:-1]:
        if not any(name_pools().is_family(parts[at].compared) for at in unit):
            yield from _all(parts, unit, Role.GIVEN)
    yield from _all(parts, units[-1], Role.FAMILY)


def _all(
    parts: list[NameWord], unit: list[int], role: Role
) -> Iterator[tuple[int, Role]]:
    return ((at, role) for at in unit if parts[at].kind is WordKind.NAME)


def _is_titled(parts: list[NameWord], first: int) -> bool:
    return first > 0 and parts[first - 1].kind is WordKind.TITLE
