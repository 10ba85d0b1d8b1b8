"""The free texts of a part, and how scrubbed ones are given back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from deid_core import Label, ScrubbedDocument
from streams.formats.documents import Unreadable, UnreadableKind
from streams.formats.enclosed_notes import Enclosed, RebuiltEnclosed
from streams.model.parts import FreeText, Part, Values

_Kind = tuple[str, bool]
"""Of terms: the type of their note, and whether they are vocabulary."""


class Texts(Protocol):
    """The free texts of a part, in the order in which they are met."""

    def scrubbed(self, text: str, note_type: str) -> ScrubbedDocument | None:
        """Return a text as it is scrubbed, or None where texts are only gathered."""
        ...

    def term(
        self, text: str, note_type: str = "", *, is_vocabulary: bool = False
    ) -> str | None:
        """Return a short text as it is scrubbed among the others of the part."""
        ...

    def opened(self, data: bytes, media_type: str) -> Enclosed:
        """Return an attached document.

        Raises:
            Unreadable: It can't be opened.
        """
        ...


@dataclass(slots=True)
class Gathered:
    """Gathers the free texts of a part in the order in which they are met.

    Args:
        open: Opens attached documents.
    """

    open: Callable[[bytes, str], Enclosed]
    texts: dict[FreeText, None] = field(default_factory=dict, repr=False)
    terms: dict[_Kind, dict[str, None]] = field(default_factory=dict, repr=False)
    _documents: dict[tuple[bytes, str], Enclosed] = field(
        default_factory=dict, repr=False
    )

    def scrubbed(self, text: str, note_type: str) -> ScrubbedDocument | None:
        """Gather a text."""
        self.texts[FreeText(text, note_type)] = None
        return None

    def term(
        self, text: str, note_type: str = "", *, is_vocabulary: bool = False
    ) -> str | None:
        """Gather a term."""
        self.terms.setdefault((note_type, is_vocabulary), {})[text] = None
        return None

    def opened(self, data: bytes, media_type: str) -> Enclosed:
        """Return an attached document, opened once."""
        key = data, media_type
        if key not in self._documents:
            self._documents[key] = self.open(data, media_type)
        return self._documents[key]

    def all(self) -> list[FreeText]:
        """Return the texts, and one of all terms of a kind."""
        lines = (FreeText("\n".join(each), *of) for of, each in self.terms.items())
        return [*self.texts, *lines]

    def given(self, scrubbed: Sequence[ScrubbedDocument]) -> Given:
        """Return what is written in place of the texts.

        Raises:
            ValueError: They are not as many, or one is of another text.
        """
        texts = self.all()
        for text, done in zip(texts, scrubbed, strict=True):
            if done.offset_map.to_scrubbed(len(text.text)) != len(done.text):
                raise ValueError("a scrubbed text is that of another text")
        own = dict(zip(self.texts, scrubbed, strict=False))
        lines = scrubbed[len(self.texts) :]
        terms = {
            of: _lines(list(each), done)
            for (of, each), done in zip(self.terms.items(), lines, strict=True)
        }
        return Given(own, terms, self)


@dataclass(frozen=True, slots=True)
class Given:
    """Gives the scrubbed texts of a part."""

    _texts: Mapping[FreeText, ScrubbedDocument] = field(repr=False)
    _terms: Mapping[_Kind, Mapping[str, str]] = field(repr=False)
    _gathered: Gathered = field(repr=False)

    def scrubbed(self, text: str, note_type: str) -> ScrubbedDocument | None:
        """Return a text as it is scrubbed."""
        return self._texts.get(FreeText(text, note_type))

    def term(
        self, text: str, note_type: str = "", *, is_vocabulary: bool = False
    ) -> str | None:
        """Return a term as it is scrubbed."""
        return self._terms.get((note_type, is_vocabulary), {}).get(text)

    def opened(self, data: bytes, media_type: str) -> Enclosed:
        """Return an attached document."""
        return self._gathered.opened(data, media_type)


@dataclass(frozen=True, slots=True)
class Unread:
    """Reads no free text: only what references call persons and institutions.

    Args:
        part_of: Returns a document that is a message.
        enclosed: All of these.
    """

    part_of: Callable[[bytes, str], Part | None]
    enclosed: list[Part] = field(default_factory=list)

    def scrubbed(self, text: str, note_type: str) -> ScrubbedDocument | None:
        """Return nothing."""
        return None

    def term(
        self, text: str, note_type: str = "", *, is_vocabulary: bool = False
    ) -> str | None:
        """Return nothing."""
        return None

    def opened(self, data: bytes, media_type: str) -> Enclosed:
        """Open only messages; return nothing."""
        if found := self.part_of(data, media_type):
            self.enclosed.append(found)
        raise Unreadable(UnreadableKind.UNKNOWN)


class NoValues:
    """Values of no patient, for what is not written."""

    def replaced(self, label: Label, value: str) -> str:
        """Return nothing."""
        return ""

    def day(self, day: str) -> str:
        """Return nothing."""
        return ""

    def pseudonym(self, kind: str, value: str) -> str:
        """Return zeros."""
        return "0" * 32

    def is_leak(self, written: str) -> bool:
        """Return that it is none."""
        return False


def _lines(terms: Sequence[str], done: ScrubbedDocument) -> dict[str, str]:
    """Return each line of a text as it is scrubbed.

    What replaces words of two lines is written in the first of them.
    """
    found, start = {}, 0
    for term in terms:
        end = start + len(term)
        pieces, cursor = [], start
        for row in done.offset_map.rows:
            if row.end <= start or row.start >= end:
                continue
            if row.start >= start:
                pieces.append(_kept(done, cursor, row.start))
                pieces.append(done.text[row.scrubbed_start : row.scrubbed_end])
            cursor = min(row.end, end)
        pieces.append(_kept(done, cursor, end))
        found[term] = " ".join("".join(pieces).split())
        start = end + 1
    return found


def _kept(done: ScrubbedDocument, start: int, end: int) -> str:
    """Return a stretch of a text that is not replaced."""
    if start >= end:
        return ""
    at = done.offset_map.to_scrubbed(start)
    return done.text[at : at + end - start]


def rebuilt_document(
    document: Enclosed, note_type: str, texts: Texts, values: Values
) -> RebuiltEnclosed | None:
    """Return a document without identifiers; None where texts are only gathered."""
    found = [
        texts.scrubbed(each.text, each.note_type) for each in document.texts(note_type)
    ]
    scrubbed = [each for each in found if each is not None]
    return document.rebuilt(scrubbed, values) if len(scrubbed) == len(found) else None
