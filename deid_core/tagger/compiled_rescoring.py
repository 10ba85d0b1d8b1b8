"""Rescoring in a compiled model: which lines, which paths, which of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deid_core.runtime.text_cache import TextCache

from .codec import Bio
from .features import KnownWords, kind
from .kernels.decoding import marginals
from .kernels.paths import best_paths, unsure_lines
from .kernels.viterbi import Transitions
from .rescoring import (
    NO_VALUES,
    LineView,
    Path,
    Rescorer,
    Stretch,
    Value,
    Values,
    values_in,
    without_line,
)
from .words import PlacedWords

Longs = NDArray[np.int64]
Floats = NDArray[np.float32]
_MOST_WORDS = 32_768
_LONGEST = 1_000
"""Lines of more words keep the chain's path: their paths would take too much room."""


@dataclass(frozen=True, slots=True, eq=False)
class LinePaths:
    """The best paths of one line, best first.

    Args:
        line: The line's number.
        view: What the paths lead through.
        labels: Of each word, shape ``[paths, words]``.
        paths: The same as stretches.
        logs: How much worse than the best each is, as the chain sees it.
    """

    line: int
    view: LineView = field(repr=False)
    labels: NDArray[np.int8]
    paths: list[Path]
    logs: list[float]


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """A batch of lines after the chain has spoken.

    Args:
        words: Of all lines.
        scores: Emissions, shape ``[words, labels]``.
        path: The best labels, shape ``[words]``.
    """

    words: PlacedWords
    scores: Floats
    path: NDArray[np.int8]


class PathFinder:
    """Finds the lines that are not sure, and their best paths.  Thread-safe.

    Args:
        codec: Of the labels.
        lists: What is known of words.
        transitions: Of the chain.
        most: How many paths of a line at the most.
        gap: How much less likely than the best one a path may be, as a logarithm.
    """

    def __init__(
        self,
        codec: Bio,
        lists: KnownWords,
        transitions: Transitions,
        most: int,
        gap: float,
    ) -> None:
        self._codec, self._most, self._gap = codec, most, np.float32(gap)
        self._transitions = transitions
        self._kind = TextCache(lambda word: kind(word, lists), _MOST_WORDS)

    def unsure(self, batch: Decoded, known: Values = NO_VALUES) -> Iterator[LinePaths]:
        """Yield the lines with more than one path, in order, and these paths."""
        flags = np.empty(len(batch.words.starts) - 1, dtype=np.bool_)
        unsure_lines(
            batch.scores,
            batch.words.starts,
            self._transitions,
            self._gap,
            flags,
        )
        flags &= np.diff(batch.words.starts) <= _LONGEST
        lines = np.flatnonzero(flags).tolist()
        documents = batch.words.text_of_line
        found = self._values(batch, {documents[line] for line in lines})
        for line in lines:
            first, last = (
                int(batch.words.starts[line]),
                int(batch.words.starts[line + 1]),
            )
            words = batch.words.strings(first, last)
            low = [word.lower() for word in words]
            here = values_in(low, self.path(batch.path[first:last]))
            near = without_line(found[documents[line]], here)
            view = LineView(low, [self._kind[word] for word in words], known, near)
            yield self._paths(line, view, batch.scores[first:last])

    def path(self, labels: NDArray[np.int8]) -> Path:
        """Return a path's stretches of words."""
        found: list[Stretch] = []
        numbers = labels.tolist()
        for at in np.flatnonzero(labels).tolist():
            first = at
            if numbers[at] % 2 == 0 and found and found[-1].past == at:
                first = found.pop().first
            tag = self._codec.tags[(numbers[at] - 1) // 2]
            found.append(Stretch(first, at + 1, tag))
        return tuple(found)

    def _values(self, batch: Decoded, documents: set[int]) -> dict[int, Values]:
        """Return the values that the best paths mark in some documents."""
        found = {document: Counter[Value]() for document in documents}
        labelled = np.flatnonzero(batch.path)
        lines = np.unique(np.searchsorted(batch.words.starts, labelled, "right") - 1)
        for line in lines.tolist():
            document = batch.words.text_of_line[line]
            if document in found:
                first, last = batch.words.starts[line : line + 2].tolist()
                low = [word.lower() for word in batch.words.strings(first, last)]
                values = values_in(low, self.path(batch.path[first:last]))
                found[document].update(values)
        return {document: Values.of(each) for document, each in found.items()}

    def _paths(self, line: int, view: LineView, scores: Floats) -> LinePaths:
        totals = np.empty(self._most, dtype=np.float32)
        labels = np.empty((self._most, len(scores)), dtype=np.int8)
        count = best_paths(
            scores,
            self._transitions,
            self._gap,
            totals,
            labels,
        )
        logs = (totals[:count] - totals[0]).tolist()
        return LinePaths(
            line, view, labels[:count], list(map(self.path, labels[:count])), logs
        )


class CompiledRescorer:
    """Exchanges the paths of a chain for better ones.  Thread-safe.

    Args:
        rescorer: What judges them.
        codec: Of the labels.
        lists: What is known of words.
        transitions: Of the chain.
    """

    def __init__(
        self,
        rescorer: Rescorer,
        codec: Bio,
        lists: KnownWords,
        transitions: Transitions,
    ) -> None:
        self._rescorer = rescorer
        self._finder = PathFinder(
            codec, lists, transitions, rescorer.most, rescorer.gap
        )
        self._steps = np.exp(transitions.scores)

    def improve(self, batch: Decoded, sureness: Floats) -> None:
        """Write the better paths into a batch, and their words' probabilities."""
        for each in list(self._finder.unsure(batch, self._rescorer.known)):
            best = self._rescorer.best(each.view, each.paths, each.logs)
            if best > 0:
                place = slice(*batch.words.starts[each.line : each.line + 2].tolist())
                labels = each.labels[best]
                batch.path[place] = labels
                sureness[place] = self._chances(batch.scores[place], labels)

    def _chances(self, scores: Floats, labels: NDArray[np.int8]) -> Floats:
        local, found = np.empty_like(scores), np.empty_like(scores)
        size, start = scores.shape
        marginals(scores, start, 0, size, self._steps, local, found)
        return found[np.arange(len(labels)), labels]
