"""Tracing in a worker: none, headers alone, or spans as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from streams.engine.errors import ConfigError
from streams.engine.extras import install
from streams.engine.observer import CompositeObserver, Observer
from streams.engine.records import Output
from streams.operations.settings import Settings

from .headers import carried_on

WithHeaders = Callable[[Sequence[Output]], Sequence[Output]]


@dataclass(frozen=True, slots=True)
class Tracing:
    """The hooks by which a worker takes part in traces.

    Args:
        observer: Of the loop.
        with_headers: Returns outputs with the header `traceparent`, to be sealed.
    """

    observer: Observer
    with_headers: WithHeaders


@contextmanager
def tracing(service: str, settings: Settings, observer: Observer) -> Iterator[Tracing]:
    """Yield what a worker needs; in the end, send what spans are left.

    Args:
        service: Its name in traces.
        settings: Its `traces`.
        observer: Another one of the loop.

    Raises:
        ConfigError: The extra is missing, or headers for the collector are malformed.
    """
    if not settings.traces.enabled:
        is_trusted = settings.traces.parents == "trusted"
        yield Tracing(observer, carried_on if is_trusted else _unchanged)
        return
    require_extra()
    # Loading opentelemetry takes half a second.
    from .exporting import exporting
    from .spans import TraceObserver

    with exporting(service, settings) as tracer:
        traces = TraceObserver(tracer, settings.traces)
        with traces.lines_named():
            both = CompositeObserver(observer, traces)
            yield Tracing(both, traces.with_headers)


def require_extra() -> None:
    """Check that spans can be made and sent.

    Raises:
        ConfigError: The extra is missing.
    """
    try:
        import opentelemetry.exporter.otlp.proto.http.trace_exporter
        import opentelemetry.sdk.trace  # noqa: F401
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"traces.enabled: {error.name} is missing; install: {install('traces')}, "
            "or set enabled = false"
        ) from None


def _unchanged(outputs: Sequence[Output]) -> Sequence[Output]:
    return outputs
