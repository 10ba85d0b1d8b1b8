"""The header `traceparent` (W3C Trace Context, version 00): read strictly, made anew.

A header is never copied.  What is not exactly version 00 counts as absent, and so do
`tracestate` and `baggage`, which are free text: nothing but two random numbers and one
bit can pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TRACEPARENT = "traceparent"
"""Header: version, trace id, id of the parent span, flags; in small hex digits."""

SAMPLED = 1
TRACE_BITS, SPAN_BITS = 128, 64
_HEADER = re.compile(rb"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class TraceParent:
    """A span of a trace, as the parent of others.

    Args:
        trace_id: Not 0.
        span_id: Not 0.
        is_sampled: Whether its spans are recorded.
    """

    trace_id: int
    span_id: int
    is_sampled: bool

    @classmethod
    def read(cls, raw: bytes | None) -> TraceParent | None:
        """Return what a header's value says; None if it is absent or malformed."""
        # Most records have none, and a longer value is not looked at.
        if raw is None or len(raw) != 55:
            return None
        match = _HEADER.fullmatch(raw)
        if match is None:
            return None
        trace_id, span_id, flags = (int(group, 16) for group in match.groups())
        if not trace_id or not span_id:
            return None
        return cls(trace_id, span_id, bool(flags & SAMPLED))

    def __bytes__(self) -> bytes:
        return b"00-%032x-%016x-%02x" % (self.trace_id, self.span_id, self.is_sampled)


def trace_id_text(trace_id: int) -> str:
    """Return a trace id as it is written in logs."""
    return f"{trace_id:032x}"
