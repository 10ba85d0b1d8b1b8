"""Copies of marked lines with other values: what teaches a model forms, not strings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from .codec import TagSpan
from .encoding import Line
from .makers import MAKERS, World

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
    """

    makers: Mapping[str, str]
    copies: int = 4
    share: float = 0.6
    unmarked: float = 0.1
    separators: Sequence[str] = ()
    titles: Sequence[str] = ()
    restyle: float = 0.2

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

    def _copy(self, line: Line, world: World, chance: Random) -> Line:
        pieces: list[str] = []
        spans: list[TagSpan] = []
        at = length = 0
        for span in sorted(line.spans, key=lambda each: each.start):
            gap = line.text[at : span.start]
            gap = self._restyled(gap, len(line.spans), bool(spans), chance)
            value = self._value(
                line.text[span.start : span.end], span.tag, world, chance
            )
            pieces += gap, value
            start = length + len(gap)
            length = start + len(value)
            spans.append(TagSpan(start, length, span.tag))
            at = span.end
        pieces.append(line.text[at:])
        return Line("".join(pieces), tuple(spans))

    def _value(self, value: str, tag: str, world: World, chance: Random) -> str:
        maker = self.makers.get(tag)
        if maker is None or chance.random() >= self.share:
            return value
        made = MAKERS[maker](value, tag, world, chance)
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
