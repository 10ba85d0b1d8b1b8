"""Choose among the best paths of a line, by what they look like as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .path_features import (
    LineView,
    OtherLines,
    Path,
    Stretch,
    Value,
    Values,
    order_features,
    outside_features,
    stretch_features,
)


@dataclass(frozen=True, slots=True)
class Rescorer:
    """What was learned of paths, as plain data.

    Args:
        weights: Of the features of `path_features`, by name.
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
        words: Of the line, in small letters.
        path: Through it.
    """
    return Counter((_text(words, each), each.tag) for each in path)


def without_line(document: Values, line: Counter[Value]) -> OtherLines:
    """Return the values of a document's other lines."""
    return OtherLines(document, Values.of(line))


def _text(words: Sequence[str], stretch: Stretch) -> str:
    return " ".join(words[stretch.first : stretch.past])
