"""Write the scrubbed text: what the policy says in place of every annotation.

What a style cannot do for a value fails closed: the tag is written, never the value.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate

from .document import (
    PATIENT_RECORD,
    Annotation,
    Document,
    KnownIdentifiers,
    OffsetMap,
    Row,
    Span,
)
from .errors import ConfigError
from .labels import Label
from .language.reading import is_visible
from .policy import Policy
from .surrogates import STYLES, Style
from .surrogates.crosswalk import Crosswalk, RecordCache
from .surrogates.date_text import lone_weekday
from .surrogates.dates import old_year, reveals_old_age
from .surrogates.keys import SecretKey
from .surrogates.places import is_kept_country
from .surrogates.real import Found, found_in, without_separators
from .surrogates.tag import tag_of

_MAX_RECORDS = 1024
_TAG, _SHIFT, _KEEP = STYLES["tag"], STYLES["shift"], STYLES["keep"]
_INVENTING = (STYLES["surrogate"], STYLES["generalise"], STYLES["shift"])
"""Styles that write a number for a number."""
_SURE: Mapping[Label, float] = {
    **{label: 0.85 for label in Label if label.main == "ID"},
    **dict.fromkeys((Label.ZIP, Label.PHONE, Label.FAX), 0.85),
    Label.DATE: 0.65,
}
"""By label of numbers, from which score on none is a result."""
_COMPANION = 0.05
_WEEKDAY = re.compile(
    r"\b(?<!\bgood )(?<!\bash )(?:mon|tues|wednes|thurs|fri|satur|sun)day(?=s?\b)",
    re.IGNORECASE,
)
_PARTS_OF_ADDRESS = {
    Label.CITY: "city",
    Label.STATE: "state",
    Label.ZIP: "zip",
    Label.COUNTRY: "country",
}


@dataclass(frozen=True, slots=True)
class Replacement:
    """An annotation and the text to write in its place."""

    annotation: Annotation
    surrogate: str = field(repr=False)


class Replacer:
    """Writes what a policy says.  Thread-safe.

    Args:
        policy: Which style for which label.
        key: The project's secret key; None if no style of the policy needs one.

    Raises:
        ConfigError: A style needs a key and there is none, or it is too short.
    """

    def __init__(self, policy: Policy, key: bytes | None = None) -> None:
        needing = sorted(name for name in policy.styles if STYLES[name].needs_key)
        if needing and key is None:
            raise ConfigError(
                f"policy {policy.name!r}: needs a key, for: {', '.join(needing)}; "
                "make one with: phistream key FILE"
            )
        self._policy = policy
        self._key = SecretKey(key) if needing and key is not None else None
        types = ("", *policy.note_types)
        self._styles = {each: _styles(policy, each) for each in types}
        self._kept = {each: _kept(policy, each) for each in types}
        self._records = RecordCache()
        self._without = lru_cache(maxsize=_MAX_RECORDS)(_without)

    def with_key(self, key: bytes) -> Replacer:
        """Return this policy with another key, or itself if that changes nothing."""
        if self._key is None or self._key == SecretKey(key):
            return self
        return Replacer(self._policy, key)

    @property
    def key_id(self) -> str:
        """The id of the key that the surrogates depend on; "" if on none."""
        return self._key.id if self._key else ""

    def companions(self, document: Document) -> list[Annotation]:
        """Return what must be replaced with the dates, though it is no PHI alone.

        Weekdays, where the policy moves dates: "on Tuesdays" next to a moved date would
        reveal by how many days.  They stay where dates move by whole weeks.
        """
        style = self._styles_of(document)[Label.DATE]
        if style is not _SHIFT or self._policy.options.keep_weekday:
            return []
        return [
            Annotation(Span(*found.span()), Label.DATE, _COMPANION, "shift", "weekday")
            for found in _WEEKDAY.finditer(document.text)
        ]

    def replacements(
        self,
        document: Document,
        annotations: Sequence[Annotation],
        proposals: Iterable[Annotation] = (),
        values: Sequence[str] | None = None,
    ) -> list[Replacement]:
        """Return what to write for each annotation.

        Args:
            document: The annotations' document.
            annotations: Ordered and disjoint.
            proposals: What they were merged from: a value is kept only if all
                detectors call it something that may be kept.
            values: How each annotation reads, where that is not as it is written.
        """
        text = document.text
        originals = [text[a.span.start : a.span.end] for a in annotations]
        found = list(
            found_in(text, annotations, originals if values is None else values)
        )
        crosswalk = self._crosswalk(document, found)
        doubtful = self._doubtful(document, annotations, proposals)
        doubtful |= self._unsure(document, annotations, originals)
        written = [
            tag_of(each.label)
            if doubtful and annotation in doubtful
            else self._write(crosswalk, each.label, each.text)
            for annotation, each in zip(annotations, found, strict=True)
        ]
        if text and not any(written) and len(text) == sum(map(len, originals)):
            # A note must not become nothing.
            written = [tag_of(each.label) for each in found]
        if values is not None:
            written = list(map(_as_written, written, values, originals))
        return [Replacement(*each) for each in zip(annotations, written, strict=True)]

    def value(self, document: Document, label: Label, value: str) -> str:
        """Return the replacement of a single value, e.g. a field of an HL7 segment.

        It is what a note of the same patient has in its place.

        Args:
            document: Gives patient, record and note type; its text may be empty.
            label: What the value is.
            value: As it is written.
        """
        found = [Found(label, value)]
        return self._write(self._crosswalk(document, found), label, value)

    def may_keep(self, document: Document, label: Label) -> bool:
        """Return whether the policy may write a value of that label as it was."""
        return self._styles_of(document)[label].may_keep

    def withheld(self, document: Document) -> KnownIdentifiers:
        """Return the record without what the policy lets a reader see."""
        kept = self._kept.get(document.note_type, self._kept[""])
        return self._without(document.known, kept) if kept else document.known

    def _crosswalk(self, document: Document, found: Sequence[Found]) -> Crosswalk:
        draws = self._key.draws(document) if self._key else None
        return Crosswalk(document, self._policy.options, draws, found, self._records)

    def _write(self, crosswalk: Crosswalk, label: Label, value: str) -> str:
        document = crosswalk.document
        style = self._styles_of(document)[label]
        if style is _TAG:
            return tag_of(label)
        if label is Label.DATE and self._hides_year(crosswalk, style, value):
            return old_year(crosswalk, is_shifted=style is _SHIFT)
        written = style.write(crosswalk, label, value)
        if style.is_invented and label is Label.COUNTRY and written == value:
            # Only the United States become themselves.
            is_kept = is_kept_country(crosswalk.people, value)
            return value if is_kept else tag_of(label)
        if written is None or not _may_write(crosswalk, style, value, written):
            return tag_of(label)
        return written

    def _hides_year(self, crosswalk: Crosswalk, style: Style, value: str) -> bool:
        """Return whether a date would reveal an age that the policy hides."""
        ages = self._styles_of(crosswalk.document)[Label.AGE]
        is_hidden = style.shows_year and ages is not _KEEP
        return is_hidden and reveals_old_age(crosswalk, value)

    def _styles_of(self, document: Document) -> Mapping[Label, Style]:
        return self._styles.get(document.note_type, self._styles[""])

    def _unsure(
        self,
        document: Document,
        annotations: Sequence[Annotation],
        originals: Sequence[str],
    ) -> set[Annotation]:
        """Return annotations that may be results, and would become other ones.

        A tag tells the reader that something is missing; an invented number does not.
        """
        styles = self._styles_of(document)
        numbers = [
            (annotation, original)
            for annotation, original in zip(annotations, originals, strict=True)
            if annotation.label in _SURE and styles[annotation.label] in _INVENTING
        ]
        sure = {
            original
            for annotation, original in numbers
            if annotation.score >= _SURE[annotation.label]
            or annotation.detector == PATIENT_RECORD
            or annotation.score <= _COMPANION
        }
        return {annotation for annotation, original in numbers if original not in sure}

    def _doubtful(
        self,
        document: Document,
        annotations: Sequence[Annotation],
        proposals: Iterable[Annotation],
    ) -> set[Annotation]:
        """Return annotations that would be kept, but that hold something else too."""
        styles = self._styles_of(document)
        kept = [each for each in annotations if styles[each.label].may_keep]
        if not kept:
            return set()
        others = sorted(
            (each.span.start, each.span.end)
            for each in proposals
            if not styles[each.label].may_keep
        )
        starts = [start for start, _ in others]
        furthest = list(accumulate((end for _, end in others), max))

        def is_touched(span: Span) -> bool:
            before = bisect_left(starts, span.end)
            return before > 0 and furthest[before - 1] > span.start

        return {each for each in kept if is_touched(each.span)}


def apply_replacements(
    text: str, replacements: Sequence[Replacement]
) -> tuple[str, OffsetMap]:
    """Return the text with every annotated span replaced by its surrogate.

    Args:
        text: The text that the annotations refer to.
        replacements: Ordered by position and disjoint, as `merge` returns them.

    Raises:
        ValueError: A span overlaps the one before it, or lies beyond the text.
    """
    pieces: list[str] = []
    rows: list[Row] = []
    cursor = written = 0
    for replacement in replacements:
        span = replacement.annotation.span
        if not cursor <= span.start < span.end <= len(text):
            raise ValueError(f"not a span to replace: [{span.start}, {span.end})")
        pieces += text[cursor : span.start], replacement.surrogate
        begin = written + span.start - cursor
        written = begin + len(replacement.surrogate)
        rows.append(Row(span.start, span.end, begin, written))
        cursor = span.end
    pieces.append(text[cursor:])
    return "".join(pieces), OffsetMap(tuple(rows))


def _as_written(written: str, value: str, original: str) -> str:
    """Return what is kept of a note in the note's own characters, if all are seen."""
    return original if written == value and is_visible(original) else written


