"""Split a text into sentences, and sentences into tokens.

The published systems have tokenizers of their own.  Each returns ranges of code points
without white space.  A line ends a sentence, because notes are written so; within a
line, a full stop, question or exclamation mark before a capital does, except after a
title or an initial.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from deid_core.research.tokenizer import tokenize
from deid_core.tagger.features import header
from deid_core.tagger.words import lines, word_spans

Tokenizer = Callable[[str, int, int], list[range]]

_CHUNK = re.compile(r"\S+")
# Marks at the ends are tokens of their own; those inside are not: 617-123-4567.
_PARTS = re.compile(r"(?P<open>[^\w\s]*)(?P<core>.*?)(?P<close>[^\w\s]*)\Z", re.S)
_CLITIC = re.compile(r"(?<=\w)(?:'|\u2019)(?:s|S|ll|re|ve|d|m)\Z")

SPLITS = tuple(
    map(
        re.compile,
        (
            r"()\d{2}/\d{2}/\d{4}",  # PEND 01/26/2098
            r"\d{2}()-year-old",  # 45 -year-old
            r"[A-Za-z]+()\d/\d{2}",  # CABG 6/95
            r"[a-z]()\d{5}",  # x 76221
            r"[A-Z]()\d-\d{4}",  # X 1-1335
            r"()\d{3}[-,]\d{3}[-,]\d{4}",  # 47798 497-045-1949
            r"[A-Z]()[A-Z][a-z][a-z]+",  # AL Marital
            r"\d()[A-Za-z][A-Za-z]+",  # 34712 RadiologyExam
            r"[a-z][a-z]+()[A-Z]",  # Jaffrey Marital
        ),
    )
)
"""He and others 2015, Table 1; the empty group is where the token is split.

The fifth is printed in the paper as ``[A-Z]\\d\\d{4}``, which its example does not
match.
"""

_APART = re.compile(r"[\",:;#*\-=/<>\[\]{}]|[^\",:;#*\-=/<>\[\]{}]+")
_END = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])")
_NO_END = re.compile(
    r"(?:\b[^\W\d_]|\b(?:dr|dra|mr|mrs|ms|prof|st|sr|sra|no|vs|av|avda|c))\.\Z", re.I
)
_CAPITALS = re.compile(r"[^a-z\d]{4,60}\Z")
_TAIL = 8


def words(text: str, start: int, end: int) -> list[range]:
    """Return the words between white space, without the marks at their ends."""
    found: list[range] = []
    for chunk in _CHUNK.finditer(text, start, end):
        found += _without_marks(chunk[0], chunk.start())
    return found


def _without_marks(chunk: str, at: int) -> Iterator[range]:
    parts = _PARTS.match(chunk)
    if parts is None:
        return
    core, stop = parts.span("core")
    yield from (range(at + mark, at + mark + 1) for mark in range(core))
    if core < stop:
        clitic = _CLITIC.search(chunk, core, stop)
        cut = clitic.start() if clitic else stop
        yield range(at + core, at + cut)
        if cut < stop:
            yield range(at + cut, at + stop)
    yield from (range(at + mark, at + mark + 1) for mark in range(stop, len(chunk)))


def pre_tokenized(text: str, start: int, end: int) -> list[range]:
    """Return `words`, split by Table 1 of He and others, then at their marks.

    "When some tokens should be split into two parts, they are split based on the
    corresponding rules": the first rule that splits a token is the only one.
    """
    return [
        range(part.start + begin, part.start + past)
        for word in words(text, start, end)
        for part in split(text, word)
        for begin, past in _apart(text[part.start : part.stop])
    ]


def split(text: str, word: range) -> list[range]:
    """Return the word, or its two parts by the first rule of Table 1 that splits it."""
    token = text[word.start : word.stop]
    for pattern in SPLITS:
        for found in pattern.finditer(token):
            if 0 < (cut := found.start(1)) < len(token):
                middle = word.start + cut
                return [range(word.start, middle), range(middle, word.stop)]
    return [word]


def _apart(token: str) -> Iterator[tuple[int, int]]:
    return (found.span() for found in _APART.finditer(token))


def runs(text: str, start: int, end: int) -> list[range]:
    """Return runs of letters, runs of digits, and single marks."""
    tokens = tokenize(text[start:end])
    return [range(start + each.start, start + each.end) for each in tokens]


TOKENIZERS: Mapping[str, Tokenizer] = {
    "words": words,
    "table-1": pre_tokenized,
    "runs": runs,
    "camel": word_spans,
}
"""Every tokenizer by its name; ``camel`` is the product's."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a text.

    Args:
        words: Its tokens.
        places: Their offsets in the text.
        heading: Of the section, in lower case; empty before the first.
    """

    words: tuple[str, ...] = field(repr=False)
    places: tuple[range, ...]
    heading: str = field(default="", repr=False)

    @property
    def gaps(self) -> tuple[bool, ...]:
        """Return, for each word, whether white space precedes it."""
        before = (0, *(place.stop for place in self.places))
        return tuple(
            place.start > stop for place, stop in zip(self.places, before, strict=False)
        )


def sentences(text: str, tokenizer: Tokenizer) -> list[Sentence]:
    """Return the sentences that have a token, in order."""
    found = []
    heading = ""
    for start, end in lines(text):
        heading = heading_of(text[start:end]) or heading
        for first, last in _within(text, start, end):
            places = tuple(tokenizer(text, first, last))
            if places:
                words = tuple(text[p.start : p.stop] for p in places)
                found.append(Sentence(words, places, heading))
    return found


def heading_of(line: str) -> str:
    """Return the section heading in a line, or an empty string.

    It is the text before the first colon, or a short line in capitals.
    """
    bare = line.strip()
    if _CAPITALS.match(bare) and any(map(str.isalpha, bare)):
        return bare.lower().rstrip(":")
    return header(line)


def _within(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for found in _END.finditer(text, start, end):
        if not _NO_END.search(text, max(start, found.start() - _TAIL), found.start()):
            yield start, found.start()
            start = found.end()
    yield start, end
