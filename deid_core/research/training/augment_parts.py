"""What stands in the copy of a line: values, what may follow one, what may tell one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from deid_core.errors import ConfigError

_LAST_WORD = re.compile(r"(\w+)\W*$")


@dataclass(frozen=True, slots=True)
class Part:
    """A value, and the text between it and the value before.

    Args:
        gap: That text.
        value: The value.
        tag: Its tag.
    """

    gap: str
    value: str
    tag: str


@dataclass(frozen=True, slots=True)
class Follower:
    """A value that may follow one of a tag: two addresses, a telephone and a fax.

    Args:
        tag: Of the value that is followed.
        share: Of such values that are.
        between: What may stand between the two.
        then: The tag of what follows; None for the same.
    """

    tag: str
    share: float
    between: Sequence[str]
    then: str | None = None

    def __post_init__(self) -> None:
        if not self.between:
            raise ConfigError(f"augment: nothing stands between {self.tag!r} and next")

    def gap(self, part: Part, chance: Random) -> str | None:
        """Return what stands behind a value if another follows, else None."""
        if part.tag != self.tag or chance.random() >= self.share:
            return None
        return chance.choice(self.between)


@dataclass(frozen=True, slots=True)
class Renaming:
    """Values whose tag the word before them tells: another word, another tag.

    Args:
        tag: Of the values.
        cues: Words before them, in small letters.
        share: Of values behind such a word that are renamed.
        to: Their other tag.
        instead: What may stand there for the word and the marks behind it.
    """

    tag: str
    cues: Sequence[str]
    share: float
    to: str
    instead: Sequence[str]

    def __post_init__(self) -> None:
        if not self.instead:
            raise ConfigError(f"augment: nothing tells {self.tag!r} from {self.to!r}")

    def of(self, part: Part, chance: Random) -> Part:
        """Return a value under its other tag, or as it is."""
        cue = _LAST_WORD.search(part.gap)
        if part.tag != self.tag or cue is None or cue[1].lower() not in self.cues:
            return part
        if chance.random() >= self.share:
            return part
        gap = part.gap[: cue.start()] + chance.choice(self.instead)
        return replace(part, gap=gap, tag=self.to)
