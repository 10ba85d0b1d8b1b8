"""A node and its settings: quick start, safe transactions, loopback only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SCRAM = "SCRAM-SHA-512"


@dataclass(frozen=True, slots=True)
class Node:
    """One Kafka process, broker and controller in one."""

    id: int
    port: int
    controller_port: int
    pid: int = 0
    sasl_port: int = 0
    tls_port: int = 0

    @property
    def address(self) -> str:
        """The address for clients."""
        return f"127.0.0.1:{self.port}"


@dataclass(frozen=True, slots=True)
class Security:
    """The security settings of the brokers of a cluster with users.

    Args:
        users: Passwords by name, for SASL.
        certificate: The brokers' certificate chain and its key, in PEM.
        ca: Certificates in PEM; a client's needs one that these signed.
    """

    users: Mapping[str, str] = field(repr=False)
    certificate: Path
    ca: Path

    @property
    def scram(self) -> tuple[str, ...]:
        """The arguments that give Kafka's formatter the users."""
        return tuple(
            f"--add-scram={SCRAM}=[name={name},password={password}]"
            for name, password in self.users.items()
        )


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


def secured_properties(node: Node, security: Security) -> str:
    """Return the settings of listeners with TLS, users and access control lists.

    One demands a password (SASL_SSL), the other a certificate (SSL), whose common name
    is the user.  Anonymous clients of the first listener may do everything.
    """
    local = {
        "PLAINTEXT": node.port,
        "SASL_SSL": node.sasl_port,
        "SSL": node.tls_port,
    }
    advertised = ",".join(f"{name}://127.0.0.1:{port}" for name, port in local.items())
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    return _text(
        {
            "listeners": f"{advertised},CONTROLLER://127.0.0.1:{node.controller_port}",
            "advertised.listeners": advertised,
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,"
            + ",".join(f"{name}:{name}" for name in local),
            "sasl.enabled.mechanisms": SCRAM,
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": scram,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": security.certificate,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": security.ca,
            "listener.name.ssl.ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:^CN=([^,]+)$/$1/,DEFAULT",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer"
            ".StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
    )


def _text(settings: Mapping[str, object]) -> str:
    return "".join(f"{key}={value}\n" for key, value in settings.items())
