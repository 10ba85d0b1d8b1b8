"""The tokenizers of the published systems, by name.

Each gives ranges of code points within a stretch of text; white space is in none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from deid_core.tagger.words import word_spans

from ..tokenizer import tokenize

Tokenizer = Callable[[str, int, int], list[range]]

_CHUNK = re.compile(r"\S+")
# Marks at the ends come off one by one; those inside stay: 617-123-4567, O'Brien.
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
"""He and others 2015, Table 1; the empty group is where the token comes apart.

The fifth stands in the paper as ``[A-Z]\\d\\d{4}``, which its example does not match.
"""

_APART = re.compile(r"[\",:;#*\-=/<>\[\]{}]|[^\",:;#*\-=/<>\[\]{}]+")


def words(text: str, start: int, end: int) -> list[range]:
    """Return what white space parts, with the marks at its ends apart."""
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
"""Every tokenizer by its name; ``camel`` is the product's own."""
