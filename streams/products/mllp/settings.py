"""The settings of the MLLP listener."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from pydantic import Field, field_validator, model_validator

from streams.engine.settings import ProductSettings


class MllpSettings(ProductSettings):
    """The table [mllp]: the MLLP listener, `phistream mllp`."""

    TABLE = "mllp"

    host: str = Field("127.0.0.1", min_length=1, description="address to listen on")
    port: int = Field(2575, ge=0, le=65_535, description="port; 0 for any free one")
    max_bytes: int = Field(
        8 * 1024 * 1024,
        ge=1024,
        le=64 * 1024 * 1024,
        description="a larger message is refused",
    )
    idle_seconds: float = Field(
        3600, gt=0, description="a connection without a message so long is closed"
    )
    frame_seconds: float = Field(
        60,
        gt=0,
        description="time to send a message, and to read its answer",
    )
    answer_seconds: float = Field(
        10, ge=1, le=300, description="time that Kafka has to store a message"
    )
    max_connections: int = Field(
        2000, ge=1, le=100_000, description="maximum number of connections"
    )
    max_in_flight: int = Field(
        32,
        ge=1,
        le=1000,
        description="messages of a connection that are not answered yet",
    )
    tls_certificate: Path | None = Field(
        None, description="certificate chain in PEM; turns on TLS"
    )
    tls_key: Path | None = Field(None, description="its private key in PEM")
    tls_client_ca: Path | None = Field(
        None, description="certificates in PEM; senders need one that these signed"
    )
    allow: tuple[IPv4Network | IPv6Network, ...] = Field(
        (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128")),
        description="addresses and networks of the senders",
    )
    senders: tuple[str, ...] = Field(
        (), description="MSH-3|MSH-4 of the senders; empty: any"
    )

    @field_validator("senders")
    @classmethod
    def _check_senders(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Reject what is not two fields."""
        if any(each.count("|") != 1 for each in value):
            raise ValueError('must each be "MSH-3|MSH-4", e.g. "LAB|NORTH"')
        return value

    @model_validator(mode="after")
    def _check_tls(self) -> MllpSettings:
        """Reject a certificate without its key, and a client CA without both."""
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key need each other")
        if self.tls_client_ca is not None and self.tls_certificate is None:
            raise ValueError("tls_client_ca needs tls_certificate and tls_key")
        return self
