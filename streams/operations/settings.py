"""The settings of metrics, pages and traces; with them, all settings of a process.

`deploy/config/phistream.toml` shows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, ValidationError

from streams.engine.errors import ConfigError
from streams.engine.settings import SettingsTable, explain
from streams.kafka.settings import KafkaSettings


class TraceSettings(SettingsTable):
    """The table [traces]: spans for a collector of OpenTelemetry."""

    enabled: bool = Field(default=False, description="spans are sent to a collector")
    endpoint: str = Field(
        "",
        pattern=r"^(https?://[^/?#@,\s]+[^?#@,\s]*)?$",
        description="URL of the collector, OTLP over HTTP",
    )
    ca_file: Path | None = Field(
        None, description="certificates in PEM that sign the collector's"
    )
    ratio: float = Field(
        0.01, ge=0, le=1, description="share of the traces begun here that is recorded"
    )
    parents: Literal["linked", "trusted"] = Field(
        "linked", description="what becomes of the traceparent of a sender"
    )
    queue_spans: int = Field(
        2048,
        ge=64,
        le=1_000_000,
        description="spans that wait for the collector; one more displaces the oldest",
    )
    timeout_seconds: float = Field(
        5, gt=0, le=20, description="time that the collector has to answer"
    )


class Settings(KafkaSettings):
    """All settings of a process but the products' tables."""

    metrics_host: str = Field(
        "127.0.0.1", min_length=1, description="address of /metrics and /status"
    )
    metrics_port: int = Field(
        0,
        ge=0,
        le=65_000,
        description="port of slot 0; slot n listens on this port plus n; 0: off",
    )
    metrics_port_by_slot: bool = Field(
        default=True,
        description="false: the first worker of a service listens on metrics_port, "
        "whatever its slot",
    )
    watch_workers: str = Field(
        "", description="host:port,... of the workers' metrics, for the page of watch"
    )
    allowed_hosts: str = Field(
        "",
        description="host,... that requests of HTTP may name, besides the loopback's "
        "and the address that they reach",
    )
    operator_tokens: SecretStr | None = Field(
        None, description="bearer tokens of the page and the metrics: NAME:TOKEN,..."
    )
    operator_tokens_file: Path | None = Field(
        None, description="file of such tokens, one a line, readable by its owner alone"
    )
    traces: TraceSettings = Field(
        TraceSettings.model_validate({}),
        description="spans for a collector of OpenTelemetry, and traceparent headers",
    )
    traces_headers: SecretStr | None = Field(
        None, description="headers of requests to the collector: NAME=VALUE,..."
    )

    def metrics_port_of(self, slot: int) -> int:
        """Return the port on which the worker of a slot serves its metrics."""
        first = 0 if self.metrics_port_by_slot else self.first_slot
        return self.metrics_port + slot - first

    def completed(self, environment: Mapping[str, str]) -> Self:
        """Take a collector from OpenTelemetry's own variables, if none is named."""
        settings = super().completed(environment)
        if not self.traces.enabled:
            return settings
        return settings.model_copy(update=self._collector(environment))

    def _collector(self, env: Mapping[str, str]) -> dict[str, object]:
        otlp = "OTEL_EXPORTER_OTLP_"
        base = env.get(f"{otlp}ENDPOINT", "http://127.0.0.1:4318").rstrip("/")
        found = env.get(f"{otlp}TRACES_ENDPOINT") or f"{base}/v1/traces"
        headers = env.get(f"{otlp}TRACES_HEADERS") or env.get(f"{otlp}HEADERS")
        try:
            endpoint = self.traces.endpoint or found
            traces = self.traces.model_dump() | {"endpoint": endpoint}
            changes: dict[str, object] = {
                "traces": TraceSettings.model_validate(traces)
            }
        except ValidationError as error:
            raise ConfigError(f"{otlp}TRACES_ENDPOINT: {explain(error)}") from None
        if self.traces_headers is None and headers:
            changes["traces_headers"] = SecretStr(headers)
        return changes


load_settings = Settings.load
"""Return the settings from file, environment and command line."""
