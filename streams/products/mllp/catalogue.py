"""The metrics of the MLLP listener.

code        MSA-1 of the answer, or none
why         a member of Refusal, or of Closed and Unwelcome
"""

from __future__ import annotations

from streams.operations.metrics.catalogue import (
    CounterMetric,
    GaugeMetric,
    HistogramMetric,
    Metric,
)

CONNECTIONS = GaugeMetric(
    "phistream_mllp_connections", (), "Connections of senders to the MLLP listener."
)
CLOSED = CounterMetric(
    "phistream_mllp_connections_closed_total",
    ("why",),
    "Connections that have ended, by the cause.",
)
IN_FLIGHT = GaugeMetric(
    "phistream_mllp_in_flight_messages", (), "Messages that are not answered yet."
)
ANSWERS = CounterMetric(
    "phistream_mllp_answers_total", ("code",), "Messages by their acknowledgement."
)
REFUSED = CounterMetric(
    "phistream_mllp_refused_total", ("why",), "Messages not accepted, by the cause."
)
ANSWER_SECONDS = HistogramMetric(
    "phistream_mllp_answer_seconds",
    (),
    "Time from the end of a message to its answer.",
    (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30),
)
READY = GaugeMetric(
    "phistream_mllp_ready",
    (),
    "1 when the listener accepts messages and Kafka answers.",
)

METRICS: tuple[Metric, ...] = (
    CONNECTIONS,
    CLOSED,
    IN_FLIGHT,
    ANSWERS,
    REFUSED,
    ANSWER_SECONDS,
    READY,
)
