"""The features that a model may have if it also learned from a site's notes.

One rule.  A feature is kept if

* the annotated corpora alone have it, or
* the notes of at least so many patients have it, and it spells nothing: it is of
  shapes, number classes, cues, lists and lengths, or all of the words in it are public.

A word is public if it is in the frequent words of English, in the clinical lists or in
the annotated corpora, is no name by the lists, and is part of no value that was found
in the site's notes.  A number of more than two digits is not.  Parts of words (affixes
and trigrams) are kept from the annotated corpora alone, since enough of them spell any
word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from deid_core.language.lexicons import load_list, normal
from deid_core.language.lexicons.word_classes import WordClass, word_classes
from deid_core.research.training.encoding import Encoded, Line
from deid_core.research.training.list_sources import words_of
from deid_core.tagger.features import PAD_VALUE, SEPARATOR
from deid_core.tagger.kernels.tables import WIDTH
from deid_core.tagger.words import pieces

_SPELLED = frozenset({"word", "exact", "header"})
"""Groups and columns whose values hold whole words."""
_OF_NO_WORD = frozenset(
    ("shape", "collapsed", "length", "number", "cue", "lists", "blank", "kind")
) | {"blank_shape", "left", "right", "left_cue", "right_cue"}
"""Groups and columns whose values hold none; any other may hold parts of words."""
_PROPERTY = re.compile(r"(\w+)\[-?\d\]=")
_COLUMN = re.compile(r"(\w+):-?\d")
_WORD = re.compile(r"[^\W_]+")
_NAMES = WordClass.GIVEN | WordClass.FAMILY | WordClass.CITY
_MOST_DIGITS = 2
_LISTS = ("clinical_terms", "drugs", "institution_words")


@dataclass(frozen=True, slots=True)
class PublicWords:
    """The words that a new feature may hold.

    Args:
        words: In lower case, by lists and annotated corpora.
        found: In lower case, words of the values found in the site's notes.
    """

    words: frozenset[str] = field(repr=False)
    found: frozenset[str] = field(repr=False)

    @classmethod
    def of(cls, base: Iterable[Line], site: Iterable[Line]) -> PublicWords:
        """Return those of annotated lines, without the values of a site's lines."""
        words = set(words_of("frequent:en 0-15000"))
        for name in _LISTS:
            words |= {word for each in load_list(name) for word in each.split()}
        words |= {word.lower() for line in base for word in pieces(line.text)}
        values = (
            line.text[span.start : span.end] for line in site for span in line.spans
        )
        found = {word for each in values for word in _words(each)}
        return cls(frozenset(words), frozenset(found))

    def __contains__(self, text: object) -> bool:
        return all(map(self._is_public, _words(str(text))))

    def _is_public(self, word: str) -> bool:
        if any(map(str.isdigit, word)):
            return word.isdigit() and len(word) <= _MOST_DIGITS
        if word in self.found or word not in self.words:
            return False
        return not word_classes(normal(word)) & _NAMES


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@dataclass(frozen=True, slots=True)
class FeatureRule:
    """The rule that chooses which features of encoded lines are kept.

    Args:
        public: The words that a new feature may hold.
        patients: How many patients' notes must have a new feature.
    """

    public: PublicWords
    patients: int

    def applied(self, encoded: Encoded, base: int, owners: Sequence[int]) -> Encoded:
        """Return encoded lines with the features that are kept, and no other's name.

        Args:
            encoded: Lines of the annotated corpora, then those of the site.
            base: How many are of the annotated corpora.
            owners: The patient of each line of the site.
        """
        first = int(encoded.starts[base])
        kept = _rows_in(encoded, first)
        common = _rows_of_many(encoded, base, owners, self.patients)
        for row in np.flatnonzero(common & ~kept).tolist():
            kept[row] = spells_nothing(encoded.names[row], self.public)
        return _with_rows(encoded, kept)


def spells_nothing(name: str, public: Collection[str] | PublicWords) -> bool:
    """Return whether the name of a feature holds only public words, if any."""
    found = _PROPERTY.match(name)
    if found is not None:
        return _is_harmless(found[1], name[found.end() :], public)
    columns, _, values = name.partition("=")
    pairs = zip(_COLUMN.findall(columns), values.split(SEPARATOR), strict=True)
    return all(_is_harmless(column, value, public) for column, value in pairs)


def _is_harmless(group: str, value: str, public: Collection[str] | PublicWords) -> bool:
    if group in _OF_NO_WORD or value == PAD_VALUE:
        return True
    return group in _SPELLED and value in public


def _rows_in(encoded: Encoded, past: int) -> NDArray[np.bool_]:
    """Return, for each row, whether a word before a place has it."""
    found = np.zeros(len(encoded.names), dtype=np.bool_)
    for kind in (0, *np.unique(encoded.types[:past]).tolist()):
        found[_rows_of_type(encoded, kind)] = True
    joined = encoded.joined[:past]
    found[joined[joined >= 0]] = True
    return found


def _rows_of_many(
    encoded: Encoded, base: int, owners: Sequence[int], least: int
) -> NDArray[np.bool_]:
    """Return, for each row, whether the notes of so many patients have it."""
    first = int(encoded.starts[base])
    lengths = np.diff(encoded.starts[base:])
    owner = np.repeat(np.array(owners, dtype=np.int64), lengths)
    most = int(owner.max(initial=0)) + 1
    counts = np.zeros(len(encoded.names), dtype=np.int64)
    for column in range(encoded.joined.shape[1]):
        rows = encoded.joined[first:, column].astype(np.int64)
        has_row = rows >= 0
        pairs = np.unique(rows[has_row] * most + owner[has_row])
        counts += np.bincount(pairs // most, minlength=len(counts))
    kinds = encoded.types[first:]
    for each in np.unique(owner).tolist():
        own = np.unique(kinds[owner == each]).tolist()
        rows = np.concatenate([_rows_of_type(encoded, kind) for kind in own])
        counts[np.unique(rows)] += 1
    return counts >= least


def _rows_of_type(encoded: Encoded, kind: int) -> NDArray[np.int32]:
    """Return a type's rows at all offsets."""
    first, last = encoded.pointers[kind * WIDTH], encoded.pointers[(kind + 1) * WIDTH]
    return encoded.rows[first:last]


def _with_rows(encoded: Encoded, kept: NDArray[np.bool_]) -> Encoded:
    numbers = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    has_row = kept[encoded.rows]
    before = np.concatenate(([0], np.cumsum(has_row)))
    return replace(
        encoded,
        pointers=before[encoded.pointers].astype(np.int64),
        rows=numbers[encoded.rows[has_row]],
        joined=np.where(encoded.joined >= 0, numbers[encoded.joined], -1).astype(
            np.int32
        ),
        names=[
            name for name, is_kept in zip(encoded.names, kept, strict=True) if is_kept
        ],
    )
