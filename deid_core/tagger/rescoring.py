"""Choose among the best paths of a line, by features of whole values.

The chain sees words and pairs of labels; these features see whole values: how long one
is, its first and last words, the words around it, whether the value occurs elsewhere,
and in which order the values of a line come (Collins 2002, section 3, rescores the
paths of a tagger so).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from .codec import OUTSIDE
from .features import PAD_VALUE

START, END = "^", "$"
_LONG, _FAR, _SHORT = 9, 3, 4
_MOST_KINDS = 10

Value = tuple[str, str]
"""A value's words, in lower case with blanks between them, and its tag."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Words ``[first, past)`` of a line under a tag."""

    first: int
    past: int
    tag: str


Path = tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """Values that were seen, and how often.

    Args:
        times: Of each value.
        every: Of a value's words, under any tag.
        tags: Those of the values.
    """

    times: Mapping[Value, int] = field(default_factory=dict, repr=False)
    every: Mapping[str, int] = field(default_factory=dict, repr=False)
    tags: tuple[str, ...] = ()

    @classmethod
    def of(cls, times: Mapping[Value, int]) -> Values:
        """Return values by how often each was seen."""
        every = Counter[str]()
        for (words, _), count in times.items():
            every[words] += count
        return cls(times, every, tuple(sorted({tag for _, tag in times})))

    def seen(self, words: str, tag: str) -> tuple[int, int]:
        """Return how often words were seen under a tag, and under others."""
        same = self.times.get((words, tag), 0)
        return same, self.every.get(words, 0) - same


NO_VALUES = Values()


@dataclass(frozen=True, slots=True)
class OtherLines:
    """Values of a document, without those of one of its lines.

    Args:
        document: Counted once for all lines.
        line: Part of them.
    """

    document: Values = NO_VALUES
    line: Values = NO_VALUES

    def seen(self, words: str, tag: str) -> tuple[int, int]:
        """Return how often words were seen under a tag, and under others."""
        same, other = self.document.seen(words, tag)
        same_here, other_here = self.line.seen(words, tag)
        return same - same_here, other - other_here


@dataclass(frozen=True, slots=True)
class LineView:
    """A line, as the features of its paths see it.

    Args:
        words: In lower case.
        kinds: Of the words, see `features.kind`.
        known: Values of other documents, counted by document.
        near: Values that were found in the other lines of this document.
    """

    words: Sequence[str] = field(repr=False)
    kinds: Sequence[str]
    known: Values = NO_VALUES
    near: OtherLines = OtherLines()

    def word(self, at: int) -> str:
        """Return a word, or the pad beyond the line."""
        return self.words[at] if 0 <= at < len(self.words) else PAD_VALUE

    def kind(self, at: int) -> str:
        """Return a word's kind, or the pad beyond the line."""
        return self.kinds[at] if 0 <= at < len(self.kinds) else PAD_VALUE

    def text(self, first: int, past: int) -> str:
        """Return some words with blanks between them."""
        return " ".join(self.words[first:past])


def stretch_features(line: LineView, stretch: Stretch) -> Iterator[str]:
    """Yield the features of one value and its place in the line."""
    first, past, tag = stretch.first, stretch.past, stretch.tag
    words = line.words[first:past]
    yield f"tag {tag}"
    yield f"length {tag} {min(past - first, _LONG)}"
    yield f"ends {tag} {line.kind(first)} {line.kind(past - 1)}"
    yield f"first {tag} {words[0]}"
    yield f"last {tag} {words[-1]}"
    yield f"before {tag} {line.word(first - 1)}"
    yield f"after {tag} {line.word(past)}"
    yield f"start {tag} {line.kind(first - 1)} {line.kind(first)}"
    yield f"end {tag} {line.kind(past - 1)} {line.kind(past)}"
    yield f"beyond {tag} {line.kind(past)} {line.kind(past + 1)}"
    yield f"kinds {tag} {_squeezed(line.kinds[first:past])}"
    yield f"marks {tag} {''.join(sorted({w for w in words if not w.isalnum()}))}"
    if len(words) <= _SHORT:
        yield f"text {tag} {line.text(first, past)}"
    if words.count("(") != words.count(")"):
        yield f"open {tag}"
    yield from _seen_features(line, stretch)


