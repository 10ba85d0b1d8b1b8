"""Quiet notes: in a long telegraphic note in which nothing is sure, doubts are dropped.

A list of settings or a report of a technique names nobody, but is full of words that
look like names.  A note about a patient nearly always has one identifier that is
beyond doubt.  Prose is another matter: dictated reports name a single person or place
often, and the tagger reads them without a bias (`density`), so its doubts count there.
So does a name that the words around, or its place under the note, show to be a
person's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from pydantic import Field

from .detection import Proposals
from .document import Annotation, Document
from .labels import Label
from .language.context import is_person_described, is_subject
from .language.density import density
from .runtime.options import Options

_NEARLY_NEVER = 1e-4
_PEOPLE = frozenset({Label.PATIENT, Label.DOCTOR})
_ENDED = re.compile(r"(?:\A|\n|[.!?])[ ]{0,3}\Z")


class QuietOptions(Options):
    """Options of the table ``[quiet]`` in a preset."""

    words: int = Field(default=100, ge=0)
    """Shorter notes are never quiet."""
    sure: float = Field(default=0.95, ge=0.0, le=1.0)
    """A note with a proposal of this score, of the lexicon or of a date apart, is not
    quiet."""
    threshold: float = Field(default=0.9, ge=0.0, le=1.0)
    """In a quiet telegraphic note the tagger must be so sure, in one that is partly
    prose less; the lexicon must be, wherever the tagger does not agree."""


def without_doubtful(
    options: QuietOptions, document: Document, found: Proposals
) -> Proposals:
    """Return the proposals of a document, of a quiet note without the doubtful ones.

    Args:
        options: When a note is quiet, and what is doubtful.
        document: Its text decides whether it is long.
        found: The proposals of all detectors.
    """
    if not found or any(_is_telling(options, each) for each in found):
        return found
    if len(document.text.split()) < options.words:
        return found
    doubtful = _doubtful(options, document, found)
    # Many doubts are a certainty: that none of them is right is too unlikely.
    if prod(1.0 - each.score for each in doubtful) < _NEARLY_NEVER:
        return found
    return [each for each in found if each not in doubtful]


def _doubtful(
    options: QuietOptions, document: Document, found: Sequence[Annotation]
) -> list[Annotation]:
    """Return the proposals that are too unsure for a quiet note."""
    least = options.threshold * density(document.text)
    read = [each for each in found if each.detector == "tagger"]
    accepted = [each.span for each in read if each.score >= least]
    listed = [
        each
        for each in found
        if each.detector == "lexicon"
        and each.score < options.threshold
        and not any(each.span.overlaps(span) for span in accepted)
    ]
    doubtful = [each for each in read if each.score < least] + listed
    return [each for each in doubtful if not _is_shown(document, each)]


def _is_shown(document: Document, proposal: Annotation) -> bool:
    """Return whether the words around make it a person, or it is under the note."""
    if proposal.label not in _PEOPLE:
        return False
    text, start, end = document.ascii, proposal.span.start, proposal.span.end
    return (
        is_person_described(text, start, end)
        or (proposal.detector == "lexicon" and is_subject(text, start, end))
        or _is_signature(text, start, end)
    )


def _is_signature(text: str, start: int, end: int) -> bool:
    """Return whether a proposal ends the note, behind a full stop or a line end."""
    return (
        not text[end:].strip(" \n/.")
        and _ENDED.search(text, max(0, start - 4), start) is not None
    )


def _is_telling(options: QuietOptions, each: Annotation) -> bool:
    """Return whether a proposal shows that the note is about somebody."""
    if each.detector == "lexicon" or each.label in (Label.DATE, Label.PROFESSION):
        return False
    return each.score >= options.sure
