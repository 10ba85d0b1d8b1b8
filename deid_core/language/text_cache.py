"""Cache what a function returns for short texts; long ones are not kept.

Notes come from outside: a cache with room for so many texts must not hold long ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_LONGEST = 80


class TextCache(dict[str, T]):
    """A function's results by text; bounded.

    Args:
        function: Depends on the text alone.
        most: How many results are kept; then all are dropped.
    """

    def __init__(self, function: Callable[[str], T], most: int) -> None:
        super().__init__()
        self._function = function
        self._most = most

    def __missing__(self, text: str) -> T:
        result = self._function(text)
        if len(text) <= _LONGEST:
            if len(self) >= self._most:
                self.clear()
            self[text] = result
        return result


def cached_by_text(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator that keeps a function's answers for so many short texts."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        return TextCache(function, most).__getitem__

    return decorate
