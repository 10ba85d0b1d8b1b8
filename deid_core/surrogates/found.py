"""What was found in a note, with what stands before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..document import Annotation
from ..labels import Label

_REACH = 24


@dataclass(frozen=True, slots=True)
class Found:
    """One value of a note.

    Args:
        label: What it is.
        text: As it is written.
        before: The end of what stands between it and the value before.
        is_near: Whether that is all that stands between them.
    """

    label: Label
    text: str = field(repr=False)
    before: str = field(default="", repr=False)
    is_near: bool = False


def found_in(
    text: str, annotations: Iterable[Annotation], values: Iterable[str]
) -> Iterator[Found]:
    """Yield the values of a note.

    Args:
        text: The annotations' text.
        annotations: Ordered and disjoint.
        values: How each of them reads.
    """
    end = 0
    for each, value in zip(annotations, values, strict=True):
        start = max(end, each.span.start - _REACH)
        before = text[start : each.span.start]
        yield Found(each.label, value, before, is_near=start == end > 0)
        end = each.span.end
