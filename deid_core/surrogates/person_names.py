"""Realistic names, word by word, so that every part of a name stays that name.

"John Smith", "SMITH, JOHN", "Mr. Smith" and "J. Smith" become one person, on every note
of the patient, without a stored table: a word becomes the same word of the same role,
and all names with the same first letter get the same other first letter.  A given name
stays one of its gender, or of both genders if the lists have none.  Where the patient's
sex or a title says otherwise than the lists, it decides: "Mr. Ashley Jones".
"""

from __future__ import annotations

from deid_core.fiction.gender import Gender
from deid_core.fiction.name_pools import Role, name_pools
from deid_core.labels import Label

from .crosswalk import Crosswalk
from .letter_case import in_case_of
from .name_parts import NameWord, WordKind, parts_of, pieces_of
from .people import is_near


def person_name(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another name: roles, gender, case, initials and titles as they were.

    None for what holds a digit, or if no name is free.
    """
    if any(map(str.isnumeric, text)):
        return None
    pieces = pieces_of(text)
    parts = parts_of(pieces, crosswalk.people)
    has_family_name = False
    for at, part in enumerate(parts):
        # "Smith J." ends with a given name's initial, "J.S." and "Jane S." do not.
        ends_a_name = at + 1 == len(parts) and not has_family_name
        role = _role(crosswalk, part)
        has_family_name |= role is Role.FAMILY
        written = _written(crosswalk, part, role, at, ends_a_name=ends_a_name)
        if written is None:
            return None
        pieces[2 * at + 1] = written
        if not written:
            # A particle goes, and the space behind it.
            pieces[2 * at + 2] = ""
    return "".join(pieces)


def name_word(crosswalk: Crosswalk, word: str, role: Role | None = None) -> str | None:
    """Return another name for one word, in compared form; None if none is free.

    Args:
        crosswalk: The patient's.
        word: In compared form.
        role: By its position, if that decides it.
    """
    word = crosswalk.people.closest_word(word)
    role = role_of(crosswalk, word, role)
    pools = name_pools()
    letter = initial_of(crosswalk, role, word[0]) or ""
    pool = pools.like(role, word, letter, gender_of(crosswalk, word))

    def is_free(candidate: str) -> bool:
        return (
            not is_near(candidate, word)
            and not crosswalk.people.is_near_any(candidate)
            and crosswalk.are_free_words(candidate)
        )

    return crosswalk.choose(role, word, pool, is_free)


def role_of(crosswalk: Crosswalk, word: str, role: Role | None = None) -> Role:
    """Return which part of a name a word is.

    The record decides; else the lists, if unambiguous; else the position here; else the
    positions elsewhere in the note; else the more frequent part in the lists.
    """
    pools = name_pools()
    found = (
        crosswalk.people.roles.get(word)
        or pools.sure_role(word)
        or role
        or crosswalk.roles_shown.get(word)
    )
    return found or (Role.GIVEN if pools.is_given(word) else Role.FAMILY)


def gender_of(crosswalk: Crosswalk, word: str) -> Gender:
    """Return the gender of a given name's surrogate.

    A name of both genders, or on no list, becomes one of both, whatever its bearer is:
    so it stays the same when a record first says the sex.
    """
    gender = name_pools().gender(word)
    if gender is Gender.EITHER:
        return gender
    people = crosswalk.people
    return people.genders.get(word) or crosswalk.genders_shown.get(word) or gender


def initial_of(crosswalk: Crosswalk, role: Role, letter: str) -> str | None:
    """Return the letter with which all names of that first letter begin instead."""
    letters = name_pools().letters[role]
    if crosswalk.options.keep_initials:
        return letter
    others = letters.replace(letter, "")
    at = crosswalk.draws.number(f"initial {role}", letter, below=len(others))
    return others[at]


def _role(crosswalk: Crosswalk, part: NameWord) -> Role | None:
    if part.kind is not WordKind.NAME or not part.compared:
        return None
    return role_of(crosswalk, crosswalk.people.closest_word(part.compared), part.role)


def _written(
    crosswalk: Crosswalk,
    part: NameWord,
    role: Role | None,
    at: int,
    *,
    ends_a_name: bool,
) -> str | None:
    """Return the surrogate of a word; "" for nothing, None for failure.

    Args:
        crosswalk: The patient's.
        part: The word.
        role: Its role.
        at: How many words are before it.
        ends_a_name: Whether it is the last word, and no other is a family name.
    """
    if not part.compared:
        return None
    if part.kind in (WordKind.TITLE, WordKind.BETWEEN):
        return part.word
    if part.kind is WordKind.PARTICLE:
        return ""
    if part.kind is WordKind.INITIALS:
        return _initials(crosswalk, part, at, ends_a_name=ends_a_name)
    other = name_word(crosswalk, part.compared, role)
    return other and in_case_of(part.word, other)


def _initials(
    crosswalk: Crosswalk, part: NameWord, at: int, *, ends_a_name: bool
) -> str | None:
    letters = part.compared
    written = ""
    for place, letter in enumerate(letters):
        is_family = ends_a_name and place == len(letters) - 1 and (at or place)
        role = Role.FAMILY if is_family else Role.GIVEN
        other = initial_of(crosswalk, role, letter)
        if other is None:
            return None
        written += other
    return in_case_of(part.word, written) if len(letters) == 1 else written.upper()
