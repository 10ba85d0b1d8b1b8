"""The settings of Kafka's clients, topics, tables and local cluster."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import orjson
from pydantic import Field, SecretStr, field_validator, model_validator

from streams.engine.errors import ConfigError
from streams.engine.keys.files import read_password
from streams.engine.settings import CoreSettings, SettingsTable, from_json

from .client_properties import milliseconds, require_allowed, require_safe


class RegistrySettings(SettingsTable):
    """The table [schema_registry]: the wire format, and where its ids are from."""

    url: str = Field(
        "",
        pattern=r"^(https?://[^/?#@,\s]+[^?#@,\s]*(,|$))*$",
        description="URL,... of the registry; empty: off",
    )
    user: str = Field("", pattern="^[^:]*$", description="user, with a password")
    password_file: Path | None = Field(None, description="file of its password")
    token_file: Path | None = Field(
        None, description="file of a bearer token, in place of user and password"
    )
    logical_cluster: str = Field(
        "", description="logical cluster of the registry (lsrc-...), with a token"
    )
    ca_file: Path | None = Field(
        None, description="certificates in PEM that sign the registry's"
    )
    registers: bool = Field(
        default=False,
        alias="register",
        description="schemas are registered at the start; else they must be there",
    )


class KafkaSettings(CoreSettings):
    """The settings of the core and of Kafka."""

    bootstrap: str = Field("", description="host:port,... of the Kafka cluster")
    kafka: dict[str, str] = Field(
        default_factory=dict,
        repr=False,  # it may hold passwords
        description="further client properties, e.g. security.protocol",
    )
    kafka_password: SecretStr | None = Field(None, description="sasl.password")
    kafka_password_file: Path | None = Field(
        None, description="file of it, readable by its owner alone, e.g. a mounted one"
    )
    schema_registry: RegistrySettings = Field(
        RegistrySettings.model_validate({}),
        description="a schema registry, for the wire format of its ids",
    )
    schema_registry_password: SecretStr | None = Field(
        None, description="password of schema_registry.user"
    )
    schema_registry_token: SecretStr | None = Field(
        None, description="bearer token for the schema registry"
    )
    group: str = Field(
        "phistream", min_length=1, description="prefix of groups and transactional ids"
    )
    partitions: int = Field(
        6,
        ge=1,
        le=1000,
        description="number of partitions of the topics that are created",
    )
    replication: int = Field(
        1, ge=1, le=9, description="replication factor of the topics that are created"
    )
    state_dir: Path = Field(
        Path(".phistream/state"), description="folder of the tables"
    )
    state_lock_seconds: float = Field(
        60.0,
        ge=0.0,
        le=3600.0,
        description="how long a worker waits for tables that another process has open",
    )
    standby_copies: int = Field(
        0,
        ge=0,
        le=3,
        description="number of lost workers whose partitions others hold copies of",
    )
    broker_dir: Path = Field(
        Path(".phistream/broker"),
        description="folder of the local cluster (phistream broker)",
    )
    cache_dir: Path = Field(
        Path("~/.cache/phistream"), description="folder of Kafka's jars"
    )
    java_home: Path | None = Field(None, description="JAVA_HOME, Java 17 or newer")
    broker_wait_seconds: float = Field(
        60, gt=0, description="time to wait for a broker at the start"
    )
    transaction_seconds: float = Field(
        20, ge=1, le=300, description="transaction.timeout.ms"
    )
    poll_seconds: float = Field(60, ge=5, le=600, description="max.poll.interval.ms")
    session_seconds: float = Field(10, ge=6, le=300, description="session.timeout.ms")

    @field_validator("kafka", mode="before")
    @classmethod
    def _check_client(cls, value: object) -> object:
        """Refuse properties that may not be set; take numbers and booleans as text."""
        value = from_json(value)
        if not isinstance(value, Mapping):
            return value
        if any(isinstance(each, Mapping) for each in value.values()):
            raise ValueError('names need quotes: "security.protocol" = "SASL_SSL"')
        require_allowed([str(name) for name in value])
        require_safe(value)
        return {
            name: str(each).lower() if isinstance(each, bool | int) else each
            for name, each in value.items()
        }

    @model_validator(mode="after")
    def _check_linger(self) -> Self:
        """Reject batches that wait for longer than a transaction may take."""
        # The client itself would only say so with the first record.
        if milliseconds(self.kafka.get("linger.ms")) >= self.transaction_seconds * 1000:
            raise ValueError("linger.ms: must be shorter than transaction_seconds")
        return self

    def client(self, **extra: object) -> dict[str, Any]:
        """Return the properties of a Kafka client, overridden by ``extra``."""
        if not self.bootstrap:
            raise ConfigError(
                "bootstrap: not set; name your cluster with --bootstrap HOST:PORT, "
                "or start one with: phistream broker up"
            )
        properties: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap,
            "client.id": "phistream",
            **self.kafka,
        }
        if self.log_level == "debug":
            properties.setdefault("debug", "eos,cgrp,topic")
        if password := self._kafka_password():
            properties["sasl.password"] = password
        return {**properties, **extra}

    def own_bootstrap(self) -> str:
        """Return the addresses of the cluster of ``phistream broker up``, if any."""
        file = self.broker_dir / "cluster.json"
        if not file.exists():
            return ""
        nodes = orjson.loads(file.read_bytes())["nodes"]
        return ",".join(f"127.0.0.1:{node['port']}" for node in nodes)

    def _kafka_password(self) -> str:
        given, file = self.kafka_password, self.kafka_password_file
        if given is not None and file is not None:
            raise ConfigError(
                "kafka_password_file: is set, and kafka_password as well; keep one"
            )
        if given is not None:
            return given.get_secret_value()
        return "" if file is None else read_password(file, "kafka_password_file")

    def completed(self, environment: Mapping[str, str]) -> Self:
        """Take the local cluster, and Java from its own variable, if none is named."""
        changes: dict[str, object] = {}
        if not self.bootstrap:
            changes["bootstrap"] = self.own_bootstrap()
        if self.java_home is None and (java_home := environment.get("JAVA_HOME")):
            changes["java_home"] = Path(java_home)
        return super().completed(environment).model_copy(update=changes)
