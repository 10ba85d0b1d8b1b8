"""Small gold documents, written so that one reads what is gold and what is said.

«Guillemets» hold a gold span with its tag, ``«Ann Lee|PATIENT»``; predictions are given
by the text that they cover.
"""

from __future__ import annotations

import re
from pathlib import Path

from deid_core import Annotation, Label, Span
from deid_core.research.corpora.conventions import Conventions, conventions_for
from deid_core.research.corpora.corpus import Corpus, GoldDocument, GoldSpan, Prediction
from deid_core.research.scoring.evaluation import Outcome


def gold(marked, conventions, id="d", decoys=()):
    """Return the document of a marked text; decoys are named by their text."""
    spans, text = [], ""
    for piece in re.split(r"(«[^»]*»)", marked):
        if piece.startswith("«"):
            inner, _, tag = piece.strip("«»").rpartition("|")
            span = Span(len(text), len(text) + len(inner))
            spans.append(GoldSpan(span, tag, conventions.label_of(tag), len(spans)))
            piece = inner
        text += piece
    return GoldDocument(id, text, tuple(spans), tuple(place(text, d) for d in decoys))


def place(text, inner):
    start = text.index(inner)
    return Span(start, start + len(inner))


def say(text, *said):
    """Return the prediction of (text, label) pairs, each where it stands first."""
    annotations = [
        Annotation(place(text, inner), label, 1.0, "t") for inner, label in said
    ]
    return Prediction(tuple(sorted(annotations, key=lambda a: a.span)))


def perfect(document, conventions):
    """Return the prediction that says exactly what is gold."""
    return Prediction(
        tuple(
            Annotation(each.span, each.label, 1.0, "t")
            for each in document.spans
            if each.label is not None
        )
    )


def corpus_of(*documents, conventions):
    return Corpus("c", "all 1-", False, conventions, documents)


def outcome(marked, *said, conventions, decoys=()):
    """Return the outcome of one document."""
    document = gold(marked, conventions, decoys=decoys)
    corpus = corpus_of(document, conventions=conventions)
    return Outcome.of(corpus, [say(document.text, *said)])


def figures(measures):
    """Return {name: value}, or {name of: value} for a label's."""
    return {f"{m.name} {m.of}".strip(): m.value for m in measures}


PLAIN = conventions_for(Path("nowhere.jsonl"))
ALL_SOUGHT = Conventions("all", PLAIN.tags, all_sought=True)
PATIENT, DOCTOR, DATE, AGE = Label.PATIENT, Label.DOCTOR, Label.DATE, Label.AGE
