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
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .codec import Bio, runs_of
from .compiled_rescoring import CompiledRescorer, Decoded, PathFinder
from .kernels.decoding import decode
from .kernels.tables import add_properties
from .model import Model
from .model_tables import ModelTables, TableLists
from .score_tables import Conjunctions, TypeTables
from .words import PlacedWords

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
    """Biases that trade precision for recall.

    Args:
        outside: Taken off the score of "outside" at each word (Minkov's bias): one
            number, or one for each text.
        below: A word that is outside with no higher probability gets its most probable
            tag (MCRF's threshold); None for no such thing.
    """

    outside: float | Sequence[float] = 0.0
    below: float | None = None


NO_BIAS = Bias()


class CompiledModel:
    """Tags texts.  Thread-safe; what it caches changes no result.

    Args:
        tables: Of the model.
        most_types: How many words' tables are kept.
    """

    def __init__(self, tables: ModelTables, *, most_types: int = 16_384) -> None:
        self.codec: Bio = tables.codec
        self._lists = TableLists(tables)
        self._blanks = tables.features.blanks
        self._types = TypeTables(tables, most_types)
        self._conjunctions = Conjunctions(tables)
        self._labels = len(self.codec.labels)
        self._transitions = tables.transitions
        self._rescorer: CompiledRescorer | None = None
        if tables.rescorer is not None:
            self._rescorer = CompiledRescorer(
                tables.rescorer, self.codec, self._lists, self._transitions
            )

    @classmethod
    def of(cls, model: Model, *, most_types: int = 16_384) -> Self:
        """Return a model compiled in memory."""
        return cls(ModelTables.of(model), most_types=most_types)

    def tag(self, texts: Sequence[str], bias: Bias = NO_BIAS) -> list[list[Tagged]]:
        """Return the tagged stretches of each text, ordered and disjoint.

        A threshold of the bias is of the chain alone: nothing is rescored then.
        """
        words = PlacedWords.of(texts, blanks=self._blanks)
        scores = self._scores(words)
        path, sureness = self._decode(scores, words, bias)
        if bias.below is None:
            self._rescore(words, scores, path, sureness)
        return self._tagged(words, path, sureness)

    def chain(self, texts: Sequence[str]) -> Decoded:
        """Return what the chain alone says of texts."""
        words = PlacedWords.of(texts, blanks=self._blanks)
        scores = self._scores(words)
        path, _ = self._decode(scores, words, NO_BIAS)
        return Decoded(words, scores, path)

    def paths(self, most: int, gap: float) -> PathFinder:
        """Return what finds more than the best path, see `PathFinder`."""
        return PathFinder(self.codec, self._lists, self._transitions, most, gap)

    def labels(self, text: str) -> list[list[int]]:
        """Return the chain's label of each word of each line that has words."""
        words = PlacedWords.of([text], blanks=self._blanks)
        path, _ = self._decode(self._scores(words), words, NO_BIAS)
        return [
            path[first:last].tolist()
            for first, last in pairwise(words.starts.tolist())
            if first < last
        ]

    def _scores(self, words: PlacedWords) -> Floats:
        """Return what each label scores at each word, shape ``[words, labels]``."""
        types, tables, columns = self._types.look_up(words)
        scores = np.empty((len(types), tables.shape[2]), dtype=np.float32)
        add_properties(types, words.starts, tables, scores)
        self._conjunctions.add(types, columns, words, scores)
        return np.ascontiguousarray(scores[:, : self._labels])

    def _decode(
        self, scores: Floats, words: PlacedWords, bias: Bias
    ) -> tuple[NDArray[np.int8], Floats]:
        """Return the label of each word, and its probability."""
        path = np.empty(len(scores), dtype=np.int8)
        sureness = np.empty(len(scores), dtype=np.float32)
        below = -1.0 if bias.below is None else bias.below
        outside = np.empty(len(words.starts) - 1, dtype=np.float32)
        if isinstance(bias.outside, float):
            outside.fill(bias.outside)
        else:
            outside[:] = np.array(bias.outside)[words.text_of_line]
        decode(
            scores,
            words.starts,
            self._transitions,
            outside,
            below,
            path,
            sureness,
        )
        return path, sureness

    def _rescore(
        self,
        words: PlacedWords,
        scores: Floats,
        path: NDArray[np.int8],
        sureness: Floats,
    ) -> None:
        """Exchange paths for better ones, if the model knows how."""
        if self._rescorer is not None:
            self._rescorer.improve(Decoded(words, scores, path), sureness)

    def _tagged(
        self, words: PlacedWords, path: NDArray[np.int8], sureness: Floats
    ) -> list[list[Tagged]]:
        """Return the stretches of each text: in most lines there is none."""
        firsts, pasts = runs_of(path, words.starts)
        texts = np.searchsorted(words.texts, words.begins[firsts], "right") - 1
        begins = words.begins[firsts] - words.texts[texts]
        ends = words.ends[pasts - 1] - words.texts[texts]
        tags = (path[firsts] - 1) // 2
        counts = pasts - firsts
        sure = np.minimum.reduceat(sureness[path > 0], np.cumsum(counts) - counts)
        found: list[list[Tagged]] = [[] for _ in words.texts]
        columns = (texts, begins, ends, tags, sure)
        for text, begin, end, tag, score in zip(
            *(each.tolist() for each in columns), strict=True
        ):
            name = self.codec.tags[tag]
            found[text].append(Tagged(begin, end, name, min(1.0, max(0.0, score))))
        return found