def _styles(policy: Policy, note_type: str) -> Mapping[Label, Style]:
    return {label: STYLES[policy.style(label, note_type)] for label in Label}


def _kept(policy: Policy, note_type: str) -> frozenset[Label]:
    return frozenset(
        label for label in Label if policy.style(label, note_type) == "keep"
    )


def _may_write(crosswalk: Crosswalk, style: Style, value: str, written: str) -> bool:
    if style.may_keep or _is_kept_weekday(crosswalk, style, value):
        return True
    whole = without_separators(written)
    if written == value or (whole and whole == without_separators(value)):
        return False
    return not style.is_invented or crosswalk.is_free_whole(whole)


def _is_kept_weekday(crosswalk: Crosswalk, style: Style, value: str) -> bool:
    """Return whether a value is a weekday, and the dates move by whole weeks."""
    is_kept = style is _SHIFT and crosswalk.options.keep_weekday
    return is_kept and lone_weekday(value) is not None


def _without(known: KnownIdentifiers, kept: frozenset[Label]) -> KnownIdentifiers:
    parts: Mapping[str, str] = {
        name: "" for label, name in _PARTS_OF_ADDRESS.items() if label in kept
    }
    return replace(
        known,
        birth_dates=() if Label.DATE in kept else known.birth_dates,
        addresses=tuple(replace(each, **parts) for each in known.addresses),
    )
