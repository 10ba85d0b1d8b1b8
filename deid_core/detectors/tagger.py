"""The sequence tagger as a detector."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from deid_core.document import Annotation, Document, Span
from deid_core.labels import Label
from deid_core.language.density import density
from deid_core.language.fragments import same_length_lower
from deid_core.language.lexicons import forms_of
from deid_core.runtime.options import Options
from deid_core.runtime.toml_files import refuse_unknown

from . import spanish
from .name_edges import (
    before_terms,
    begins_phrase,
    is_allergen,
    is_drug,
    is_ion,
    is_label_of_narrative,
    is_result,
    is_small_word,
    is_unit,
    name_before_date,
)
from .overhang import without_overhang
from .place_parts import parts_of, whole_of
from .rules.dates.bare import BareDays
from .tagged_numbers import identifying

if TYPE_CHECKING:
    from deid_core.tagger.compiled import Tagged


_PEOPLE = frozenset({Label.PATIENT, Label.DOCTOR})
_SURE_OF_NAME = 0.8
"""From this probability on, a word that is nobody's name may be a person's."""


class TaggerOptions(Options):
    """Options of the table ``[tagger]`` in a preset."""

    model: str
    """A model that comes with the library, or the path of a model's folder."""
    threshold: float = Field(default=0.0, ge=0.0, le=1.0)
    """What the model is less sure of is not proposed."""
    outside_bias: float = Field(default=0.0, ge=-10.0, le=10.0)
    """Taken off the score of "no identifier" at each word: more recall, less precision
    (Minkov and others 2006)."""
    prose_bias: float | None = Field(default=None, ge=-10.0, le=10.0)
    """The ``outside_bias`` of prose; notes that are more or less telegraphic get what
    is between both (`density`).  None: all notes get the same."""
    outside_below: float | None = Field(default=None, ge=0.0, le=1.0)
    """A word that is no identifier with no higher probability is proposed as what it
    most probably is (Deleger and others 2013, MCRF, .85 to .99)."""
    left_out: Mapping[str, Annotated[frozenset[str], Field(strict=False)]] = {}
    """By tag of the model, words in compared form that are no identifiers under it:
    what consists of them alone is not proposed."""
    one_case_model: str = ""
    """A model that learned lower case alone, and reads notes of one letter case."""
    one_case_bias: float = Field(default=0.0, ge=-10.0, le=10.0)
    """Its own ``outside_bias``."""
    digests: Mapping[str, str] = {}
    """By model, as named above, the digest that ``python -m deid_core.tagger.digests``
    prints; without one that of the package or of the model's folder counts."""


