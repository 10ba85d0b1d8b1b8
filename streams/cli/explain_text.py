"""What terminal and page say alike about a decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deid_core import Annotation, Decision, Span

# An escape sequence in a note must not reach the terminal, nor may one that reverses
# the direction of text; a line end may be "\r\n".
_REVERSING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *_REVERSING)
_VISIBLE: dict[int, str | None] = {
    code: "\ufffd" for code in _CONTROLS if chr(code) not in "\n\t"
} | {ord("\r"): None}


def visible(text: str) -> str:
    """Return the text with U+FFFD for each control character; "\\r" is left out."""
    return text.translate(_VISIBLE)


def pieces(text: str, spans: Iterable[Span]) -> Iterator[tuple[str, int | None]]:
    """Yield the text in pieces, each with the number of its span, or None."""
    cursor = 0
    for number, span in enumerate(spans):
        if cursor < span.start:
            yield text[cursor : span.start], None
        yield text[span.start : span.end], number
        cursor = span.end
    if cursor < len(text):
        yield text[cursor:], None


def verdict(decision: Decision, proposal: Annotation) -> str:
    """Return what merge made of a proposal; it is covered in any case."""
    if proposal is decision.trusted:
        return "trusted"
    same_label = proposal.label is decision.annotation.label
    return "agrees" if same_label else "outvoted"


def place_of(decision: Decision) -> str:
    """Return where a decision stands, and whether it is more than the trusted one."""
    span = decision.annotation.span
    joined = "" if span == decision.trusted.span else ", joined"
    return f"{span.start}\u2013{span.end}{joined}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in singular or plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
