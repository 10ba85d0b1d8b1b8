"""Sends spans to a collector, from a thread of its own and a bounded queue.

An export that fails is logged once, by its kind, and its spans are lost: the loop
neither waits nor stops.  OpenTelemetry's own log lines are turned off, since they show
what the collector answers.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from urllib.parse import unquote

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Tracer

from streams.engine.errors import ConfigError
from streams.operations.settings import Settings

log = logging.getLogger(__name__)

BATCH_SPANS = 512
EVERY_SECONDS = 1.0
LAST_SECONDS = 5.0
"""For the spans that are left when a worker ends."""
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


@contextmanager
def exporting(service: str, settings: Settings) -> Iterator[Tracer]:
    """Yield a tracer whose spans are sent to the collector of the settings.

    Raises:
        ConfigError: The headers for the collector are malformed.
    """
    traces = settings.traces
    for name in ("opentelemetry", "urllib3"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    sender = OTLPSpanExporter(
        endpoint=traces.endpoint,
        certificate_file=None if traces.ca_file is None else str(traces.ca_file),
        headers=headers_of(settings),
        timeout=traces.timeout_seconds,
    )
    exporter = LoggedExporter(sender)
    processor = BatchSpanProcessor(
        exporter,
        max_queue_size=traces.queue_spans,
        max_export_batch_size=min(BATCH_SPANS, traces.queue_spans),
        schedule_delay_millis=EVERY_SECONDS * 1000,
    )
    try:
        yield tracer_of(service, processor)
    finally:
        exporter.end_within(LAST_SECONDS)
        processor.shutdown()  # type: ignore[no-untyped-call]


def tracer_of(service: str, processor: SpanProcessor) -> Tracer:
    """Return a tracer that records each span that is begun: sampling comes before."""
    version = metadata.version("phistream")
    # Nothing is taken from the host: commands and their arguments stay out of spans.
    resource = Resource({"service.name": service, "service.version": version})
    provider = TracerProvider(ALWAYS_ON, resource, shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return provider.get_tracer("phistream", version)


def headers_of(settings: Settings) -> dict[str, str]:
    """Return the headers of requests to the collector.

    Raises:
        ConfigError: They are not NAME=VALUE,...
    """
    if settings.traces_headers is None:
        return {}
    found = {}
    for each in settings.traces_headers.get_secret_value().split(","):
        name, equals, value = (part.strip() for part in each.partition("="))
        value = unquote(value)
        if not (equals and _NAME.fullmatch(name) and _VALUE.fullmatch(value)):
            raise ConfigError("traces_headers: must be NAME=VALUE,...")
        found[name.lower()] = value
    return found


class LoggedExporter(SpanExporter):
    """Logs when spans begin to be lost, and when they no longer are.

    Args:
        exporter: Sends them.
    """

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._last = SpanExportResult.SUCCESS
        self._deadline = math.inf

    def end_within(self, seconds: float) -> None:
        """Begin no request later than in so many seconds: the process ends."""
        self._deadline = time.monotonic() + seconds

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans; never raise."""
        if time.monotonic() > self._deadline:
            return SpanExportResult.FAILURE
        try:
            result, why = self._exporter.export(spans), "refused or not answered"
        except Exception as error:
            result, why = SpanExportResult.FAILURE, type(error).__name__
        if result is not self._last:
            self._last = result
            if result is SpanExportResult.SUCCESS:
                log.warning("traces: the collector takes spans again")
            else:
                log.warning("traces: spans are lost, the collector: %s", why)
        return result

    def shutdown(self) -> None:
        """Stop sending."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Return whether nothing is left to send."""
        return self._exporter.force_flush(timeout_millis)
