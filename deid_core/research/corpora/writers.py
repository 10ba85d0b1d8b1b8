"""Write predictions as brat files, and gold documents as JSON lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from deid_core.errors import ConfigError

from .corpus import Corpus, GoldDocument, GoldSpan, Prediction


def write_brat(corpus: Corpus, predictions: Sequence[Prediction], folder: Path) -> None:
    """Write a ``.txt`` and an ``.ann`` file for each document, in the corpus's tags.

    Args:
        corpus: Its texts and conventions are used.
        predictions: One per document, in order.
        folder: Created if necessary; files of the same names are overwritten.

    Raises:
        ConfigError: The id of a document cannot be a file name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pairs = zip(corpus.documents, predictions, strict=True)
    for number, (document, prediction) in enumerate(pairs, start=1):
        if Path(document.id).name != document.id:
            raise ConfigError(
                f"document {number}: its id is not a file name; rename it"
            )
        # Bytes, so that no line end is translated: offsets count each character.
        (folder / f"{document.id}.txt").write_bytes(document.text.encode())
        lines = annotation_lines(corpus, document.text, prediction)
        (folder / f"{document.id}.ann").write_bytes("".join(lines).encode())


def annotation_lines(corpus: Corpus, text: str, prediction: Prediction) -> list[str]:
    """Return brat's text-bound lines: ``T1<tab>TAG start end<tab>text``."""
    lines = []
    for number, each in enumerate(prediction.annotations, start=1):
        start, end = each.span.start, each.span.end
        tag = each.tag or corpus.conventions.tag_of(each.label)
        inner = " ".join(text[start:end].splitlines())
        lines.append(f"T{number}\t{tag} {start} {end}\t{inner}\n")
    return lines


def line_of(document: GoldDocument) -> bytes:
    """Return the document as a JSON line of the format ``spans``."""
    value = {
        "id": document.id,
        "text": document.text,
        "spans": [_span(each) for each in document.spans],
        "decoys": [{"start": e.start, "end": e.end} for e in document.decoys],
    }
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def _span(gold: GoldSpan) -> dict[str, object]:
    span, kinds = gold.span, {"kinds": gold.kinds} if gold.kinds else {}
    return {"start": span.start, "end": span.end, "label": gold.tag, **kinds}
