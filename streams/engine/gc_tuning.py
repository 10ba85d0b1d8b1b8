"""The garbage collector, as a process wants it that loads much and then runs long."""

from __future__ import annotations

import gc

_OBJECTS = 10_000
"""So many new objects before it looks again: a batch of notes makes many, most of which
are gone before it would, and none in a cycle.  Python's own 700 cost a note 4%."""


def settle() -> None:
    """Leave out what is loaded by now, and look at what is new less often.

    For a process that has set up all it needs: what is loaded stays until it ends.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS)
