"""The two sides that scorers compare, without what is neutral."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deid_core.document import Annotation
from deid_core.labels import Label

from ..corpora.conventions import Conventions
from ..corpora.corpus import Corpus, GoldDocument, GoldSpan, Prediction
from ..corpora.neutral import is_neutral


@dataclass(frozen=True, slots=True)
class Sides:
    """One document: what was to be found, and what the system said.

    Args:
        sought: The gold spans that must be found.
        annotations: All that the system said.
        charged: Those of them that are wrong where nothing is marked.
    """

    document: GoldDocument
    sought: tuple[GoldSpan, ...]
    annotations: tuple[Annotation, ...]
    charged: tuple[Annotation, ...]

    def scored(self) -> list[Annotation]:
        """Return the charged annotations, but for those on what is not sought.

        An annotation of a span that the corpus marks and nobody seeks is neither right
        nor wrong.
        """
        sought = {each.span for each in self.sought}
        others = [g.span for g in self.document.spans if g.span not in sought]
        return [
            each
            for each in self.charged
            if not any(map(each.span.overlaps, others))
            or any(map(each.span.overlaps, sought))
        ]


def sides_of(corpus: Corpus, predictions: Sequence[Prediction]) -> list[Sides]:
    """Return the sides of each document, in order.

    Args:
        corpus: What is right.
        predictions: One a document, in order.
    """
    pairs = zip(corpus.documents, predictions, strict=True)
    return [_sides(gold, said, corpus.conventions) for gold, said in pairs]


def _sides(document: GoldDocument, said: Prediction, spoken: Conventions) -> Sides:
    text = document.text

    def is_free(label: Label, start: int, end: int) -> bool:
        return not spoken.all_sought and is_neutral(label, text[start:end])

    sought = (
        each
        for each in document.spans
        if each.label is not None
        and each.tag not in spoken.neutral
        and not is_free(each.label, each.span.start, each.span.end)
    )
    charged = (
        each
        for each in said.annotations
        if each.label not in spoken.unmarked
        and not is_free(each.label, each.span.start, each.span.end)
    )
    return Sides(document, tuple(sought), said.annotations, tuple(charged))
