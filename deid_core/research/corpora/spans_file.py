"""Gold documents as JSON lines that `readers` reads back."""

from __future__ import annotations

import orjson

from .corpus import GoldDocument, GoldSpan


def line_of(document: GoldDocument) -> bytes:
    """Return the document as one line of the format ``spans``, with its line end."""
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
