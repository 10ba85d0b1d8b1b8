"""Examples whose «guillemets» say what must be found."""

import re


def unmark(marked):
    """Return the text without the guillemets, and the spans that were inside."""
    spans, text = [], ""
    for piece in re.split(r"(«[^»]*»)", marked):
        if piece.startswith("«"):
            spans.append((len(text), len(text) + len(piece) - 2))
        text += piece.strip("«»")
    return text, spans
