"""Scores of words and of conjunctions, looked up in a model's tables.

`TypeTables` holds what each word gives to itself and to its neighbours, in a bounded
cache; `Conjunctions` looks up what columns give together.
"""

from __future__ import annotations

from threading import Lock

import numpy as np
from numpy.typing import NDArray

from .features import WORD_COLUMNS, bare, header
from .forms import forms_of, forms_of_strings
from .kernels.cues import cue_columns, without_distance
from .kernels.first_sight import Forms, learn
from .kernels.tables import add_conjunctions
from .model_tables import ModelTables, TableLists
from .words import PlacedWords, WordNumbers, code_points

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]
_MOST_LETTERS = 1 << 20
"""More of them are not kept either: words of ordinary notes have six each."""


class TypeTables:
    """Numbers words, and keeps each one's table of scores.  Thread-safe.

    Args:
        tables: Of the model.
        most: How many words are kept; then all are forgotten.
    """

    def __init__(self, tables: ModelTables, most: int) -> None:
        self._values, self._pad, self._most = tables.values, tables.pad, most
        self._lists = TableLists(tables)
        self._cue_numbers = {
            name: number for number, name in enumerate(tables.cue_classes)
        }
        self._lock = Lock()
        self._forget()

    def look_up(self, words: PlacedWords) -> tuple[Ints, Floats, Ints]:
        """Return each word's number, and by number the tables and columns.

        Returns:
            Numbers, shape ``[words]``; tables, ``[numbers, 7, labels]``; the numbers
            of `WORD_COLUMNS`, ``[numbers, columns]``, -1 for none.
        """
        with self._lock:
            numbers, unknown = self._numbers.of(words)
            if unknown:
                self._learn(words, numbers, unknown)
            return numbers, self._tables, self._columns

    def _learn(self, words: PlacedWords, numbers: Ints, unknown: int) -> None:
        """Number the words that have none, and fill their rows."""
        is_full = len(self._numbers) + unknown > len(self._tables)
        if is_full or self._numbers.letters > _MOST_LETTERS:
            self._forget(len(words))
            numbers[:] = -1
        first = len(self._numbers)
        self._numbers.add(words.codes, words.leads, words.ends, numbers)
        if len(self._numbers) > len(self._tables):
            # This batch alone has more words than are kept.
            self._make_room(len(self._numbers))
        codes, begins, ends = self._numbers.since(first)
        forms, plain, others = forms_of(codes, begins, ends)
        self._fill(forms, first + plain)
        if others:
            rows = np.delete(np.arange(first, len(self._numbers)), plain)
            self._fill(forms_of_strings(others), rows)

    def _fill(self, forms: Forms, rows: Longs) -> None:
        cues = np.full(len(rows), -1, dtype=np.int32)
        if self._lists.cue_patterns:
            cues[:] = self._pattern_cues(forms)
        learn(forms, cues, self._values, rows, self._tables, self._columns)

    def _pattern_cues(self, forms: Forms) -> list[int]:
        text = forms.exact.tobytes().decode("utf-32-le", "surrogatepass")
        places = zip(forms.begins.tolist(), forms.ends.tolist(), strict=True)
        found = (
            self._lists.cue_by_pattern(bare(text[begin:end])) for begin, end in places
        )
        return [-1 if name is None else self._cue_numbers[name] for name in found]

    def _forget(self, needed: int = 0) -> None:
        self._numbers = WordNumbers(max(self._most, needed) + 1)
        # Number 0 is what lies beyond a line: a word without letters.
        nothing = np.zeros(1, dtype=np.int32)
        self._numbers.add(_NO_CODES, nothing, nothing, nothing - 1)
        self._make_room(self._most + 1)

    def _make_room(self, most: int) -> None:
        # New arrays: another thread may still read the old ones.
        self._tables = np.empty((most, *self._pad.shape), dtype=np.float32)
        self._columns = np.empty((most, len(WORD_COLUMNS)), dtype=np.int32)
        self._tables[0], self._columns[0] = self._pad, -1


_NO_CODES = code_points("").copy()


class Conjunctions:
    """Adds what a model's conjunctions give.  Thread-safe.

    Args:
        tables: Of the model.
    """

    def __init__(self, tables: ModelTables) -> None:
        self._columns = tables.features.columns
        self._headers = tables.headers
        self._tables = tables.joins

    def add(
        self,
        types: Ints,
        type_columns: Ints,
        words: PlacedWords,
        scores: Floats,
    ) -> None:
        """Add to the scores of a batch of lines.

        Args:
            types: Of each word, shape ``[words]``.
            type_columns: The numbers of `WORD_COLUMNS`, ``[types, columns]``.
            words: Of all lines.
            scores: Added to, shape ``[words, labels]``.
        """
        if len(self._tables.parts):
            columns = self._column_matrix(types, type_columns, words)
            add_conjunctions(columns, words.starts, self._tables, scores)

    def _column_matrix(
        self, types: Ints, type_columns: Ints, words: PlacedWords
    ) -> Ints:
        """Return the number of each column and word, shape ``[columns, words]``."""
        of_words = dict(zip(WORD_COLUMNS, type_columns.T, strict=True))
        found = {}
        if any(each.startswith(("left", "right")) for each in self._columns):
            left, right = cue_columns(of_words["cue"][types], words.starts)
            found = {"left": left, "right": right}
            found["left_cue"] = without_distance(left)
            found["right_cue"] = without_distance(right)
        matrix = np.empty((len(self._columns), len(types)), dtype=np.int32)
        for at, column in enumerate(self._columns):
            if column in of_words:
                np.take(of_words[column], types, out=matrix[at])
            elif column == "header":
                headers = map(header, words.lines)
                numbers = [self._headers.get(each, -1) for each in headers]
                matrix[at] = np.repeat(numbers, np.diff(words.starts))
            else:
                matrix[at] = found[column]
        return matrix
