"""The prefilter of each rule: derived from its pattern, unless the rule says otherwise.

Those of all rules are in a file that `build` wrote, as parsing all patterns once more
would take longer than everything else at a start.  That of a pattern which is not in
the file is derived when it is asked for; a test says when the file is out of date.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from .pattern import LazyPattern
from .prefilter import Prefilter, Trigger, derive
from .rule import Rule

FILE = "prefilters.json"
_WINDOW = 80


def prefilter_of(rule: Rule) -> Prefilter:
    """Return where to try a rule's pattern.

    Raises:
        ValueError: Nothing can be derived, and the rule names no triggers.
    """
    if rule.triggers:
        triggers = tuple(
            Trigger(each, each.isalpha(), each.isalpha())
            for each in dict.fromkeys(rule.triggers)
        )
        window = _WINDOW if rule.window is None else rule.window
        return Prefilter(triggers, 0, rule.lookbehind or 0, window)
    derived = _kept().get(key_of(rule.pattern)) or derive(rule.pattern)
    if derived is None:
        raise ValueError(
            f"rule {rule.name}: no string is in every match, or a repetition has no"
            " bound; change the pattern or name triggers"
        )
    lookbehind = derived.lookbehind if rule.lookbehind is None else rule.lookbehind
    return Prefilter(
        derived.triggers,
        min(derived.nearest, lookbehind),
        lookbehind,
        derived.window if rule.window is None else rule.window,
    )


def key_of(pattern: re.Pattern[str] | LazyPattern) -> str:
    """Return what a pattern is kept under."""
    read = f"{pattern.flags} {pattern.pattern}"
    return hashlib.sha256(read.encode()).hexdigest()[:16]


@cache
def _kept() -> dict[str, Prefilter]:
    path = files(__package__) / FILE
    if not path.is_file():
        return {}
    rows: dict[str, Any] = orjson.loads(path.read_bytes())
    return {
        key: Prefilter(tuple(Trigger(*each) for each in triggers), *sizes)
        for key, (triggers, *sizes) in rows.items()
    }