def _seen_features(line: LineView, stretch: Stretch) -> Iterator[str]:
    text, tag = line.text(stretch.first, stretch.past), stretch.tag
    same, other = line.known.seen(text, tag)
    yield f"known {tag} {min(same, 3)} {min(other, 2)}"
    same, other = line.near.seen(text, tag)
    yield f"near {tag} {min(same, 2)} {min(other, 2)}"
    for at in range(stretch.first + 1, stretch.past):
        end = line.text(at, stretch.past)
        for inner in line.known.tags if end in line.known.every else ():
            if (end, inner) in line.known.times:
                yield f"within {tag} {inner}"


def outside_features(line: LineView, at: int) -> Iterator[str]:
    """Yield what says that a word which other paths tag is outside."""
    yield f"{OUTSIDE} {line.words[at]}"
    yield f"{OUTSIDE} kind {line.kinds[at]}"


def order_features(line: LineView, path: Path) -> Iterator[str]:
    """Yield the order of a path's values, and the words between them."""
    if not path:
        return
    tags = [each.tag for each in path]
    lead = line.words[max(0, path[0].first - _FAR) : path[0].first]
    marked = _squeezed("w" if word.isalnum() else word for word in lead)
    yield f"from {START} {tags[0]} {marked}"
    for one, two in pairwise(path):
        yield f"next {one.tag} {two.tag}"
        yield f"from {one.tag} {two.tag} {_gap(line, one.past, two.first)}"
    yield f"from {tags[-1]} {END} {_gap(line, path[-1].past, len(line.words))}"
    for three in zip(tags, tags[1:], tags[2:], strict=False):
        yield f"three {' '.join(three)}"
    for tag, count in Counter(tags).items():
        if count > 1:
            yield f"count {tag} {min(count, 4)}"


def _gap(line: LineView, first: int, past: int) -> str:
    return line.text(first, past) if past - first <= _FAR else "..."


def _squeezed(kinds: Iterable[str]) -> str:
    """Return kinds without immediate repetitions."""
    return " ".join([kind for kind, _ in groupby(kinds)][:_MOST_KINDS])


@dataclass(frozen=True, slots=True)
class Rescorer:
    """A scorer of paths that was learned, as plain data.

    Args:
        weights: Of the features of `rescoring`, by name.
        scale: What the chain's own score of a path counts.
        known: Values of the corpus, counted by document.
        most: How many paths of a line are looked at.
        gap: How much less likely than the best one a path may be, as a logarithm.
    """

    weights: Mapping[str, float] = field(repr=False)
    scale: float
    known: Values = field(repr=False)
    most: int
    gap: float

    def best(self, line: LineView, paths: Sequence[Path], logs: Sequence[float]) -> int:
        """Return the number of the path that is best; the first of equals.

        Args:
            line: What the paths lead through.
            paths: Best first, as the chain sees it.
            logs: The chain's score of each path.
        """
        weight = self.weights.get
        worth = {
            stretch: sum(weight(f, 0.0) for f in stretch_features(line, stretch))
            for stretch in dict.fromkeys(each for path in paths for each in path)
        }
        covered = [covered_by(path) for path in paths]
        left = {
            at: sum(weight(f, 0.0) for f in outside_features(line, at))
            for at in sorted(frozenset[int]().union(*covered))
        }
        found = [
            self.scale * log
            + sum(map(worth.__getitem__, path))
            + sum(each for at, each in left.items() if at not in inside)
            + sum(weight(f, 0.0) for f in order_features(line, path))
            for path, log, inside in zip(paths, logs, covered, strict=True)
        ]
        return max(range(len(found)), key=found.__getitem__)


def covered_by(path: Path) -> frozenset[int]:
    """Return the words that a path tags."""
    return frozenset(at for each in path for at in range(each.first, each.past))


def values_in(words: Sequence[str], path: Path) -> Counter[Value]:
    """Return the values that a path marks.

    Args:
        words: Of the line, in lower case.
        path: Through it.
    """
    return Counter((_text(words, each), each.tag) for each in path)


def without_line(document: Values, line: Counter[Value]) -> OtherLines:
    """Return the values of a document's other lines."""
    return OtherLines(document, Values.of(line))


def _text(words: Sequence[str], stretch: Stretch) -> str:
    return " ".join(words[stretch.first : stretch.past])
