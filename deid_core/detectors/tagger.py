"""The sequence tagger as a detector."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import Field

from ..document import Annotation, Document, Span
from .fragments import fold
from .options import Options

if TYPE_CHECKING:
    from ..tagger.compiled import Tagged


class TaggerOptions(Options):
    """Options of the table ``[tagger]`` in a preset."""

    model: str
    """A model that comes with the library, or the path of a model's folder."""
    threshold: float = Field(default=0.0, ge=0.0, le=1.0)
    """What the model is less sure of is not proposed."""
    outside_bias: float = Field(default=0.0, ge=-10.0, le=10.0)
    """Taken off the score of "no identifier" at each word: more recall, less precision
    (Minkov and others 2006)."""
    outside_below: float | None = Field(default=None, ge=0.0, le=1.0)
    """A word that is no identifier with no higher probability is proposed as what it
    most probably is (Deleger and others 2013, MCRF, .85 to .99)."""
    veto: bool = False
    """Whether headings, devices and drugs of English are refused (`veto`)."""


class TaggerDetector:
    """Propose what a trained model finds.

    An annotation bears the model's own tag where it is not one of our labels, and its
    detector names model and tag: ``tagger/meddocan/calle``.

    Args:
        options: Which model, and how sure it must be.

    Raises:
        ConfigError: The model is unknown, damaged, or of another format.
    """

    name = "tagger"

    def __init__(self, options: TaggerOptions) -> None:
        # Here, so that a preset without the tagger does not load its compiler.
        from ..tagger.compiled import Bias, CompiledModel
        from ..tagger.model_files import load_model

        model = load_model(options.model)
        self._compiled = CompiledModel(model)
        self._bias = Bias(options.outside_bias, options.outside_below)
        self._threshold = options.threshold
        self._veto = options.veto
        self._labels = model.tags
        self._rules = {tag: _rule(model.name, tag) for tag in model.tags}

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return the proposals for each document, left to right, disjoint."""
        found = self._compiled.tag([each.text for each in documents], self._bias)
        return [
            list(self._accepted(document.text, tagged))
            for document, tagged in zip(documents, found, strict=True)
        ]

    def _accepted(self, text: str, found: Sequence[Tagged]) -> Iterator[Annotation]:
        sure = [each for each in found if each.score >= self._threshold]
        if not self._veto or not sure:
            yield from map(self._annotation, sure)
            return
        from .veto import is_vetoed, without_words

        folded = fold(text)
        for each in sure:
            label = self._labels[each.tag]
            start, end = without_words(folded, each.start, each.end)
            if not is_vetoed(folded, start, end, label):
                yield replace(self._annotation(each), span=Span(start, end))

    def _annotation(self, found: Tagged) -> Annotation:
        label = self._labels[found.tag]
        return Annotation(
            Span(found.start, found.end),
            label,
            found.score,
            self._rules[found.tag],
            tag="" if found.tag == label.value else found.tag,
        )


def _rule(model: str, tag: str) -> str:
    """Return what audit events call the detector: small letters, no colon."""
    return re.sub(r"[^a-z0-9_./~-]", "_", f"tagger/{model}/{tag}".lower())
