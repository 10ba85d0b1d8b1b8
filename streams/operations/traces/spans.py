"""The spans of a worker, made from the callbacks of its loop.

Each record has a span from the begin of its batch to its commit, with a span for each
step below it; the commit of a batch has one that links to those of its records.  A span
tells position, sizes in records, and whether the record became a dead letter: no key,
no value, and nothing of an exception but its class.

Only spans that are recorded cost more than the two random numbers of a header: a trace
is sampled before OpenTelemetry knows of it.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    set_span_in_context,
)

from streams.engine.errors import StreamError
from streams.engine.log import TRACE_ID
from streams.engine.observer import Observer, Step
from streams.engine.records import Output, Partition, Record
from streams.engine.traceparent import (
    SPAN_BITS,
    TRACE_BITS,
    TRACEPARENT,
    TraceParent,
    trace_id_text,
)
from streams.kafka.topics import DEAD_LETTERS, HL7_RAW
from streams.operations.settings import TraceSettings

from .headers import with_parent

log = logging.getLogger(__name__)

MAX_LINKS = 128
"""Of the span of a commit: as many as OpenTelemetry keeps."""

Place = tuple[Partition, int]


@dataclass(slots=True)
class _Trace:
    """The trace of a record in the batch.

    Args:
        own: What its outputs have as parent.
        span: Of the record, if it is recorded.
    """

    own: TraceParent
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class _Stay:
    """Records that were in a step of processing; None: between two."""

    step: Step | None
    records: Sequence[Record]
    begun_ns: int


class TraceObserver(Observer):
    """Makes the spans of a worker, and the headers of its outputs.

    Args:
        tracer: Records each span that is begun.
        settings: Of traces.
        draw: Returns the next random number from 0 to 1.
        bits: Returns so many random bits.
        clock_ns: Nanoseconds since 1970.
    """

    def __init__(
        self,
        tracer: Tracer,
        settings: TraceSettings,
        *,
        draw: Callable[[], float] = random.random,
        bits: Callable[[int], int] = random.getrandbits,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._tracer = tracer
        self._ratio = settings.ratio
        self._is_trusted = settings.parents == "trusted"
        self._draw, self._bits, self._clock_ns = draw, bits, clock_ns
        self._thread = threading.get_ident()
        self._traces: dict[Place, _Trace] = {}
        self._is_recorded = False
        self._stays: list[_Stay] = []
        self._staged: list[Record] = []
        self._staged_ns = 0

    def begun(self, records: Sequence[Record]) -> None:
        """Begin the traces of a batch, or carry them on."""
        # A batch that overran its limit, or the rest of one, is read again.
        self._end("undone")
        now = self._clock_ns()
        for record in records:
            trace = self._begun(record, now)
            self._is_recorded |= trace.span is not None
            self._traces[record.partition, record.offset] = trace
        self._stays = [_Stay(None, records, now)]

    def entered(self, step: Step, records: Sequence[Record]) -> None:
        """Note the time; no more, since it may be interrupted."""
        # Without recorded spans it is for log lines alone.
        now = self._clock_ns() if self._is_recorded else 0
        self._stays.append(_Stay(step, records, now))

    def staged(self, records: Sequence[Record], outputs: Sequence[Output]) -> None:
        """Make the spans of steps."""
        now = self._clock_ns()
        if self._is_recorded:
            self._make_steps(now)
            self._tell_outputs(outputs)
        self._log(records, outputs)
        self._staged += records
        self._stays = [_Stay(None, (), now)]
        self._staged_ns = now

    def committed(self) -> None:
        """End the spans of the batch, and make that of its commit."""
        spans = [
            trace.span
            for record in self._staged
            if (trace := self._of(record)) and trace.span is not None
        ]
        if spans:
            now = self._clock_ns()
            links = [Link(each.get_span_context()) for each in spans[:MAX_LINKS]]
            self._tracer.start_span(
                "commit",
                Context(),
                SpanKind.INTERNAL,
                {"phistream.records": len(self._staged)},
                links,
                self._staged_ns,
            ).end(now)
            for each in spans:
                each.end(now)
        self._forget()

    def undone(self, error: StreamError) -> None:
        """End the spans: the batch will be read again, with others."""
        self._end(type(error).__name__)

    def with_headers(self, outputs: Sequence[Output]) -> Sequence[Output]:
        """Return outputs with the header `traceparent`; rows of tables have none."""
        return [self._with_header(each) for each in outputs]

    @contextmanager
    def lines_named(self) -> Iterator[None]:
        """Give log lines of this thread the trace of the record they are about."""
        handlers = [*logging.getLogger().handlers]
        for each in handlers:
            each.addFilter(self._add_trace_id)
        try:
            yield
        finally:
            for each in handlers:
                each.removeFilter(self._add_trace_id)

    def _begun(self, record: Record, now: int) -> _Trace:
        given = TraceParent.read(record.headers.get(TRACEPARENT))
        # Only workers of phistream write to the other topics that are read.
        is_ours = record.partition.topic != HL7_RAW.name
        parent = given if is_ours or self._is_trusted else None
        is_sampled = self._draw() < self._ratio if parent is None else parent.is_sampled
        if not is_sampled:
            trace_id = self._id(TRACE_BITS) if parent is None else parent.trace_id
            return _Trace(TraceParent(trace_id, self._id(SPAN_BITS), is_sampled=False))
        links = [Link(_context_of(given))] if given and parent is None else []
        partition = record.partition
        span = self._tracer.start_span(
            f"process {partition.topic}",
            Context() if parent is None else _below(parent),
            SpanKind.CONSUMER,
            {
                "messaging.system": "kafka",
                "messaging.operation.type": "process",
                "messaging.destination.name": partition.topic,
                "messaging.destination.partition.id": str(partition.index),
                "messaging.kafka.offset": record.offset,
            },
            links,
            now,
        )
        made = span.get_span_context()
        return _Trace(TraceParent(made.trace_id, made.span_id, is_sampled=True), span)

    def _make_steps(self, now: int) -> None:
        ends = [*(each.begun_ns for each in self._stays[1:]), now]
        for stay, end in zip(self._stays, ends, strict=True):
            if stay.step is None:
                continue
            attributes = {"phistream.records": len(stay.records)}
            for record in stay.records:
                trace = self._of(record)
                if trace is None or trace.span is None:
                    continue
                self._tracer.start_span(
                    stay.step.value,
                    set_span_in_context(trace.span, Context()),
                    attributes=attributes,
                    start_time=stay.begun_ns,
                ).end(end)

    def _tell_outputs(self, outputs: Sequence[Output]) -> None:
        for each in outputs:
            if each.source is not None and each.topic == DEAD_LETTERS.name:
                trace = self._of(each.source)
                if trace is not None and trace.span is not None:
                    trace.span.set_attribute("phistream.dead_letter", value=True)
                    trace.span.set_status(Status(StatusCode.ERROR))

    def _log(self, records: Sequence[Record], outputs: Sequence[Output]) -> None:
        if log.isEnabledFor(logging.DEBUG):
            for record in records:
                count = sum(each.source is record for each in outputs)
                log.debug("%s: %d outputs", record, count)

    def _end(self, why: str) -> None:
        """End the spans of records that are not committed."""
        for trace in self._traces.values():
            if trace.span is not None:
                trace.span.set_attribute("error.type", why)
                trace.span.set_status(Status(StatusCode.ERROR))
                trace.span.end(self._clock_ns())
        self._forget()

    def _forget(self) -> None:
        self._traces.clear()
        self._stays.clear()
        self._staged.clear()
        self._is_recorded = False

    def _of(self, record: Record) -> _Trace | None:
        return self._traces.get((record.partition, record.offset))

    def _with_header(self, output: Output) -> Output:
        if output.source is None:
            return output
        trace = self._of(output.source)
        return output if trace is None else with_parent(output, trace.own)

    def _add_trace_id(self, line: logging.LogRecord) -> bool:
        """Add the trace of the record that a log line names, or that is processed."""
        if line.thread == self._thread and not hasattr(line, TRACE_ID):
            record = next((a for a in _arguments(line) if isinstance(a, Record)), None)
            if record is None and self._stays and len(self._stays[-1].records) == 1:
                [record] = self._stays[-1].records
            trace = None if record is None else self._of(record)
            if trace is not None:
                setattr(line, TRACE_ID, trace_id_text(trace.own.trace_id))
        return True

    def _id(self, bits: int) -> int:
        """Return a random id; 0 is none."""
        return self._bits(bits) or 1


def _arguments(line: logging.LogRecord) -> tuple[object, ...]:
    return line.args if isinstance(line.args, tuple) else ()


def _context_of(parent: TraceParent) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if parent.is_sampled else 0)
    return SpanContext(
        parent.trace_id, parent.span_id, is_remote=True, trace_flags=flags
    )


def _below(parent: TraceParent) -> Context:
    return set_span_in_context(NonRecordingSpan(_context_of(parent)), Context())
