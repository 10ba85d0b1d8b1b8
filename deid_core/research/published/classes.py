"""The classes of a published system: their labels here, and their encoding by word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.tagger.codec import OUTSIDE, Bio, TagSpan


class Codec(Protocol):
    """Converts between classes of spans and labels of words; label 0 is outside."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in order of their numbers."""
        ...

    def encode(
        self, words: Sequence[range], spans: Iterable[TagSpan]
    ) -> NDArray[np.int8]:
        """Return the label of each word."""
        ...

    def decode(
        self, words: Sequence[range], labels: Sequence[int]
    ) -> list[tuple[TagSpan, int, int]]:
        """Return the spans, each with its half-open range of words."""
        ...


@dataclass(frozen=True, slots=True)
class Single:
    """Each word has a class of its own, as in systems that classify words.

    Adjacent words of one class are one span.

    Args:
        tags: Distinct; their order numbers the labels.
    """

    tags: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in order of their numbers."""
        return (OUTSIDE, *self.tags)

    def encode(
        self, words: Sequence[range], spans: Iterable[TagSpan]
    ) -> NDArray[np.int8]:
        """Return the label of each word; a span has every word that it overlaps."""
        labels = np.zeros(len(words), dtype=np.int8)
        for span in spans:
            number = 1 + self.tags.index(span.tag)
            for at, word in enumerate(words):
                if word.start < span.end and span.start < word.stop:
                    labels[at] = number
        return labels

    def decode(
        self, words: Sequence[range], labels: Sequence[int]
    ) -> list[tuple[TagSpan, int, int]]:
        """Return the spans, each with its half-open range of words."""
        found: list[tuple[TagSpan, int, int]] = []
        for at, label in enumerate(labels):
            if label == 0:
                continue
            tag, start, first = self.tags[label - 1], words[at].start, at
            if found and found[-1][2] == at and found[-1][0].tag == tag:
                last, first, _ = found.pop()
                start = last.start
            found.append((TagSpan(start, words[at].stop, tag), first, at + 1))
        return found


SCHEMES: Mapping[str, type[Bio] | type[Single]] = {"bio": Bio, "single": Single}
"""Every encoding by its name in recipes."""


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes that a system distinguishes.

    Args:
        scheme: Name in `SCHEMES`.
        labels: The labels of each class; the first is the one that is proposed.  Labels
            in no class are not learned.
    """

    scheme: str
    labels: Mapping[str, tuple[Label, ...]]

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            known = ", ".join(SCHEMES)
            raise ConfigError(f"scheme {self.scheme!r} is unknown; known: {known}")
        every = [label for each in self.labels.values() for label in each]
        if len({*every}) < len(every) or not all(self.labels.values()):
            raise ConfigError("classes: one has no label, or two share one")

    @property
    def codec(self) -> Codec:
        """The encoding of the classes by word."""
        return SCHEMES[self.scheme](tuple(self.labels))

    def class_of(self, label: Label) -> str | None:
        """Return the class of a label, or None."""
        return next((n for n, each in self.labels.items() if label in each), None)

    def label_of(self, name: str) -> Label:
        """Return the label that is proposed for a class."""
        return self.labels[name][0]
