"""Extract the features of each word of a sentence: feature groups in windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deid_core.errors import ConfigError
from deid_core.research.published.sentences import Sentence
from deid_core.tagger.features import PAD, PAD_VALUE, property_name

from .groups import SENTENCE_GROUPS, WORD_GROUPS, Column
from .resources import Resources

FARTHEST = 7
"""The largest offset of a window."""
_TYPES = 32_768

Window = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Features:
    """The feature groups of a model.

    Args:
        windows: The first and last offset from the word, by group.
    """

    windows: Mapping[str, Window]

    def __post_init__(self) -> None:
        known = (*WORD_GROUPS, *SENTENCE_GROUPS)
        for name, (first, last) in self.windows.items():
            if name not in known:
                raise ConfigError(
                    f"feature {name!r} is unknown; known: {', '.join(known)}"
                )
            if not -FARTHEST <= first <= last <= FARTHEST:
                raise ConfigError(f"feature {name!r}: not [first, last] within 7")

    def without(self, names: Sequence[str]) -> Features:
        """Return the features without some groups.

        Raises:
            ConfigError: A group is not among them.
        """
        for name in names:
            if name not in self.windows:
                known = ", ".join(self.windows)
                raise ConfigError(f"without {name!r}: not there; there are: {known}")
        left = {n: window for n, window in self.windows.items() if n not in names}
        return Features(left)


class Extractor:
    """Extracts the features of sentences.  Thread-safe; its cache changes no result.

    Args:
        features: Groups and windows.
        resources: Dictionaries and vocabularies of the groups.
    """

    def __init__(self, features: Features, resources: Resources) -> None:
        of_word = {n: w for n, w in features.windows.items() if n in WORD_GROUPS}
        self._of_word = of_word
        self._of_sentence = {
            n: w for n, w in features.windows.items() if n in SENTENCE_GROUPS
        }
        self._offsets = sorted(
            {o for first, last in of_word.values() for o in range(first, last + 1)}
        )
        self._resources = resources
        self._known: dict[str, dict[int, tuple[str, ...]]] = {}

    def names(self, sentence: Sentence) -> list[list[str]]:
        """Return the names of each word's features, without duplicates."""
        types = [self._type(word) for word in sentence.words]
        pad, count = self._type(PAD), len(types)
        found: list[list[str]] = [[] for _ in types]
        for at, names in enumerate(found):
            for offset in self._offsets:
                place = at + offset
                seen = types[place] if 0 <= place < count else pad
                names += seen[offset]
        for group, window in self._of_sentence.items():
            column = SENTENCE_GROUPS[group](sentence, self._resources)
            _add(found, group, window, column)
        return found

    def _type(self, word: str) -> dict[int, tuple[str, ...]]:
        found = self._known.get(word)
        if found is None:
            if len(self._known) >= _TYPES:
                self._known = {}
            found = self._known[word] = self._names_of(word)
        return found

    def _names_of(self, word: str) -> dict[int, tuple[str, ...]]:
        lists = self._resources.lists
        values = {
            group: [PAD_VALUE] if word == PAD else WORD_GROUPS[group](word, lists)
            for group in self._of_word
        }
        return {
            offset: tuple(
                property_name(group, offset, value)
                for group, (first, last) in self._of_word.items()
                if first <= offset <= last
                for value in dict.fromkeys(values[group])
            )
            for offset in self._offsets
        }


def _add(found: list[list[str]], group: str, window: Window, column: Column) -> None:
    first, last = window
    for at, names in enumerate(found):
        for place in range(max(0, at + first), min(len(column), at + last + 1)):
            names += (property_name(group, place - at, each) for each in column[place])
