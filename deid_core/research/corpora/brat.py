"""Predictions as brat files, in a corpus's tags, for a task's own script to score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deid_core.errors import ConfigError

from .corpus import Corpus, Prediction


def write_brat(corpus: Corpus, predictions: Sequence[Prediction], folder: Path) -> None:
    """Write a ``.txt`` and an ``.ann`` file for each document.

    Args:
        corpus: Whose texts and tags are written.
        predictions: One a document, in order.
        folder: Made when it is not there; files of the same names are overwritten.

    Raises:
        ConfigError: A document's id cannot be the name of a file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pairs = zip(corpus.documents, predictions, strict=True)
    for number, (document, said) in enumerate(pairs, start=1):
        if Path(document.id).name != document.id:
            raise ConfigError(f"document {number}: its id is no file name; rename it")
        # Bytes, so that no line end is changed: offsets count each character.
        (folder / f"{document.id}.txt").write_bytes(document.text.encode())
        lines = annotation_lines(corpus, document.text, said)
        (folder / f"{document.id}.ann").write_bytes("".join(lines).encode())


def annotation_lines(corpus: Corpus, text: str, said: Prediction) -> list[str]:
    """Return brat's text-bound lines: ``T1<tab>TAG start end<tab>text``."""
    lines = []
    for number, each in enumerate(said.annotations, start=1):
        start, end = each.span.start, each.span.end
        tag = each.tag or corpus.conventions.tag_of(each.label)
        inner = " ".join(text[start:end].splitlines())
        lines.append(f"T{number}\t{tag} {start} {end}\t{inner}\n")
    return lines
