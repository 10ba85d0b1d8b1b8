"""The processor time of each step of the pipeline, while it runs as always."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from deid_core import Deidentifier, document, pipeline
from deid_core.replace import Replacer
from deid_core.verify import Verifier

STEPS = (
    ("readings", pipeline, "readings_of"),
    ("letter case", document, "is_in_one_case"),
    ("letter case", document, "truecased"),
    ("propagation", pipeline, "with_propagated"),
    ("companions", Replacer, "companions"),
    ("merge", pipeline, "merge"),
    ("offsets as written", pipeline, "as_written"),
    ("surrogates", Replacer, "replacements"),
    ("replace", pipeline, "apply_replacements"),
    ("verify", Verifier, "verify"),
)
"""Each step's name and its functions; detectors come besides."""
REST = "rest"


class Stopwatch:
    """Sums processor time by step; a step within another is not counted in both."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._within: list[float] = []

    def timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, which now adds its time to a step."""

        def timed(*args: Any, **options: Any) -> Any:
            self._within.append(0.0)
            started = time.process_time()
            try:
                return call(*args, **options)
            finally:
                taken = time.process_time() - started
                self.seconds[name] += taken - self._within.pop()
                if self._within:
                    self._within[-1] += taken

        return timed


class _Timed:
    """A detector that is timed, and otherwise as it was."""

    def __init__(self, detector: Any, stopwatch: Stopwatch) -> None:
        self._detector = detector
        self._call = stopwatch.timed(f"detector {detector.name}", detector)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._detector, name)

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)


@contextmanager
def steps_of(system: Deidentifier) -> Iterator[Counter[str]]:
    """Yield the seconds of each step of a system; they are complete at the end."""
    stopwatch = Stopwatch()
    detectors = tuple(_Timed(each, stopwatch) for each in system._detectors)
    with ExitStack() as stack:
        stack.enter_context(patch.object(system, "_detectors", detectors))
        for name, owner, function in STEPS:
            timed = stopwatch.timed(name, getattr(owner, function))
            stack.enter_context(patch.object(owner, function, timed))
        run = stopwatch.timed(REST, system.deidentify_batch)
        stack.enter_context(patch.object(system, "deidentify_batch", run))
        yield stopwatch.seconds
