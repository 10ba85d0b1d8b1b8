"""Copies of marked lines with other values: what teaches a model forms, not strings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from deid_core.tagger.codec import TagSpan
from deid_core.tagger.encoding import Line

from .augment_parts import Follower, Part, Renaming
from .value_generators import MAKERS, World

_MANY = 3
"""A line with so many marked values is one of an address or a signature."""


@dataclass(frozen=True, slots=True)
class Augmentation:
    """How copies are made.

    Args:
        makers: By tag, what makes its values; a tag that is not listed keeps its own.
        copies: How many there are of each line.
        share: Of the marked values that are replaced.
        unmarked: Share of lines without marked values that are copied.
        separators: What may stand between two values of a line with many.
        titles: Words before a name that may stand for one another.
        restyle: How often a separator or a title is exchanged.
        renamings: Values that may get another tag with another word before them.
        followers: Values that may stand behind others.
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
        self, lines: Sequence[Line], world: World, chance: Random
    ) -> Iterator[Line]:
        """Yield the copies of a corpus's lines."""
        for _ in range(self.copies):
            for line in lines:
                if line.spans:
                    yield self._copy(line, world, chance)
                elif chance.random() < self.unmarked:
                    yield line

    def within(self, tags: Collection[str]) -> Augmentation:
        """Return it without what would bring in another tag: none has a label then."""
        return replace(
            self,
            renamings=[each for each in self.renamings if each.to in tags],
            followers=[
                each
                for each in self.followers
                if each.then is None or each.then in tags
            ],
        )

    def _copy(self, line: Line, world: World, chance: Random) -> Line:
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
            parts += part, *self._behind(part, world, chance)
            at = span.end
        return _line_of(parts, line.text[at:])

    def _behind(self, part: Part, world: World, chance: Random) -> Iterator[Part]:
        """Yield new values that follow one."""
        for follower in self.followers:
            gap = follower.gap(part, chance)
            if gap is not None:
                tag = follower.then or part.tag
                yield Part(gap, self._made(part.value, tag, world, chance), tag)

    def _value(self, value: str, tag: str, world: World, chance: Random) -> str:
        if tag not in self.makers or chance.random() >= self.share:
            return value
        return self._made(value, tag, world, chance)

    def _made(self, value: str, tag: str, world: World, chance: Random) -> str:
        """Return a new value of a tag, or the old one if nothing makes any."""
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
    """Return the line of some values and of what stands behind the last."""
    text = ""
    spans: list[TagSpan] = []
    for part in parts:
        start = len(text) + len(part.gap)
        text += part.gap + part.value
        spans.append(TagSpan(start, len(text), part.tag))
    return Line(text + tail, tuple(spans))
