"""Text about decisions, shared by the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deid_core import Annotation, Decision, Span

# Control characters must not reach the terminal, nor those that reverse the direction
# of text; a line may end with "\r\n".
_REVERSING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *_REVERSING)
_VISIBLE: dict[int, str | None] = {
    code: "\ufffd" for code in _CONTROLS if chr(code) not in "\n\t"
} | {ord("\r"): None}


def visible(text: str) -> str:
    """Return the text with U+FFFD for control characters; "\\r" is removed."""
    return text.translate(_VISIBLE)


def pieces(text: str, spans: Iterable[Span]) -> Iterator[tuple[str, int | None]]:
    """Yield the text in pieces, each with the number of its span or None."""
    cursor = 0
    for number, span in enumerate(spans):
        if cursor < span.start:
            yield text[cursor : span.start], None
        yield text[span.start : span.end], number
        cursor = span.end
    if cursor < len(text):
        yield text[cursor:], None


def proposals(decision: Decision) -> Iterator[tuple[Annotation, str, str]]:
    """Yield each proposal with its text and its part in the decision.

    The decision has the label of the `trusted` proposal; others `agree` or are
    `outvoted`.  The text of all of them is replaced.
    """
    start = decision.annotation.span.start
    for each in decision.proposals:
        text = decision.original[each.span.start - start : each.span.end - start]
        if each is decision.trusted:
            yield each, text, "trusted"
        else:
            is_same = each.label is decision.annotation.label
            yield each, text, "agrees" if is_same else "outvoted"


def place_of(decision: Decision) -> str:
    """Return a decision's span; "joined" if it is larger than the trusted proposal."""
    span = decision.annotation.span
    joined = "" if span == decision.trusted.span else ", joined"
    return f"{span.start}\u2013{span.end}{joined}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in singular or plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
