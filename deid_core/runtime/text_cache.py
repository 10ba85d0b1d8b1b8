"""Caches of what functions return for short texts.

A cache that an object owns goes with it and may hold any text of a note.  A cache of a
module lives as long as the process: `cached_by_text` keeps only texts that its
predicate accepts, which are single words of the public lexicons, surnames and towns
among them, without any link to a note.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_LONGEST = 80


class TextCache(dict[str, T]):
    """The results of a function for short texts, bounded.

    Args:
        function: Depends on nothing but the text.
        most: How many results are kept; beyond it all are dropped.
        keeps: Which texts may be kept; by default all that are short.
    """

    def __init__(
        self,
        function: Callable[[str], T],
        most: int,
        keeps: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__()
        self._function = function
        self._most = most
        self._keeps = keeps

    def __repr__(self) -> str:
        return f"TextCache({len(self)} texts)"

    def __missing__(self, text: str) -> T:
        result = self._function(text)
        if len(text) <= _LONGEST and (self._keeps is None or self._keeps(text)):
            if len(self) >= self._most:
                self.clear()
            self[text] = result
        return result


def cached_by_text(
    most: int, *, keeps: Callable[[str], bool]
) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator that keeps a function's results for words of the lexicons.

    Args:
        most: How many results are kept.
        keeps: Whether a text is in a public list: `is_listed` or stricter.
    """

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        return TextCache(function, most, keeps).__getitem__

    return decorate
