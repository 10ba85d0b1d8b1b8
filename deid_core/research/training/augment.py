"""Copies of marked lines with other values, so that a model learns forms."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from deid_core.errors import ConfigError
from deid_core.research.training.encoding import Line
from deid_core.tagger.codec import TagSpan

from .value_generators import MAKERS, LocaleData

_MANY = 3
"""A line with so many marked values is one of an address or a signature."""

_LAST_WORD = re.compile(r"(\w+)\W*$")


@dataclass(frozen=True, slots=True)
class Part:
    """A value with its tag, and the text (gap) between it and the value before."""

    gap: str
    value: str
    tag: str


@dataclass(frozen=True, slots=True)
class Follower:
    """A value that may follow one of a tag: two addresses, a telephone and a fax.

    Args:
        tag: Of the value that is followed.
        share: Of such values that are followed.
        between: What may separate the two.
        then: The tag of what follows; None for the same.
    """

    tag: str
    share: float
    between: Sequence[str]
    then: str | None = None

    def __post_init__(self) -> None:
        if not self.between:
            raise ConfigError(f"augment: {self.tag!r}: between is empty")

    def gap(self, part: Part, chance: Random) -> str | None:
        """Return what separates a value from its follower, or None without one."""
        if part.tag != self.tag or chance.random() >= self.share:
            return None
        return chance.choice(self.between)


@dataclass(frozen=True, slots=True)
class Renaming:
    """Values whose tag depends on the word before them.

    Args:
        tag: Of the values.
        cues: Words before them, in small letters.
        share: Of values behind such a word that are renamed.
        to: Their other tag.
        instead: What may replace the word and the punctuation after it.
    """

    tag: str
    cues: Sequence[str]
    share: float
    to: str
    instead: Sequence[str]

    def __post_init__(self) -> None:
        if not self.instead:
            raise ConfigError(f"augment: {self.tag!r} to {self.to!r}: instead is empty")

    def of(self, part: Part, chance: Random) -> Part:
        """Return the value with its other tag, or unchanged."""
        cue = _LAST_WORD.search(part.gap)
        if part.tag != self.tag or cue is None or cue[1].lower() not in self.cues:
            return part
        if chance.random() >= self.share:
            return part
        gap = part.gap[: cue.start()] + chance.choice(self.instead)
        return replace(part, gap=gap, tag=self.to)


@dataclass(frozen=True, slots=True)
class Augmentation:
    """Settings for the copies that are made of lines.

    Args:
        makers: By tag, the generator of its values; other tags keep theirs.
        copies: How many of each line.
        share: Of the marked values that are replaced.
        unmarked: Share of lines without marked values that are copied.
        separators: What may separate two values of a line with many.
        titles: Words before a name that may replace one another.
        restyle: How often a separator or a title is exchanged.
        renamings: Values that may get another tag with another word before them.
        followers: Values that may follow others.
    """

    makers: Mapping[str, str]
    copies: int = 4
    share: float = 0.6
    unmarked: float = 0.1
    separators: Sequence[str] = ()
    titles: Sequence[str] = ()
    restyle: float = 0.2
    renamings: Sequence[Renaming] = ()
    followers: Sequence[Follower] = ()

    def lines(
        self, lines: Sequence[Line], world: LocaleData, chance: Random
    ) -> Iterator[Line]:
        """Yield the copies of a corpus's lines."""
        for _ in range(self.copies):
            for line in lines:
                if line.spans:
                    yield self._copy(line, world, chance)
                elif chance.random() < self.unmarked:
                    yield line

    def within(self, tags: Collection[str]) -> Augmentation:
        """Return it without what would add a tag that has no label."""
        return replace(
            self,
            renamings=[each for each in self.renamings if each.to in tags],
            followers=[
                each
                for each in self.followers
                if each.then is None or each.then in tags
            ],
        )

    def _copy(self, line: Line, world: LocaleData, chance: Random) -> Line:
        parts: list[Part] = []
        at = 0
        for span in sorted(line.spans, key=lambda each: each.start):
            gap = line.text[at : span.start]
            gap = self._restyled(gap, len(line.spans), bool(parts), chance)
            value = line.text[span.start : span.end]
            value = self._value(value, span.tag, world, chance)
            part = Part(gap, value, span.tag)
            for renaming in self.renamings:
                part = renaming.of(part, chance)
            parts += part, *self._followers(part, world, chance)
            at = span.end
        return _line_of(parts, line.text[at:])

    def _followers(
        self, part: Part, world: LocaleData, chance: Random
    ) -> Iterator[Part]:
        """Yield new values that follow one."""
        for follower in self.followers:
            gap = follower.gap(part, chance)
            if gap is not None:
                tag = follower.then or part.tag
                yield Part(gap, self._made(part.value, tag, world, chance), tag)

    def _value(self, value: str, tag: str, world: LocaleData, chance: Random) -> str:
        if tag not in self.makers or chance.random() >= self.share:
            return value
        return self._made(value, tag, world, chance)

    def _made(self, value: str, tag: str, world: LocaleData, chance: Random) -> str:
        """Return a new value of a tag, or the old one if there is no generator."""
        maker = self.makers.get(tag)
        made = MAKERS[maker](value, tag, world, chance) if maker else ""
        # An empty value can't be marked.
        return made.replace("\n", " ") or value

    def _restyled(self, gap: str, count: int, between: bool, chance: Random) -> str:
        if count < _MANY or chance.random() >= self.restyle:
            return gap
        if between and self.separators and not re.search(r"\w", gap):
            return chance.choice(self.separators)
        for title in self.titles:
            if gap.endswith(title):
                return gap.removesuffix(title) + chance.choice(self.titles)
        return gap


def _line_of(parts: Sequence[Part], tail: str) -> Line:
    """Return the line of some values and of the text after the last."""
    text = ""
    spans: list[TagSpan] = []
    for part in parts:
        start = len(text) + len(part.gap)
        text += part.gap + part.value
        spans.append(TagSpan(start, len(text), part.tag))
    return Line(text + tail, tuple(spans))
