"""One to three brokers whose processes and network can be broken."""

from __future__ import annotations

import os
import signal
import subprocess
from functools import cached_property

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from streams.kafka.local_broker import Cluster
from streams.kafka.local_broker.ports import free_ports
from streams.kafka.local_broker.runtime import class_path
from tests.brokers import CACHE, wait_until
from tests.faults.proxy import Proxy


class FaultyCluster(Cluster):
    """A cluster with a second listener, which clients reach through a proxy."""

    def __init__(self, folder, **options):
        super().__init__(folder, cache=CACHE, **options)
        self.folder = folder
        self.jars = ()
        """Of another Kafka than the product's; those of the next start."""
        self._listeners = {}
        self._proxies = {}

    @property
    def proxied_bootstrap(self):
        """The value of ``bootstrap.servers`` of clients whose network may break."""
        return ",".join(f"127.0.0.1:{each.port}" for each in self.proxies.values())

    @property
    def proxies(self):
        """The proxies by node; they are started when they are first needed."""
        for node in self.nodes:
            if node.id not in self._proxies:
                listening, advertised = self._listeners[node.id]
                self._proxies[node.id] = Proxy(advertised, listening)
        return self._proxies

    @cached_property
    def admin(self):
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def freeze(self, node_id):
        os.kill(self._node(node_id).pid, signal.SIGSTOP)

    def thaw(self, node_id):
        os.kill(self._node(node_id).pid, signal.SIGCONT)

    def stop(self, node_id):
        """Shut a node down in order: it hands its partitions over first."""
        node = self._node(node_id)
        self._processes.end(node.pid, signal.SIGTERM, seconds=60)
        if self.is_running(node):
            self.kill(node_id)

    def runs(self, node_id):
        """Return whether the process of a node runs, also after a new start."""
        return self.is_running(self._node(node_id))

    def start(self, node_id):
        """Start a node, without waiting for it."""
        self._start(self._node(node_id), self._class_path())

    def wait(self, seconds=120):
        """Wait until all nodes answer, and every partition has all its replicas."""
        wait_until(self.is_whole, seconds)

    def wait_without(self, node_id, seconds=60):
        """Wait until a killed node's partitions are others' (decision 29).

        A single broker's need not be: nobody else has its records.
        """
        if len(self.nodes) > 1:
            wait_until(lambda: self._is_without(node_id), seconds)

    def _is_without(self, node_id):
        answering = self.answering()
        return bool(answering) and node_id not in answering

    def is_whole(self):
        try:
            metadata = self.admin.list_topics(timeout=2)
        except KafkaException:
            return False
        if len(metadata.brokers) < len(self.nodes):
            return False
        return all(
            partition.leader >= 0 and len(partition.isrs) == len(partition.replicas)
            for topic in metadata.topics.values()
            for partition in topic.partitions.values()
        )

    def answering(self):
        """Return the nodes that belong to the cluster now."""
        try:
            return set(self.admin.list_topics(timeout=2).brokers)
        except KafkaException:
            return set()

    def led_by(self, node_id):
        """Return the partitions that a node leads."""
        topics = self.admin.list_topics(timeout=10).topics
        return {
            (name, number)
            for name, topic in topics.items()
            for number, partition in topic.partitions.items()
            if partition.leader == node_id
        }

    def mend(self):
        """Have all nodes run, whatever was done to them."""
        for proxy in self._proxies.values():
            proxy.mend()
        for node in self.nodes:
            if not self.is_running(node):
                self.start(node.id)
            else:
                self.thaw(node.id)
        self.wait()

    def leader_for(self, topic, name):
        """Return the node that coordinates a group or a transactional id."""
        metadata = self.admin.list_topics(topic, timeout=10).topics[topic]
        return metadata.partitions[_java_hash(name) % len(metadata.partitions)].leader

    def down(self, **options):
        for node in self.nodes:
            if self.is_running(node):
                self.thaw(node.id)
        super().down(**options)
        for proxy in self._proxies.values():
            proxy.close()
        self._proxies.clear()

    def run_tool(self, jars, *arguments):
        """Run one of Kafka's command-line tools, from further jars."""
        path = f"{self._class_path()}:{class_path(CACHE, jars=jars)}"
        command = [*self._java(path), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True)

    def _class_path(self, progress=lambda _done, _all: None):
        return class_path(CACHE, jars=self.jars, progress=progress)

    def _properties(self, node, security):
        self._listeners[node.id] = listening, advertised = free_ports(2)
        more = {
            "listeners": f"PLAINTEXT://127.0.0.1:{node.port},"
            f"PROXIED://127.0.0.1:{listening},"
            f"CONTROLLER://127.0.0.1:{node.controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{node.port},"
            f"PROXIED://127.0.0.1:{advertised}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,"
            "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
        }
        lines = "".join(f"{key}={value}\n" for key, value in more.items())
        return super()._properties(node, security) + lines


def _java_hash(text):
    """Return `Utils.abs(text.hashCode())` of Java."""
    value = 0
    for each in text:
        value = (31 * value + ord(each)) & 0xFFFFFFFF
    if value >= 1 << 31:
        value -= 1 << 32
    return 0 if value == -(1 << 31) else abs(value)
