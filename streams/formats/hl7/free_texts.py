"""The free texts of a message, and how scrubbed ones are written back to their fields.

A note of several OBX or NTE is one text: it is scrubbed as a whole and split again.
Short texts, such as the names of codes, are the lines of one text, so that a message of
fifty results needs two scrubbings and not fifty.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from deid_core import ScrubbedDocument
from streams.formats.documents import Unreadable, UnreadableKind, is_plain
from streams.formats.enclosed_notes import RebuiltEnclosed
from streams.model.parts import FreeText, Values

from .embedded import EmbeddedDocument
from .message import Delimiters, escape, pieces, unescape

Place = tuple[int, int, int, int, int]
"""Line, field, repetition, component, subcomponent; -1 for the last two in a text that
has no components."""
WHOLE = (-1, -1)

_LAYOUT = tuple("HN")
_LAYOUT_COMMANDS = (".in", ".ti", ".fi", ".nf", ".sk", ".sp", ".br", ".ce")


@dataclass(frozen=True, slots=True)
class Source:
    """A stretch of a free text.

    Args:
        document: Which free text.
        start: Offset in it; see `narrative.Passage`.
        length: Of the stretch.
    """

    document: int
    start: int
    length: int


@dataclass(slots=True)
class FreeTexts:
    """The free texts of a message, and the fields that they come from.

    Args:
        texts: All of them.
        sources: Where each stretch of them is written back.
        documents: Which text is the first of a document in OBX-5.
        unreadable: Why other documents can't be opened.
    """

    texts: list[FreeText] = field(default_factory=list, repr=False)
    sources: dict[Place, Source] = field(default_factory=dict, repr=False)
    documents: dict[Place, tuple[int, EmbeddedDocument]] = field(default_factory=dict)
    unreadable: dict[Place, UnreadableKind] = field(default_factory=dict)
    _places: dict[bool, list[tuple[Place, str]]] = field(
        default_factory=dict, repr=False
    )

    def add(
        self,
        text: str,
        note_type: str,
        places: Iterator[tuple[Place, int, int]],
        *,
        is_vocabulary: bool = False,
    ) -> None:
        """Add a text, with place, start and length of its stretches."""
        for place, start, length in places:
            self.sources[place] = Source(len(self.texts), start, length)
        self.texts.append(FreeText(text, note_type, is_vocabulary))

    def add_lines(self, places: Sequence[tuple[Place, str]]) -> None:
        """Add a text of lines, unless they are blank, or hold markup."""
        lines = [text for _, text in places]
        if not any(map(str.strip, lines)) or not is_plain("\n".join(lines)):
            return
        self.add("\n".join(lines), "", _starts(places))

    def add_term(self, place: Place, text: str, *, is_vocabulary: bool) -> None:
        """Add a short text, unless it holds markup; equal ones are scrubbed once."""
        if text.strip() and is_plain(text):
            self._places.setdefault(is_vocabulary, []).append((place, text))

    def add_document(self, place: Place, embedded: EmbeddedDocument) -> None:
        """Add the texts of a document."""
        self.documents[place] = len(self.texts), embedded
        self.texts.extend(embedded.document.texts(""))

    def close(self) -> None:
        """Make one text of all short texts, and one of all vocabulary."""
        for is_vocabulary, places in self._places.items():
            self._add_terms(places, is_vocabulary=is_vocabulary)
        self._places = {}

    def _add_terms(
        self, places: Sequence[tuple[Place, str]], *, is_vocabulary: bool
    ) -> None:
        unique = [(place, text) for text, place in {t: p for p, t in places}.items()]
        starts = {
            text: start
            for (_, text), (_, start, _) in zip(unique, _starts(unique), strict=True)
        }
        self.add(
            "\n".join(text for _, text in unique),
            "",
            ((place, starts[text], len(text)) for place, text in places),
            is_vocabulary=is_vocabulary,
        )


@dataclass(frozen=True, slots=True)
class RebuiltField:
    """A document as it is written in OBX-5, and as it is."""

    written: str = field(repr=False)
    document: RebuiltEnclosed


class Scrubbed:
    """The scrubbed free texts of a message.

    Args:
        texts: Of the message.
        scrubbed: The same texts, scrubbed.
        delimiters: Of the message.

    Raises:
        ValueError: They are not those texts.
    """

    def __init__(
        self,
        texts: FreeTexts,
        scrubbed: Sequence[ScrubbedDocument],
        delimiters: Delimiters,
    ) -> None:
        if len(texts.texts) != len(scrubbed):
            raise ValueError("as many scrubbed texts as there are texts are needed")
        for text, done in zip(texts.texts, scrubbed, strict=True):
            if done.offset_map.to_scrubbed(len(text.text)) != len(done.text):
                raise ValueError("a scrubbed text belongs to another text")
        self._texts = texts
        self._sources = texts.sources
        self._scrubbed = scrubbed
        self._delimiters = delimiters
        stretches: list[set[tuple[int, int]]] = [set() for _ in scrubbed]
        for each in texts.sources.values():
            stretches[each.document].add((each.start, each.start + each.length))
        self._documents = [
            _Document(done, sorted(of))
            for done, of in zip(scrubbed, stretches, strict=True)
        ]

    def embedded(self, place: Place, values: Values) -> RebuiltField | None:
        """Return what to write in place of a document; None if there is none.

        Args:
            place: Of the document.
            values: Of the patient.

        Raises:
            Unreadable: It can't be opened, or not be written back.
        """
        if place in self._texts.unreadable:
            raise Unreadable(self._texts.unreadable[place])
        if place not in self._texts.documents:
            return None
        first, embedded = self._texts.documents[place]
        last = first + len(embedded.document.texts(""))
        rebuilt = embedded.rebuilt(self._scrubbed[first:last], values)
        return RebuiltField(embedded.written(rebuilt, self._delimiters), rebuilt)

    def is_unchanged(self, place: Place) -> bool:
        """Return whether a text was scrubbed and nothing of it was replaced."""
        source = self._sources.get(place)
        return source is not None and not self._documents[source.document].changes(
            source
        )

    def written(self, place: Place, raw: str) -> str | None:
        """Return what to write in a place; None if its text was not scrubbed.

        Args:
            place: Of the text.
            raw: What is there, with escape sequences; those of layout are kept.
        """
        source = self._sources.get(place)
        if source is not None:
            changes = self._documents[source.document].changes(source)
            return _rewritten(raw, changes, self._delimiters)
        if unescape(raw, self._delimiters).strip():
            return None
        return _rewritten(raw, [], self._delimiters)


@dataclass(frozen=True, slots=True)
class _Change:
    """A stretch that is replaced, in offsets of a place's text."""

    start: int
    end: int
    replacement: str = field(repr=False)


