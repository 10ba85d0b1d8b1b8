"""CoNLL columns: one token per line, its tag last, blank lines between sentences.

Tags are ``O`` or a prefix and a type, in IOB1 (``B-`` only where two of a type touch),
IOB2, or with ``E-`` and ``S-`` (also ``L-`` and ``U-``) at ends.  ``-DOCSTART-`` begins
a document; in a file without it each sentence is a document.  The format does not have
the text between tokens: here they are joined by spaces, sentences by line ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from deid_core.document import Span
from deid_core.errors import ConfigError

from .conventions import Conventions
from .corpus import GoldDocument, GoldSpan, ordered

CONLL_FILES = ("*.conll", "*.conll.txt", "*.annotated", "*.iob", "*.bio")

_START = "-DOCSTART-"
_BEGINS = frozenset("BSU")
_INSIDE = frozenset("IEL")

Row = tuple[str, str]
Sentence = list[Row]


def read_conll(path: Path, conventions: Conventions) -> Iterator[GoldDocument]:
    """Yield the documents of a file, or of a folder's files in order of their names.

    Raises:
        ConfigError: A line has no tag, or an unknown one.
    """
    files = [path]
    if path.is_dir():
        files = sorted({f for sign in CONLL_FILES for f in path.glob(sign)})
    for file in files:
        for at, sentences in enumerate(_documents(file), start=1):
            yield _document(f"{file.name}-{at}", sentences, conventions)


def _documents(file: Path) -> Iterator[list[Sentence]]:
    sentences = list(_sentences(file))
    if not any(each[0][0] == _START for each in sentences):
        yield from ([each] for each in sentences)
        return
    document: list[Sentence] = []
    for sentence in sentences:
        starts = sentence[0][0] == _START
        if starts and document:
            yield document
            document = []
        rest = sentence[1:] if starts else sentence
        if rest:
            document.append(rest)
    if document:
        yield document


def _sentences(file: Path) -> Iterator[Sentence]:
    sentence: Sentence = []
    lines = file.read_bytes().decode("utf-8").split("\n")
    for number, line in enumerate(lines, start=1):
        if line.strip():
            # Between tabs, a token can be a space.
            columns = line.split("\t") if "\t" in line else line.split()
            sentence.append(_row(columns, f"{file}:{number}"))
        elif sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _row(columns: list[str], where: str) -> Row:
    token, tag = columns[0], columns[-1].strip()
    prefix, _, type = tag.partition("-")
    is_tag = tag == "O" or (prefix in _BEGINS | _INSIDE and type)
    if token != _START and (len(columns) < 2 or not is_tag):
        raise ConfigError(f"{where}: its last column is no tag")
    return token, "O" if token == _START else tag


def _document(
    id: str, sentences: list[Sentence], conventions: Conventions
) -> GoldDocument:
    text = "\n".join(" ".join(token for token, _ in each) for each in sentences)
    spans: list[GoldSpan] = []
    at = 0
    for sentence in sentences:
        before = "O"
        for token, tag in sentence:
            prefix, _, type = tag.partition("-")
            end = at + len(token)
            if type and prefix not in _BEGINS and before.partition("-")[2] == type:
                last = spans.pop()
                spans.append(replace(last, span=Span(last.span.start, end)))
            elif type:
                label = conventions.label_of(type)
                spans.append(GoldSpan(Span(at, end), type, label, len(spans)))
            before, at = tag, end + 1
    return ordered(id, text, spans)
