"""A node and its settings: quick start, safe transactions, loopback only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Node:
    """One Kafka process, broker and controller in one."""

    id: int
    port: int
    controller_port: int
    pid: int = 0
    sasl_port: int = 0

    @property
    def address(self) -> str:
        """The address for clients."""
        return f"127.0.0.1:{self.port}"


def server_properties(node: Node, nodes: Sequence[Node], folder: Path) -> str:
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


def users_properties(node: Node, users: Mapping[str, str]) -> str:
    """Return the settings of a second listener with users and access control lists.

    It uses SASL/PLAIN without encryption, for tests on loopback.  Anonymous clients of
    the first listener may do everything.
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
