"""The settings of the gateway."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr

from streams.engine.settings import ProductSettings


class GatewaySettings(ProductSettings):
    """The table [gateway]: the HTTP service, `phistream serve`."""

    TABLE = "gateway"

    tokens: SecretStr | None = Field(
        None, description="bearer tokens of the clients: NAME:TOKEN,..."
    )
    tokens_file: Path | None = Field(
        None, description="file of such tokens, one a line, readable by its owner alone"
    )
    certificate: Path | None = Field(
        None, description="certificate chain in PEM; turns on TLS"
    )
    certificate_key: Path | None = Field(None, description="its private key in PEM")
    requests: int = Field(
        32, ge=1, le=10_000, description="requests at a time; one more is refused"
    )
    batch_notes: int = Field(
        1000, ge=1, le=100_000, description="maximum number of notes in a batch"
    )
    body_seconds: float = Field(
        30, gt=0, le=3600, description="time in which the body of a request must come"
    )
    wait_seconds: float = Field(
        10, gt=0, le=600, description="time that a request waits for a worker"
    )
    request_seconds: float = Field(
        60, gt=0, le=3600, description="time after which a request's worker is killed"
    )
