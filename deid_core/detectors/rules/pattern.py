"""Patterns that are compiled when they are first tried, or kept compiled.

Compiling those of all rules takes longer than everything else at a start.  So what
`re` compiles them to, numbers alone, is kept for the machine with the other arrays of
`deid_core.runtime.prepared`.  `re` has no public way to that: where an interpreter is
not as the supported ones are, nothing is kept, and patterns are compiled as ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

try:
    import _sre  # type: ignore[import-not-found]  # not in the stubs
    from re import _compiler, _parser  # type: ignore[attr-defined]  # not public

    MAGIC = str(_sre.MAGIC)
    """Changes with the form of compiled patterns."""
except (ImportError, AttributeError):  # another interpreter than CPython 3.11 to 3.14
    MAGIC = ""


class LazyPattern:
    """A regular expression, with the part of `re.Pattern` that rules use.

    Args:
        pattern: Its text.
        flags: As for `re.compile`.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self.flags = int(re.UNICODE | flags)

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern.

        Raises:
            ValueError: It begins with flags of its own, which `flags` does not have.
        """
        compiled = re.compile(self.pattern, self.flags)
        if compiled.flags != self.flags:
            raise ValueError(f"flags belong after the pattern: {self.pattern[:20]}")
        return compiled

    @property
    def groupindex(self) -> Mapping[str, int]:
        """The numbers of the named groups."""
        return self.compiled.groupindex

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """Return the match that begins at a place."""
        return self.compiled.match(text, start)

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        """Return the first match from a place on."""
        return self.compiled.search(text, start)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match of a whole text."""
        return self.compiled.fullmatch(text)

    def finditer(
        self, text: str, start: int = 0, end: int | None = None
    ) -> Iterator[re.Match[str]]:
        """Yield the matches between two places."""
        return self.compiled.finditer(text, start, len(text) if end is None else end)


def compiled(pattern: re.Pattern[str] | LazyPattern) -> re.Pattern[str]:
    """Return a pattern as `re` has it."""
    return pattern.compiled if isinstance(pattern, LazyPattern) else pattern


def machine_form(patterns: Sequence[LazyPattern]) -> dict[str, NDArray[Any]]:
    """Return what `restore` reads; nothing where that is not possible."""
    if not MAGIC:
        return {}
    codes, groups = [], []
    for pattern in patterns:
        parsed = _parser.parse(pattern.pattern, pattern.flags)
        code = _compiler._code(parsed, pattern.flags)  # noqa: SLF001  # as restore()
        codes.append(np.array(code, np.uint32))
        groups.append((parsed.state.groups - 1, parsed.state.groupdict))
    return {
        "pattern.bounds": np.cumsum([0, *map(len, codes)]),
        "pattern.codes": np.concatenate([np.empty(0, np.uint32), *codes]),
        "pattern.groups": np.frombuffer(orjson.dumps(groups), np.uint8),
    }


def restore(
    patterns: Sequence[LazyPattern], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Give patterns their compiled form.

    Args:
        patterns: Those that `machine_form` was given.
        arrays: What it returned.
    """
    if not MAGIC or "pattern.bounds" not in arrays:
        return
    bounds = pairwise(arrays["pattern.bounds"].tolist())
    groups = orjson.loads(arrays["pattern.groups"].tobytes())
    for pattern, (first, past), (count, names) in zip(
        patterns, bounds, groups, strict=True
    ):
        by_number: list[str | None] = [None] * (count + 1)
        for name, number in names.items():
            by_number[number] = name
        code = arrays["pattern.codes"][first:past].tolist()
        # As the last line of re._compiler.compile has it.
        pattern.compiled = _sre.compile(
            pattern.pattern, pattern.flags, code, count, names, tuple(by_number)
        )
