"""Kafka Connect in standalone mode, from the jars of the broker's version."""

from __future__ import annotations

import subprocess
import time
import tomllib
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import orjson
import pytest

from streams.kafka.local_broker.ports import free_ports
from streams.kafka.local_broker.runtime import BrokerError, Jar, class_path, java_binary
from tests.brokers import CACHE
from tests.deploy.promql import DEPLOY

CONNECT = DEPLOY / "connect"
LOCK = Path(__file__).with_name("connect_jars.toml")
START_SECONDS = 150
JVM = (
    "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)  # fmt: skip


def jars_of(table):
    """Return the path of jars; skip where they can't be had."""
    found = tomllib.loads(LOCK.read_text("utf-8"))[table]
    keys = ("groupId", "artifactId", "version", "sha256")
    try:
        return class_path(
            CACHE, jars=[Jar(*(each[key] for key in keys)) for each in found]
        )
    except BrokerError as error:
        if "SHA-256" in str(error):
            raise
        pytest.skip(f"the jars of Kafka Connect can't be had: {error}")


def configuration(name):
    """Return the name and the configuration of a sink of deploy/connect."""
    content = orjson.loads((CONNECT / f"{name}.json").read_bytes())
    assert set(content) == {"name", "config"}
    return content["name"], content["config"]


def properties(text):
    """Return the properties of a file, as Java reads the simple ones."""
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.split("=", 1) for line in lines if line and line[0] != "#")
    return {name.strip(): value.strip() for name, value in pairs}


class Worker:
    """A running worker.

    Args:
        process: Its Java.
        port: Of its REST interface.
        log: Its file of standard error.
    """

    def __init__(self, process, port, log):
        self.process, self.port, self.log = process, port, log

    def ask(self, path, body=None, method=None):
        """Return the status and the content of an answer."""
        request = Request(
            f"http://127.0.0.1:{self.port}{path}",
            data=None if body is None else orjson.dumps(body),
            headers={"Content-Type": "application/json"},
            method=method,
        )
        try:
            with urlopen(request, timeout=30) as answer:  # noqa: S310  # http
                return answer.status, orjson.loads(answer.read() or b"null")
        except HTTPError as error:
            with error:
                content = error.read()
            # While it starts, its web server answers with a page of its own.
            is_json = content.startswith(b"{")
            return error.code, orjson.loads(content) if is_json else {}

    def start(self, name, config):
        status, answer = self.ask(f"/connectors/{name}/config", config, "PUT")
        assert status == 201, answer

    def state(self, name):
        """Return the states of a sink's tasks; empty until they are there."""
        status, answer = self.ask(f"/connectors/{name}/status")
        return [each["state"] for each in answer["tasks"]] if status == 200 else []

    def trace(self, name):
        """Return why a task has failed."""
        return self.ask(f"/connectors/{name}/status")[1]["tasks"][0]["trace"]


@contextmanager
def connect_worker(bootstrap, folder):
    """Run a worker with the settings of deploy/connect on a cluster without TLS."""
    path = jars_of("connect")
    [port] = free_ports(1)
    shipped = properties((CONNECT / "worker.properties").read_text("utf-8"))
    kept = {k: v for k, v in shipped.items() if "ssl" not in k and "security" not in k}
    (secrets := folder / "secrets").mkdir()
    given = kept | {
        "bootstrap.servers": bootstrap,
        "listeners": f"http://127.0.0.1:{port}",
        "offset.flush.interval.ms": "1000",
        "offset.storage.file.filename": folder / "connect.offsets",
        "config.providers.directory.param.allowed.paths": secrets,
    }
    file = folder / "worker.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
    command = [
        str(java_binary(None)),
        *JVM,
        *("-cp", path, "org.apache.kafka.connect.cli.ConnectStandalone", str(file)),
    ]
    with (folder / "connect.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, cwd=folder, start_new_session=True
        )
    worker = Worker(process, port, folder / "connect.log")
    try:
        _wait(worker)
        yield worker
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(worker):
    deadline = time.monotonic() + START_SECONDS
    while True:
        assert worker.process.poll() is None, worker.log.read_text()[-4000:]
        assert time.monotonic() < deadline, worker.log.read_text()[-4000:]
        try:
            if worker.ask("/connector-plugins")[0] == 200:
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
