"""A trained system of words: from a text to its marked stretches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from deid_core.tagger.compiled import NO_BIAS, Bias, Tagged

from .classes import Classes
from .extractor import Extractor, Features
from .predictors import Predictor
from .resources import Resources
from .rows import Rows
from .sentences import sentences
from .tokenizers import TOKENIZERS


@dataclass(frozen=True)
class TokenModel:
    """All that tagging needs.  Thread-safe; what it caches changes no result.

    Args:
        name: Of its recipe.
        tokenizer: Name in `TOKENIZERS`.
        classes: What it tells apart.
        features: What it looks at.
        resources: What it knows beside.
        names: Of the features, in the order of the predictor's columns.
        predictor: What it learned.
        trained: How; for the reader.
    """

    name: str
    tokenizer: str
    classes: Classes
    features: Features
    resources: Resources = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    predictor: Predictor = field(repr=False)
    trained: Mapping[str, Any] = field(default_factory=dict)

    def tag(self, text: str, bias: Bias = NO_BIAS) -> list[Tagged]:
        """Return the tagged stretches of a text, ordered and disjoint."""
        found = sentences(text, TOKENIZERS[self.tokenizer])
        if not found:
            return []
        rows = Rows.of(map(self._extractor.names, found), self._columns)
        labels, sureness = self.predictor.decide(rows, bias)
        tagged = []
        starts = rows.starts.tolist()
        for sentence, first, last in zip(found, starts, starts[1:], strict=False):
            of_words = labels[first:last]
            if not of_words.any():
                continue
            decoded = self.classes.codec.decode(sentence.places, of_words.tolist())
            for span, begin, past in decoded:
                score = float(sureness[first + begin : first + past].min())
                tagged.append(Tagged(span.start, span.end, span.tag, score))
        return tagged

    @cached_property
    def _extractor(self) -> Extractor:
        return Extractor(self.features, self.resources)

    @cached_property
    def _columns(self) -> Mapping[str, int]:
        return {name: at for at, name in enumerate(self.names)}
