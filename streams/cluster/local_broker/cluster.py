"""Starts and stops one to three Kafka nodes on free loopback ports."""

from __future__ import annotations

import base64
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import orjson
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from streams.engine.private_files import FILE_MODE, MASK, private_folder

from .node import Node, Security, secured_properties, server_properties
from .ports import free_ports
from .processes import Processes
from .runtime import BrokerError, class_path, java_binary

JVM = ("-Xmx512m", "-XX:+UseSerialGC")
QUICK_START = ("-XX:TieredStopAtLevel=1",)
"""Compiles once and fast: right for minutes, not for hours under load."""


class Cluster:
    """Kafka nodes whose state is in one folder, so that any process can stop them.

    Args:
        home: Folder of data, logs and ``cluster.json``.
        cache: Folder of the jars, shared by clusters.
        java_home: The user's JAVA_HOME, if any.
        jvm: Further options of the Java machine.
    """

    def __init__(
        self,
        home: Path,
        *,
        cache: Path,
        java_home: Path | None = None,
        jvm: Sequence[str] = QUICK_START,
    ) -> None:
        self._home = home
        self._cache = cache
        self._java_home = java_home
        self._jvm = tuple(jvm)
        self._nodes: list[Node] = []
        self._processes = Processes()
        self._load()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes, running or not."""
        return tuple(self._nodes)

    @property
    def bootstrap(self) -> str:
        """The value of ``bootstrap.servers``."""
        return ",".join(node.address for node in self._nodes)

    @property
    def sasl_bootstrap(self) -> str:
        """The value of ``bootstrap.servers`` for clients with a name and a password."""
        return ",".join(f"127.0.0.1:{node.sasl_port}" for node in self._nodes)

    @property
    def tls_bootstrap(self) -> str:
        """The value of ``bootstrap.servers`` for clients with a certificate."""
        return ",".join(f"127.0.0.1:{node.tls_port}" for node in self._nodes)

    def is_running(self, node: Node) -> bool:
        """Return whether the node's process is alive."""
        return self._processes.is_kafka(node.pid, self._home)

    def up(
        self,
        *,
        brokers: int = 1,
        security: Security | None = None,
        seconds: float = 90,
        progress: Callable[[int, int], None] = lambda _done, _all: None,
    ) -> None:
        """Start the cluster and wait until every broker answers.

        Args:
            brokers: 1, or 3 with replication 3.
            security: With it the brokers authorize: see `secured_properties`.
            seconds: Time limit.
            progress: Called with the number of jars present, and of all.

        Raises:
            BrokerError: It is running already, or does not answer within ``seconds``.
        """
        if any(self.is_running(node) for node in self._nodes):
            raise BrokerError(
                f"a cluster runs already at {self.bootstrap}: phistream broker down"
            )
        if brokers not in (1, 3):
            raise BrokerError("brokers: 1 or 3 (replication 3 needs three)")
        path = self._class_path(progress)
        self.remove_data()
        ports = free_ports(4 * brokers)
        self._nodes = [
            Node(
                n + 1,
                ports[4 * n],
                ports[4 * n + 1],
                sasl_port=ports[4 * n + 2],
                tls_port=ports[4 * n + 3],
            )
            for n in range(brokers)
        ]
        self._format(path, security)
        for node in self.nodes:
            self._start(node, path)
        self._wait(seconds)

    def restart(self, node_id: int, *, seconds: float = 240) -> None:
        """Start a node that was stopped or killed, on its old data and port."""
        node = self._node(node_id)
        self._start(node, self._class_path())
        self._wait(seconds)

    def kill(self, node_id: int) -> None:
        """Kill a node (SIGKILL), as a power cut would."""
        self._processes.end(self._node(node_id).pid, signal.SIGKILL, seconds=10)

    def down(self, *, seconds: float = 20) -> None:
        """Stop all nodes: SIGTERM, then SIGKILL for those that do not end in time."""
        running = [node for node in self._nodes if self.is_running(node)]
        for node in running:
            self._processes.end(node.pid, signal.SIGTERM, seconds=0)
        deadline = time.monotonic() + seconds
        for node in running:
            self._processes.wait(node.pid, max(0.1, deadline - time.monotonic()))
            if self.is_running(node):
                self._processes.end(node.pid, signal.SIGKILL, seconds=10)

    def remove_data(self) -> None:
        """Delete data and logs of a stopped cluster."""
        shutil.rmtree(self._home, ignore_errors=True)
        self._nodes = []

    def _node(self, node_id: int) -> Node:
        for node in self._nodes:
            if node.id == node_id:
                return node
        raise BrokerError(f"no node {node_id}; known: {[n.id for n in self._nodes]}")

    def _folder(self, node: Node) -> Path:
        return self._home / f"node-{node.id}"

    def _format(self, path: str, security: Security | None) -> None:
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes)[:22].decode()
        for node in self._nodes:
            folder = self._folder(node)
            private_folder(folder / "data")
            properties = self._properties(node, security)
            # It holds the users' passwords.
            (folder / "server.properties").touch(FILE_MODE)
            (folder / "server.properties").write_text(properties, "utf-8")
            done = subprocess.run(  # noqa: S603  # our own java, our own arguments
                [
                    *self._java(path),
                    "kafka.tools.StorageTool",
                    "format",
                    "--ignore-formatted",
                    f"--cluster-id={cluster_id}",  # it may begin with a hyphen
                    *("-c", str(folder / "server.properties")),
                    *(security.scram if security is not None else ()),
                ],
                capture_output=True,
                text=True,
                check=False,
                umask=MASK,
            )
            if done.returncode:
                raise BrokerError(f"format of node {node.id} failed: {done.stderr}")

    def _properties(self, node: Node, security: Security | None) -> str:
        properties = server_properties(node, self._nodes, self._folder(node))
        if security is not None:
            # Of two lines with the same key, Java uses the second.
            properties += secured_properties(node, security)
        return properties

    def _class_path(
        self, progress: Callable[[int, int], None] = lambda _done, _all: None
    ) -> str:
        return class_path(self._cache, progress=progress)

    def _java(self, path: str) -> list[str]:
        return [str(java_binary(self._java_home)), *JVM, *self._jvm, "-cp", path]

    def _start(self, node: Node, path: str) -> None:
        folder = self._folder(node)
        (folder / "kafka.log").touch(FILE_MODE)
        with (folder / "kafka.log").open("ab") as log:
            pid = self._processes.start(
                [
                    *self._java(path),
                    f"-Dphistream.home={self._home}",
                    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                    "kafka.Kafka",
                    str(folder / "server.properties"),
                ],
                log,
            )
        self._nodes = [
            replace(n, pid=pid) if n.id == node.id else n for n in self._nodes
        ]
        self._save()

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        while time.monotonic() < deadline:
            dead = [node.id for node in self._nodes if not self.is_running(node)]
            if dead:
                raise BrokerError(
                    f"node {dead[0]} ended while starting: read "
                    f"{self._home}/node-{dead[0]}/kafka.log"
                )
            if _answers(admin) == len(self._nodes):
                return
            time.sleep(0.2)
        self.down()
        raise BrokerError(
            f"the brokers did not answer within {seconds:.0f} s: read "
            f"{self._home}/node-1/kafka.log"
        )

    def _load(self) -> None:
        file = self._home / "cluster.json"
        if file.exists():
            self._nodes = [Node(**each) for each in orjson.loads(file.read_bytes())]

    def _save(self) -> None:
        file = self._home / "cluster.json"
        file.touch(FILE_MODE)
        file.write_bytes(orjson.dumps([asdict(node) for node in self._nodes]))


def _answers(admin: AdminClient) -> int:
    try:
        return len(admin.list_topics(timeout=1).brokers)
    except KafkaException:
        return 0
