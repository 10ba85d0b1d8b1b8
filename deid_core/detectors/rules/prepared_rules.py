"""Arrays that the engine needs of the rules, kept for the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_core.runtime.prepared import Arrays, fingerprint, prepared

from .pattern import MAGIC, LazyPattern, machine_form, restore
from .prefilters import prefilter_of
from .rule import Rule
from .windows import window_arrays


def rule_arrays(rules: Sequence[Rule]) -> dict[str, NDArray[Any]]:
    """Return where to try each rule, as arrays.

    ``is_fixed`` says whether all matches of a rule start equally far before their
    triggers; `window_arrays` has the others.
    """
    prefilters = [prefilter_of(rule) for rule in rules]
    return {
        "is_fixed": np.array(
            [prefilter.is_fixed for prefilter in prefilters], np.bool_
        ),
        **window_arrays(prefilters, [rule.max_column for rule in rules]),
    }


def kept_arrays(rules: Sequence[Rule]) -> Arrays:
    """Return `rule_arrays`, kept by an earlier process, and restore the patterns."""
    patterns = [rule.pattern for rule in rules if isinstance(rule.pattern, LazyPattern)]
    arrays = prepared(
        "rules",
        fingerprint([__package__], MAGIC, *map(_read, rules)),
        lambda: {**rule_arrays(rules), **machine_form(patterns)},
    )
    restore(patterns, arrays)
    return arrays


def _read(rule: Rule) -> str:
    """Return what the arrays are made from."""
    pattern = rule.pattern
    overrides = (rule.triggers, rule.lookbehind, rule.window, rule.max_column)
    return f"{rule.name} {overrides} {pattern.flags} {pattern.pattern}"
