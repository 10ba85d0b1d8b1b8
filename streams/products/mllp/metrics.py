"""The metrics of the listener, and its health."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from importlib import metadata
from typing import Any

from prometheus_client import CollectorRegistry

from streams.formats.hl7.acknowledgement import Refusal

from . import catalogue
from .frames import Closed

NO_ANSWER = "none"
CODES = ("AA", "AE", "AR", "CA", "CE", "CR", NO_ANSWER)


class Unwelcome(StrEnum):
    """Why a connection is not accepted; counted together with `Closed`."""

    ADDRESS = "address"
    TOO_MANY = "too_many"


class ListenerMetrics:
    """The metrics of the listener; every series exists from the start."""

    def __init__(self, registry: CollectorRegistry) -> None:
        closed = catalogue.CLOSED.on(registry)
        self._closed = {each: closed.labels(each) for each in (*Closed, *Unwelcome)}
        answers = catalogue.ANSWERS.on(registry)
        self._answers = {code: answers.labels(code) for code in CODES}
        refused = catalogue.REFUSED.on(registry)
        self._refused = {each: refused.labels(each) for each in Refusal}
        self._seconds = catalogue.ANSWER_SECONDS.on(registry)
        self._connections = catalogue.CONNECTIONS.on(registry)
        self._in_flight = catalogue.IN_FLIGHT.on(registry)
        self.ready = catalogue.READY.on(registry)
        self.connections = self.in_flight = self.messages = 0

    def opened(self) -> None:
        """Count a connection."""
        self.connections += 1
        self._connections.inc()

    def closed(self, reason: Closed) -> None:
        """Count the end of a connection."""
        self.connections -= 1
        self._connections.dec()
        self._closed[reason].inc()

    def unwelcome(self, reason: Unwelcome) -> None:
        """Count a connection that was closed at once."""
        self._closed[reason].inc()

    def received(self) -> None:
        """Count a message that is in flight."""
        self.in_flight += 1
        self._in_flight.inc()

    def answered(
        self, code: str | None, refusal: Refusal | None, seconds: float
    ) -> None:
        """Count an answer, and its message."""
        self.messages += 1
        self._answers[code or NO_ANSWER].inc()
        self._seconds.observe(seconds)
        if refusal is not None:
            self._refused[refusal].inc()

    def left(self) -> None:
        """Count a message that is in flight no more, answered or not."""
        self.in_flight -= 1
        self._in_flight.dec()


class ListenerHealth:
    """The answers of /healthz, /readyz and /status.

    Args:
        metrics: Of the listener.
        silent: Returns the seconds since the event loop's last beat.
        limit: Seconds of silence after which the loop is not alive.
    """

    def __init__(
        self, metrics: ListenerMetrics, silent: Callable[[], float], limit: float
    ) -> None:
        self._metrics = metrics
        self._silent = silent
        self._limit = limit
        self._trouble = "starting"

    def judge(self, trouble: str) -> None:
        """Set why messages cannot be accepted; empty when they can."""
        self._trouble = trouble
        self._metrics.ready.set(not trouble)

    def alive(self) -> tuple[bool, str]:
        """Return whether the loop is alive, and a line about it."""
        silent = self._silent()
        return silent <= self._limit, f"the loop's last beat was {silent:.1f} s ago"

    def ready(self) -> tuple[bool, str]:
        """Return whether messages can be accepted, and why not."""
        return not self._trouble, self._trouble or "listening, and Kafka answers"

    def status(self) -> dict[str, Any]:
        """Return everything as JSON: counts, no PHI."""
        return {
            "service": "mllp",
            "version": metadata.version("phistream"),
            "alive": self.alive()[0],
            "ready": self.ready()[0],
            "reason": self._trouble,
            "connections": self._metrics.connections,
            "in_flight": self._metrics.in_flight,
            "messages_answered": self._metrics.messages,
        }
