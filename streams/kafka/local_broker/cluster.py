"""Starts and stops one to three Kafka nodes on loopback; they keep their data."""

from __future__ import annotations

import base64
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import orjson
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from streams.engine.private_files import (
    FILE_MODE,
    MASK,
    private_folder,
    replace_private,
)

from .node import Node, Security, secured_properties, server_properties
from .ports import free_ports, is_free
from .processes import Processes
from .runtime import BrokerError, class_path, java_binary

JVM = ("-Xmx512m", "-XX:+UseSerialGC")
QUICK_START = ("-XX:TieredStopAtLevel=1",)
"""Compiles once and fast: right for minutes, not for hours under load."""
CLUSTER_FILE = "cluster.json"
"""Id, nodes and their ports; `kafka/settings.py` reads it as well."""
STOP_SECONDS = 20.0


class Cluster:
    """Kafka nodes whose state is in one folder, so that any process can stop them.

    What a node has stored survives its end, however it ended: only `delete` removes it.

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
        self._id = ""
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
        brokers: int | None = None,
        security: Security | None = None,
        seconds: float = 90,
        progress: Callable[[int, int], None] = lambda _done, _all: None,
        report: Callable[[str], None] = lambda _state: None,
    ) -> None:
        """Start the nodes that are down, and wait until every broker answers.

        A folder without a cluster gets one.

        Args:
            brokers: 1, or 3 with replication 3; None for those that are there, or 1.
            security: With it a new cluster authorizes: see `secured_properties`.
            seconds: Time limit.
            progress: Called with the number of jars present, and of all.
            report: Called with what is done next.

        Raises:
            BrokerError: The cluster has another number of brokers, a port is taken, or
                a node does not answer within ``seconds``.
        """
        if brokers not in (None, 1, 3):
            raise BrokerError("brokers: 1 or 3 (replication 3 needs three)")
        if self._nodes and brokers not in (None, len(self._nodes)):
            raise BrokerError(
                f"the cluster in {self._home} has {len(self._nodes)} nodes, and its "
                "data: phistream broker delete removes both"
            )
        path = self._class_path(progress)
        if not self._nodes:
            self._found(brokers or 1)
        # A formatting that was cut short is completed.
        for node in self._nodes:
            if not (self._folder(node) / "data" / "meta.properties").exists():
                report(f"formatting node {node.id}")
                self._format(node, path, security)
        down = [node for node in self._nodes if not self.is_running(node)]
        # Without a majority of controllers no session ends: then all start at once.
        if 0 < 2 * len(down) < len(self._nodes):
            report("waiting until the cluster is without the nodes that are down")
            self._wait_without({node.id for node in down}, seconds)
        for node in down:
            report(f"starting node {node.id}")
            self._start(node, path)
        report("waiting for the brokers to answer")
        self._wait(seconds, down)

    def restart(self, node_id: int, *, seconds: float = 240) -> None:
        """Start a node that was stopped or killed, on its old data and port."""
        node = self._node(node_id)
        self._start(node, self._class_path())
        self._wait(seconds, [node])

    def kill(self, node_id: int) -> None:
        """Kill a node (SIGKILL)."""
        node = self._node(node_id)
        if self.is_running(node):
            self._processes.end(node.pid, signal.SIGKILL, seconds=10)

    def down(self, *, seconds: float = STOP_SECONDS) -> None:
        """Stop all nodes: SIGTERM, then SIGKILL for those that do not end in time.

        Their data stays.
        """
        self._stop(self._nodes, seconds)

    def _stop(self, nodes: Iterable[Node], seconds: float) -> None:
        running = [node for node in nodes if self.is_running(node)]
        for node in running:
            self._processes.end(node.pid, signal.SIGTERM, seconds=0)
        deadline = time.monotonic() + seconds
        for node in running:
            self._processes.wait(node.pid, max(0.1, deadline - time.monotonic()))
            if self.is_running(node):
                self._processes.end(node.pid, signal.SIGKILL, seconds=10)

    def delete(self) -> None:
        """Delete data and logs of a stopped cluster.

        Raises:
            BrokerError: A node runs.
        """
        if any(self.is_running(node) for node in self._nodes):
            raise BrokerError(
                f"the cluster runs at {self.bootstrap}: phistream broker down"
            )
        for node in self._nodes:
            shutil.rmtree(self._folder(node), ignore_errors=True)
        (self._home / CLUSTER_FILE).unlink(missing_ok=True)
        with suppress(OSError):  # files of others are in it
            self._home.rmdir()
        self._nodes = []

    def _found(self, brokers: int) -> None:
        if any(self._home.glob("node-*/data/meta.properties")):
            raise BrokerError(
                f"{self._home} has data of nodes, but no {CLUSTER_FILE}, which says "
                "whose: bring the file back, or move the folder away"
            )
        ports = free_ports(4 * brokers)
        self._id = base64.urlsafe_b64encode(uuid.uuid4().bytes)[:22].decode()
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
        private_folder(self._home)
        self._save()

    def _node(self, node_id: int) -> Node:
        for node in self._nodes:
            if node.id == node_id:
                return node
        raise BrokerError(f"no node {node_id}; known: {[n.id for n in self._nodes]}")

    def _folder(self, node: Node) -> Path:
        return self._home / f"node-{node.id}"

    def _format(self, node: Node, path: str, security: Security | None) -> None:
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
                f"--cluster-id={self._id}",  # it may begin with a hyphen
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
        if not is_free(node.port):
            raise BrokerError(
                f"port {node.port} of node {node.id} is taken by another program: end "
                "that, then run phistream broker up again"
            )
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

    def _wait(self, seconds: float, started: Sequence[Node]) -> None:
        deadline = time.monotonic() + seconds
        admin = self._admin()
        while time.monotonic() < deadline:
            dead = [node.id for node in self._nodes if not self.is_running(node)]
            if dead:
                raise BrokerError(
                    f"node {dead[0]} ended while starting: read "
                    f"{self._home}/node-{dead[0]}/kafka.log"
                )
            if len(_answering(admin)) == len(self._nodes):
                return
            time.sleep(0.2)
        self._stop([self._node(node.id) for node in started], STOP_SECONDS)
        raise BrokerError(
            f"the brokers did not answer within {seconds:.0f} s: read "
            f"{self._home}/node-1/kafka.log"
        )

    def _wait_without(self, node_ids: Collection[int], seconds: float) -> None:
        """Wait until the session of nodes that died has ended (decision 29)."""
        deadline = time.monotonic() + seconds
        admin = self._admin()
        while time.monotonic() < deadline:
            answering = _answering(admin)
            if answering and answering.isdisjoint(node_ids):
                return
            time.sleep(0.2)

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def _load(self) -> None:
        file = self._home / CLUSTER_FILE
        if file.exists():
            state = orjson.loads(file.read_bytes())
            self._id = state["id"]
            self._nodes = [Node(**node) for node in state["nodes"]]

    def _save(self) -> None:
        nodes = [asdict(node) for node in self._nodes]
        replace_private(
            self._home / CLUSTER_FILE, orjson.dumps({"id": self._id, "nodes": nodes})
        )


def _answering(admin: AdminClient) -> set[int]:
    try:
        return set(admin.list_topics(timeout=1).brokers)
    except KafkaException:
        return set()
