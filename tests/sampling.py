"""Samples for a quick run: the same behaviours as in a whole one, on fewer examples.

A run is whole when its option -m does not leave out what is long: ``pytest -m ""``.
"""

from __future__ import annotations

from itertools import islice

from hypothesis import settings

FEWER = 5
LEAST = 10

_is_quick = False


def configure(markexpr):
    """Choose by the option -m how much is read; before tests are collected."""
    global _is_quick  # decorators read it while modules are imported
    _is_quick = "not long" in (markexpr or "")
    # A deadline per example fails on a busy machine; each test has its timeout.  A
    # quick run says the same of the same code; a whole one looks for new examples.
    settings.register_profile(
        "phistream",
        deadline=None,
        max_examples=examples(100),
        derandomize=_is_quick,
    )
    settings.load_profile("phistream")


def sampled(items, stride=FEWER):
    """Return every ``stride``-th item in a quick run, all items in a whole one."""
    return list(islice(items, 0, None, stride if _is_quick else 1))


def examples(count):
    """Return how many examples Hypothesis tries, of ``count`` in a whole run."""
    return max(LEAST, count // FEWER) if _is_quick else count