class _Document:
    """A scrubbed text, and the stretches of it that are written back."""

    def __init__(
        self, scrubbed: ScrubbedDocument, stretches: list[tuple[int, int]]
    ) -> None:
        self._text = scrubbed.text
        self._rows = scrubbed.offset_map.rows
        self._ends = [each.end for each in self._rows]
        self._stretches = stretches

    def changes(self, source: Source) -> list[_Change]:
        """Return the changes within a stretch; a longer one is written at its first."""
        start, end = source.start, source.start + source.length
        first = bisect_right(self._ends, start)
        found = []
        for row in self._rows[first:]:
            if row.start >= end:
                break
            replacement = ""
            if self._is_first(start, row.start):
                replacement = self._text[row.scrubbed_start : row.scrubbed_end]
            found.append(
                _Change(
                    max(row.start, start) - start,
                    min(row.end, end) - start,
                    replacement.replace("\r", " ").replace("\n", " "),
                )
            )
        return found

    def _is_first(self, start: int, changed: int) -> bool:
        """Return whether no earlier stretch holds any of what is changed from there."""
        earlier = bisect_left(self._stretches, (start,))
        return earlier == 0 or self._stretches[earlier - 1][1] <= changed


def _rewritten(raw: str, changes: Sequence[_Change], delimiters: Delimiters) -> str:
    """Return a raw text with changes; all else is kept, but for bare line ends."""
    return "".join(
        chain.from_iterable(
            _piece(piece, text, at, changes, delimiters)
            for piece, text, at in _located(raw, delimiters)
        )
    )


def _located(raw: str, delimiters: Delimiters) -> Iterator[tuple[str, str, int]]:
    at = 0
    for piece, text in pieces(raw, delimiters):
        yield piece, text, at
        at += len(text)


def _piece(
    piece: str, text: str, at: int, changes: Sequence[_Change], delimiters: Delimiters
) -> Iterator[str]:
    """Yield what is written for one piece of a text, which begins at an offset."""
    end = at + len(text)
    if not text:
        is_inside = any(each.start < at < each.end for each in changes)
        if _is_layout(piece, delimiters) and not is_inside:
            yield piece
        return
    for each in changes:
        if each.end <= at or end <= each.start:
            continue
        if at < each.start:
            yield _kept(piece, text, text[at - end : each.start - end], delimiters)
        if at <= each.start:
            yield escape(each.replacement, delimiters)
        at = each.end
    if at < end:
        yield _kept(piece, text, text[at - end :], delimiters)


def _kept(piece: str, text: str, part: str, delimiters: Delimiters) -> str:
    if piece == text:
        # A line end that the sender left as it is would end the segment for others.
        return part.replace("\n", escape("\n", delimiters))
    # What is left of a sequence for several characters is written anew.
    return piece if part == text else escape(part, delimiters)


def _is_layout(piece: str, delimiters: Delimiters) -> bool:
    """Return whether a sequence without text is one of layout: it holds no bytes."""
    code = piece.strip(delimiters.escape)
    return code in _LAYOUT or code[:3] in _LAYOUT_COMMANDS


def _starts(places: Sequence[tuple[Place, str]]) -> Iterator[tuple[Place, int, int]]:
    start = 0
    for place, text in places:
        yield place, start, len(text)
        start += len(text) + 1
