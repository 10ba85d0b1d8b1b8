"""A model compiled for speed: no features are made while tagging.

What a word gives to itself and to its neighbours is summed once, the first time that
the word is seen, into a table of scores by offset and label; the tables lie in a
bounded cache.  Tagging is: look up each word's number, gather and add its neighbours'
rows, add conjunctions by lookup, and find the best path of each line.  Where a model
knows how, lines that are not sure get the best of their best paths (`rescoring`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .codec import Bio
from .compiled_conjunctions import Conjunctions
from .compiled_rescoring import CompiledRescorer, Decoded, PathFinder
from .compiled_types import TypeTables
from .decode_kernels import FORBIDDEN, closed_of, decode, leads_of
from .features import header
from .model import Model
from .table_kernels import add_properties
from .words import NEWLINE, pieces, word_spans

Longs = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tagged stretch of a text.

    Args:
        start: In code points of the text.
        end: Past its last.
        tag: What the model calls it.
        score: The lowest probability of its words' labels.
    """

    start: int
    end: int
    tag: str
    score: float


@dataclass(frozen=True, slots=True)
class Bias:
    """What trades precision for recall.

    Args:
        outside: Taken off the score of "outside" at each word (Minkov's bias).
        below: A word that is outside with no higher probability gets its most probable
            tag (MCRF's threshold); None for no such thing.
    """

    outside: float = 0.0
    below: float | None = None


NO_BIAS = Bias()


class CompiledModel:
    """Tags texts.  Thread-safe; what it caches changes no result.

    Args:
        model: What to compile.
        most_types: How many words' tables are kept.
    """

    def __init__(self, model: Model, *, most_types: int = 32_768) -> None:
        self.codec: Bio = model.codec
        self._lists = model.lists
        self._blanks = model.features.blanks
        weights = model.weights.dense()
        self._types = TypeTables(model, weights, most_types)
        self._conjunctions = Conjunctions(model, weights)
        self._transitions = np.maximum(model.weights.transitions, FORBIDDEN).astype(
            np.float32
        )
        self._leads = leads_of(self._transitions)
        self._closed = closed_of(self._transitions)
        self._rescorer: CompiledRescorer | None = None
        if model.rescorer is not None:
            self._rescorer = CompiledRescorer(
                model.rescorer, self.codec, model.lists, self._transitions
            )

    def tag(self, texts: Sequence[str], bias: Bias = NO_BIAS) -> list[list[Tagged]]:
        """Return the tagged stretches of each text, ordered and disjoint.

        A threshold of the bias is of the chain alone: nothing is rescored then.
        """
        batch = _Batch.of(texts, self._blanks)
        scores = self._scores(batch)
        path, sureness = self._decode(scores, batch, bias)
        if bias.below is None:
            self._rescore(batch, scores, path, sureness)
        return self._tagged(texts, batch, path, sureness)

    def chain(self, texts: Sequence[str]) -> Decoded:
        """Return what the chain alone says of texts."""
        batch = _Batch.of(texts, self._blanks)
        scores = self._scores(batch)
        path, _ = self._decode(scores, batch, NO_BIAS)
        return batch.decoded(scores, path)

    def paths(self, most: int, gap: float) -> PathFinder:
        """Return what finds more than the best path, see `PathFinder`."""
        return PathFinder(self.codec, self._lists, self._transitions, most, gap)

    def labels(self, text: str) -> list[list[int]]:
        """Return the chain's label of each word of each line that has words."""
        batch = _Batch.of([text], self._blanks)
        path, _ = self._decode(self._scores(batch), batch, NO_BIAS)
        starts = batch.starts.tolist()
        return [
            path[first:last].tolist()
            for first, last in pairwise(starts)
            if first < last
        ]

    def _scores(self, batch: _Batch) -> Floats:
        """Return what each label scores at each word, shape ``[words, labels]``."""
        types, tables, columns = self._types.look_up(batch.words)
        scores = np.empty((len(types), tables.shape[2]), dtype=np.float32)
        add_properties(types, batch.starts, tables, scores)
        self._conjunctions.add(types, columns, batch.starts, batch.headers, scores)
        return scores

    def _decode(
        self, scores: Floats, batch: _Batch, bias: Bias
    ) -> tuple[NDArray[np.int8], Floats]:
        """Return the label of each word, and its probability."""
        path = np.empty(len(scores), dtype=np.int8)
        sureness = np.empty(len(scores), dtype=np.float32)
        below = -1.0 if bias.below is None else bias.below
        decode(
            scores,
            batch.starts,
            self._transitions,
            self._leads,
            self._closed,
            bias.outside,
            below,
            path,
            sureness,
        )
        return path, sureness

    def _rescore(
        self,
        batch: _Batch,
        scores: Floats,
        path: NDArray[np.int8],
        sureness: Floats,
    ) -> None:
        """Exchange paths for better ones, if the model knows how."""
        if self._rescorer is not None:
            self._rescorer.improve(batch.decoded(scores, path), sureness)

    def _tagged(
        self,
        texts: Sequence[str],
        batch: _Batch,
        path: NDArray[np.int8],
        sureness: Floats,
    ) -> list[list[Tagged]]:
        found: list[list[Tagged]] = [[] for _ in texts]
        labelled = np.flatnonzero(path)
        lines = np.unique(np.searchsorted(batch.starts, labelled, "right") - 1)
        finals = labelled[np.searchsorted(labelled, batch.starts[lines + 1]) - 1]
        # Only here do words need a place: most lines hold nothing, and none past these.
        for line, final in zip(lines.tolist(), finals.tolist(), strict=True):
            number, start, end = batch.places[line]
            first, last = batch.starts[line], final + 1
            words = word_spans(texts[number], start, end, last - first)
            sure = sureness[first:last].tolist()
            labels = path[first:last].tolist()
            for span, begin, past in self.codec.decode(words, labels):
                score = min(1.0, max(0.0, min(sure[begin:past])))
                found[number].append(Tagged(span.start, span.end, span.tag, score))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Texts as words.

    Args:
        words: Of all texts, without line ends; with the blanks before them where the
            features ask for them.
        starts: Where each line starts, and past the last; lines may be empty.
        places: Of each line, the number of its text, and where it starts and ends.
        headers: Of each line.
    """

    words: list[str]
    starts: Longs
    places: list[tuple[int, int, int]]
    headers: list[str]

    @classmethod
    def of(cls, texts: Sequence[str], blanks: bool = False) -> _Batch:
        words: list[str] = []
        starts, headers = [0], []
        places: list[tuple[int, int, int]] = []
        for number, text in enumerate(texts):
            at = 0
            for line in text.split(NEWLINE):
                words += pieces(line, blanks=blanks)
                starts.append(len(words))
                headers.append(header(line))
                places.append((number, at, at + len(line)))
                at += len(line) + 1
        return cls(words, np.array(starts, dtype=np.int64), places, headers)

    def decoded(self, scores: Floats, path: NDArray[np.int8]) -> Decoded:
        """Return the batch with what the chain says of it."""
        documents = [number for number, _, _ in self.places]
        return Decoded(self.words, self.starts, documents, scores, path)
