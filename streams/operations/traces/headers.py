"""The header `traceparent` of outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from streams.engine.records import Output
from streams.engine.traceparent import TRACEPARENT, TraceParent


def carried_on(outputs: Sequence[Output]) -> Sequence[Output]:
    """Return outputs with the trace of their input, if it has a valid one."""
    return [_carried_on(each) for each in outputs]


def _carried_on(output: Output) -> Output:
    if output.source is None:
        return output
    parent = TraceParent.read(output.source.headers.get(TRACEPARENT))
    return output if parent is None else with_parent(output, parent)


def with_parent(output: Output, parent: TraceParent) -> Output:
    """Return an output with the header `traceparent`."""
    return replace(output, headers={**output.headers, TRACEPARENT: bytes(parent)})