class TaggerDetector:
    """Propose what a trained model finds.

    An annotation bears the model's own tag where it is not one of our labels, and its
    rule names model and tag: ``meddocan/calle``.

    Args:
        options: Which models, and how sure they must be.

    Raises:
        ConfigError: A model is unknown, damaged, or of another format, or has not the
            tags that are left out.
    """

    name = "tagger"

    def __init__(self, options: TaggerOptions) -> None:
        below = options.outside_below
        self._biases = _Biases(options.outside_bias, options.prose_bias)
        digests = options.digests
        refuse_unknown(
            [*digests],
            (options.model, options.one_case_model),
            "tagger: digests: model",
        )
        self._read = _Reader(options.model, digests, below, options.left_out)
        self._small: _OneCase | None = None
        if options.one_case_model:
            self._small = _OneCase(options.one_case_model, digests, below)
        self._small_biases = _Biases(options.one_case_bias, options.prose_bias)
        # Whether a note is of one case is seen in the note as it was written.
        self.reads_as_written = self._small is not None
        self._threshold = options.threshold

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return the proposals for each document."""
        found = self._read_small_letters(documents)
        mixed = [at for at, each in enumerate(found) if each is None]
        texts = [documents[at].in_mixed_case.text for at in mixed]
        read = iter(self._read(texts, self._biases.of(texts)))
        return [
            list(self._accepted(document, next(read) if own is None else own))
            for document, own in zip(documents, found, strict=True)
        ]

    def _read_small_letters(
        self, documents: Sequence[Document]
    ) -> list[list[Annotation] | None]:
        """Return what is found in notes of one letter case, and None for all others."""
        found: list[list[Annotation] | None] = [None] * len(documents)
        if self._small is None:
            return found
        small = [at for at, each in enumerate(documents) if each.is_in_one_case]
        if not small:
            return found
        texts = [same_length_lower(documents[at].text) for at in small]
        read = self._small.reader(texts, self._small_biases.of(texts))
        for at, each in zip(small, read, strict=True):
            found[at] = each
        return found

    def _accepted(
        self, document: Document, found: Sequence[Annotation]
    ) -> Iterator[Annotation]:
        sure = (each for each in found if each.score >= self._threshold)
        if not self._read.is_english:
            yield from sure
            return
        folded = document.ascii
        days = BareDays(folded)
        for each in sure:
            if _is_term(folded, each, document.is_in_one_case):
                continue
            for start, end, label in _pieces(folded, each):
                trimmed = without_overhang(folded, start, end, label)
                if trimmed is None:
                    continue
                whole = whole_of(folded, *trimmed, label)
                for place in identifying(days, *whole, label, each.score):
                    for span, part in parts_of(folded, *place, label):
                        is_same = span == each.span and part is each.label
                        yield each if is_same else replace(each, span=span, label=part)


def _pieces(text: str, proposal: Annotation) -> Iterator[tuple[int, int, Label]]:
    """Yield start, end and label of the name or the date that a proposal holds."""
    start, end, label = proposal.span.start, proposal.span.end, proposal.label
    if label in _PEOPLE:
        end = before_terms(text, start, end)
    elif label is Label.DATE:
        named = name_before_date(text, start, end)
        if named > start:
            yield start, named, Label.PATIENT
            start = end - len(text[named:end].lstrip(" ,"))
    yield start, end, label


def _is_term(text: str, proposal: Annotation, is_in_one_case: bool) -> bool:
    """Return whether a proposed name or place is a unit, a drug or a result."""
    start, end = proposal.span.start, proposal.span.end
    if proposal.label.main == "LOCATION":
        return is_allergen(text, start)
    if proposal.label.main != "NAME":
        return False
    if any(each(text, start, end) for each in (is_unit, is_ion, is_label_of_narrative)):
        return True
    may_be_word = proposal.label in _PEOPLE and not is_in_one_case
    return proposal.score < _SURE_OF_NAME and (
        (may_be_word and is_small_word(text, start, end))
        or is_drug(text[start:end])
        or is_result(text, start, end)
        or begins_phrase(text, start)
    )


@dataclass(frozen=True, slots=True)
class _Biases:
    """Biases that are taken off the score of "no identifier".

    Args:
        telegraphic: In telegraphic notes.
        prose: In prose; None for as much.
    """

    telegraphic: float
    prose: float | None

    def of(self, texts: Sequence[str]) -> float | list[float]:
        """Return the bias of all texts, or that of each."""
        if self.prose is None:
            return self.telegraphic
        least, most = self.prose, self.telegraphic
        return [least + (most - least) * density(each) for each in texts]


class _OneCase:
    """The reader of notes of one letter case, whose tables are made at the first one.

    Args:
        name: Of its model, which is checked at once.
        digests: See `TaggerOptions`.
        below: The option ``outside_below`` of `TaggerOptions`.
    """

    def __init__(
        self, name: str, digests: Mapping[str, str], below: float | None
    ) -> None:
        from deid_core.tagger.model_files import require_model

        require_model(name, digests.get(name, ""))
        self._make = partial(_Reader, name, digests, below, {})
        self._made: _Reader | None = None
        self._lock = Lock()

    @property
    def reader(self) -> _Reader:
        """The reader; the first use takes some tenths of a second."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


class _Reader:
    """A compiled model: texts in, what it finds in each out, in order."""

    def __init__(
        self,
        name: str,
        digests: Mapping[str, str],
        below: float | None,
        left_out: Mapping[str, frozenset[str]],
    ) -> None:
        # Here, so that a preset without the tagger does not load its compiler.
        from deid_core.tagger.compiled import Bias, CompiledModel
        from deid_core.tagger.model_files import load_tables

        model = load_tables(name, digests.get(name, ""))
        refuse_unknown([*left_out], tuple(model.tags), "tagger: left_out: tag")
        self._left_out = left_out
        self._is_spanish = model.language == spanish.LANGUAGE
        self.is_english = model.language == "en"
        self._compiled = CompiledModel(model)
        self._bias = partial(Bias, below=below)
        self._labels = model.tags
        self._rules = {tag: _rule(model.name, tag) for tag in model.tags}

    def __call__(
        self, texts: Sequence[str], outside: float | Sequence[float]
    ) -> list[list[Annotation]]:
        if not texts:
            return []
        found = [
            [self._annotation(one) for one in each if not self._is_left_out(text, one)]
            for text, each in zip(
                texts, self._compiled.tag(texts, self._bias(outside)), strict=True
            )
        ]
        if self._is_spanish:
            return list(map(spanish.renamed, texts, found))
        return found

    def _is_left_out(self, text: str, found: Tagged) -> bool:
        allowed = self._left_out.get(found.tag)
        if allowed is None:
            return False
        return allowed.issuperset(forms_of(text[found.start : found.end]))

    def _annotation(self, found: Tagged) -> Annotation:
        label = self._labels[found.tag]
        return Annotation(
            Span(found.start, found.end),
            label,
            found.score,
            TaggerDetector.name,
            self._rules[found.tag],
            tag="" if found.tag == label.value else found.tag,
        )


def _rule(model: str, tag: str) -> str:
    """Return what audit events call the tag of a model: small letters, no colon."""
    return re.sub(r"[^a-z0-9_./~-]", "_", f"{model}/{tag}".lower())
