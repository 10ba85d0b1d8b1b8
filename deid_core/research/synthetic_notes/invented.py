"""Names that no list holds, made of the letter sequences of names that lists hold."""

from __future__ import annotations

import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

_ORDER = 3
_START, _END = "^" * _ORDER, "$"
_SHORTEST, _LONGEST = 4, 11
_TRIES = 1000


@dataclass(frozen=True, slots=True)
class Inventor:
    """A chain over letters: the next one is drawn by the three before it.

    Args:
        follows: By three letters, what followed them in the names learned from.
    """

    follows: Mapping[str, Sequence[str]] = field(repr=False)

    @classmethod
    def of(cls, names: Iterable[str]) -> Inventor:
        """Return the inventor that has learned from these names."""
        follows = defaultdict(list)
        for name in names:
            letters = _START + name.lower() + _END
            for at in range(_ORDER, len(letters)):
                follows[letters[at - _ORDER : at]].append(letters[at])
        return cls(dict(follows))

    def draw(self, chance: Random, is_wanted: Callable[[str], bool]) -> str:
        """Return an invented name, capitalised.

        Args:
            chance: What decides.
            is_wanted: What it must fulfil, such as being no name of any list.

        Raises:
            RuntimeError: None was found in a thousand tries.
        """
        for _ in range(_TRIES):
            name = self._one(chance)
            if _SHORTEST <= len(name) <= _LONGEST and is_wanted(name):
                return name.capitalize()
        raise RuntimeError(f"no wanted name in {_TRIES} tries")

    def _one(self, chance: Random) -> str:
        letters = _START
        while letters[-1] != _END and len(letters) < _ORDER + _LONGEST + 2:
            letters += chance.choice(self.follows[letters[-_ORDER:]])
        return letters.strip("^$")


def misspelt(name: str, chance: Random) -> str:
    """Return the name with one edit that is not at its first letter.

    An insertion, deletion, substitution or transposition, as in `rapidfuzz`'s
    Damerau-Levenshtein distance of one.
    """
    at = chance.randrange(1, len(name)) if len(name) > 1 else 1
    head, tail = name[:at], name[at:]
    letter = chance.choice(string.ascii_lowercase)
    edits = [head + letter + tail, head + letter + tail[1:]]
    if len(name) > _SHORTEST:
        edits += [head + tail[1:], head + tail[1:2] + tail[:1] + tail[2:]]
    changed = [each for each in edits if each != name]
    return chance.choice(changed)
