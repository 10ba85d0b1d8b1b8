"""The settings of a node: quick to start, safe with transactions, loopback only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol


class Listening(Protocol):
    """What the settings need of a node."""

    @property
    def id(self) -> int:
        """The node's number."""
        ...

    @property
    def port(self) -> int:
        """Where clients connect."""
        ...

    @property
    def controller_port(self) -> int:
        """Where the other controllers connect."""
        ...

    @property
    def sasl_port(self) -> int:
        """Where clients with a name and a password connect."""
        ...


def server_properties(node: Listening, nodes: Sequence[Listening], folder: Path) -> str:
    """Return the text of ``server.properties``.

    Replication is 3 with min.insync.replicas 2 on three nodes, else 1.
    """
    replication = 3 if len(nodes) >= 3 else 1
    insync = 2 if replication == 3 else 1
    voters = ",".join(f"{each.id}@127.0.0.1:{each.controller_port}" for each in nodes)
    listeners = (
        f"PLAINTEXT://127.0.0.1:{node.port},"
        f"CONTROLLER://127.0.0.1:{node.controller_port}"
    )
    settings: dict[str, object] = {
        "process.roles": "broker,controller",
        "node.id": node.id,
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": listeners,
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{node.port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": folder / "data",
        "auto.create.topics.enable": "false",
        "default.replication.factor": replication,
        "min.insync.replicas": insync,
        "offsets.topic.num.partitions": 4,
        "offsets.topic.replication.factor": replication,
        "transaction.state.log.num.partitions": 4,
        "transaction.state.log.replication.factor": replication,
        "transaction.state.log.min.isr": insync,
        "share.coordinator.state.topic.num.partitions": 1,
        "share.coordinator.state.topic.replication.factor": replication,
        "share.coordinator.state.topic.min.isr": insync,
        "group.initial.rebalance.delay.ms": 0,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
        "broker.session.timeout.ms": 6000,
        "log.cleaner.backoff.ms": 1000,
        "log.cleaner.min.cleanable.ratio": 0.01,
        "log.retention.check.interval.ms": 5000,
    }
    return _text(settings)


def users_properties(node: Listening, users: Mapping[str, str]) -> str:
    """Return what lets users in by a second listener, and there only where ACLs allow.

    SASL/PLAIN without encryption: for trying access control lists on loopback.  Who
    connects without a name, at the first listener, may do everything.
    """
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    names = " ".join(f'user_{name}="{password}"' for name, password in users.items())
    return _text(
        {
            "listeners": f"PLAINTEXT://127.0.0.1:{node.port},"
            f"SASL_PLAINTEXT://127.0.0.1:{node.sasl_port},"
            f"CONTROLLER://127.0.0.1:{node.controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{node.port},"
            f"SASL_PLAINTEXT://127.0.0.1:{node.sasl_port}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,"
            "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{module} {names};",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer"
            ".StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
    )


def _text(settings: Mapping[str, object]) -> str:
    return "".join(f"{key}={value}\n" for key, value in settings.items())
