"""Tags of spans as labels of words, and back: begin, inside, outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

OUTSIDE = "O"


@dataclass(frozen=True, slots=True)
class TagSpan:
    """A tagged stretch of a text: code points ``[start, end)``."""

    start: int
    end: int
    tag: str


@dataclass(frozen=True, slots=True)
class Bio:
    """The labels of a set of tags: ``O, B-a, I-a, B-b, I-b``, ...

    Args:
        tags: Distinct; their order numbers the labels.
    """

    tags: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label, by its number."""
        return (OUTSIDE, *(f"{part}-{tag}" for tag in self.tags for part in "BI"))

    def allowed(self) -> NDArray[np.bool_]:
        """Return which label may follow which, shape ``[labels + 1, labels]``.

        The last row is the start of a line: ``I-a`` follows ``B-a`` and ``I-a`` alone.
        """
        count = 2 * len(self.tags) + 1
        allowed = np.ones((count + 1, count), dtype=np.bool_)
        for inside in range(2, count, 2):
            allowed[:, inside] = False
            allowed[inside - 1 : inside + 1, inside] = True
        return allowed

    def encode(
        self, words: Sequence[range], spans: Iterable[TagSpan]
    ) -> NDArray[np.int8]:
        """Return the label of each word; one that a span only touches belongs to it.

        Args:
            words: Of one line, ordered.
            spans: Disjoint; those of other lines do no harm.
        """
        labels = np.zeros(len(words), dtype=np.int8)
        for span in spans:
            begin = 1 + 2 * self.tags.index(span.tag)
            inside = [
                at
                for at, word in enumerate(words)
                if word.start < span.end and span.start < word.stop
            ]
            labels[inside] = begin + 1
            labels[inside[:1]] = begin
        return labels

    def decode(
        self, words: Sequence[range], labels: Sequence[int]
    ) -> list[tuple[TagSpan, int, int]]:
        """Return the spans of a path, each with its first and past its last word.

        An ``I-a`` that follows nothing of its tag begins a span, as a path without
        constraints may have it.
        """
        found: list[tuple[TagSpan, int, int]] = []
        for at, label in enumerate(labels):
            if label == 0:
                continue
            tag, start = self.tags[(label - 1) // 2], words[at].start
            first = at
            if label % 2 == 0 and found and found[-1][2] == at:
                last = found[-1][0]
                if last.tag == tag:
                    start, first = last.start, found.pop()[1]
            found.append((TagSpan(start, words[at].stop, tag), first, at + 1))
        return found


def runs_of(
    labels: NDArray[np.int8], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and past the last word of each span, as `Bio.decode` has them.

    Args:
        labels: Of the words of some lines, one line after the other.
        starts: Where each line starts; no span goes on there.
    """
    labelled = np.flatnonzero(labels)
    begins_line = np.zeros(len(labels) + 1, dtype=np.bool_)
    begins_line[starts] = True
    before, inside = labels[labelled - 1], labels[labelled]
    # Of a tag, inside has the number of begin and one: even, and never 0 here.
    goes_on = (before + before % 2 == inside) & ~begins_line[labelled]
    firsts = labelled[~goes_on]
    pasts = labelled[~np.append(goes_on, False)[1:]] + 1
    return firsts, pasts
