"""The people of one note, and the ways in which notes name them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from random import Random

from deid_core.fiction.gender import Gender
from deid_core.labels import Label
from deid_core.research.cultures import Culture, Pool

from .names import (
    GENDERS,
    Inventor,
    NameLists,
    Origin,
    is_listed,
    misspelt,
    names_of,
)
from .segments import Segment
from .splits import Half, half_of
from .tables import table

_SAME_CULTURE = 0.6
_HYPHENATED = 0.04
_TRIES = 50


@dataclass(frozen=True, slots=True)
class NamePart:
    """A given name or surname, and its origin."""

    text: str = field(repr=False)
    origin: Origin


@dataclass(frozen=True, slots=True)
class NotePerson:
    """A person in a note, always by the same name.

    Args:
        label: Of this person's name.
        middle: An initial.
    """

    label: Label
    gender: Gender
    given: NamePart
    family: NamePart
    middle: str = field(repr=False)

    @property
    def title(self) -> str:
        """The title of a person who is no doctor."""
        return "Mr." if self.gender is Gender.MALE else "Ms."

    def named(self, form: str) -> list[Segment]:
        """Return a form of the name; what is around the name is plain text.

        Args:
            form: A key of ``[forms]`` in people.toml, such as ``full``.
        """
        shape = table("people")["forms"][form]
        inner = shape["name"].format(
            given=self.given.text,
            family=self.family.text,
            middle=self.middle,
            initial=self.given.text[0],
            initials=self.given.text[0] + self.middle + self.family.text[0],
        )
        before = shape.get("before", "").format(title=self.title)
        name = Segment(inner, self.label, (shape["kind"], self._origin(shape["name"])))
        around = (Segment(before), name, Segment(shape.get("after", "")))
        return [each for each in around if each.text]

    def _origin(self, shape: str) -> str:
        """Return the harder of the origins of the parts that a form shows."""
        parts = {"given": self.given, "family": self.family}
        shown = [name.origin for key, name in parts.items() if f"{{{key}}}" in shape]
        order = list(Origin)
        return max(shown, key=order.index, default=Origin.COMMON).value


def draw_person(half: Half, chance: Random, label: Label) -> NotePerson:
    """Return a new person with names of the half."""
    gender = chance.choice(GENDERS)
    names = names_of(half)
    origins = table("names")["origins"][half.value]
    family_origin, given_origin = (
        Origin[key.upper()]
        for key in chance.choices(list(origins), list(origins.values()), k=2)
    )
    culture = _culture_of(names, family_origin, chance)
    family = _drawn(half, culture.family, family_origin, chance)
    if family_origin is not Origin.FOREIGN or chance.random() > _SAME_CULTURE:
        culture = _culture_of(names, given_origin, chance)
    else:
        given_origin = Origin.FOREIGN
    given = _drawn(half, culture.given[gender], given_origin, chance)
    if chance.random() < _HYPHENATED:
        other = _drawn(half, names.common.family, Origin.COMMON, chance)
        family = NamePart(f"{family.text}-{other.text}", family.origin)
    return NotePerson(label, gender, given, family, chance.choice("ABCDEFGHJKLMNPRSTW"))


def _culture_of(names: NameLists, origin: Origin, chance: Random) -> Culture:
    if origin is Origin.FOREIGN:
        return chance.choice(names.foreign)
    by_origin = {
        Origin.RARE: names.rare,
        Origin.WORD: names.word,
        Origin.ANY_WORD: names.any_word,
    }
    return by_origin.get(origin, names.common)


def _drawn(half: Half, pool: Pool, origin: Origin, chance: Random) -> NamePart:
    def is_new(name: str) -> bool:
        return not is_listed(name) and half_of(name) is half

    if origin is Origin.INVENTED:
        inventor = _inventor(pool)
        return NamePart(inventor.draw(chance, is_new), origin)
    text = pool.draw(chance)
    if origin is not Origin.MISSPELT:
        return NamePart(text, origin)
    edits = (misspelt(text, chance) for _ in range(_TRIES))
    wrong = next((each for each in edits if is_new(each)), None)
    return NamePart(text, Origin.COMMON) if wrong is None else NamePart(wrong, origin)


@cache
def _inventor(pool: Pool) -> Inventor:
    return Inventor.of(pool.values)
