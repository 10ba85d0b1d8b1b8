"""A gateway of its own process, as a person starts it, and a client without magic."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streams.kafka.local_broker.ports import free_ports
from tests.commands import Forked, phistream

STARTED = 120


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["error"]["code"]

    @property
    def reason(self):
        return self.json["error"].get("reason", "")


@dataclass
class Gateway:
    """A running gateway."""

    port: int
    log: Path
    process: Forked

    def ask(self, method, path, body=None, headers=None, timeout=100):
        """Send a request over a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, headers=headers)

    def post(self, path, body, media_type="application/json", **headers):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        return self.ask("POST", path, body, {"Content-Type": media_type, **headers})

    def metric(self, start):
        """Return the sum of the samples that begin so."""
        text = self.get("/metrics").body.decode()
        lines = [line for line in text.splitlines() if line.startswith(start)]
        return sum(float(line.rpartition(" ")[2]) for line in lines)


def environment_of(**settings):
    """Return the environment of a gateway."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PHISTREAM_")
    }
    path = os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), os.getcwd())))
    given = {f"PHISTREAM_{name.upper()}": str(each) for name, each in settings.items()}
    return environment | {"PYTHONPATH": path} | given


@contextmanager
def serving(folder, *options, ready=True, **settings):
    """Run a gateway until the end of the block.

    Args:
        folder: Of its log.
        options: Of the command.
        ready: Wait until it is.
        settings: Set by the environment.
    """
    [port] = free_ports(1)
    log = folder / "gateway.log"
    process = Forked(
        *("serve", "--port", port, *options),
        stdout=log,
        stderr=log,
        cwd=folder,
        env=environment_of(**settings),
    )
    gateway = Gateway(port, log, process)
    try:
        if ready:
            wait_until_ready(gateway)
        yield gateway
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until_ready(gateway):
    until = time.monotonic() + STARTED
    while time.monotonic() < until:
        assert gateway.process.poll() is None, gateway.log.read_text()
        try:
            if gateway.get("/readyz").status == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError(gateway.log.read_text())


def refused_start(folder, *options, **settings):
    """Return the exit status and output of a gateway that does not start."""
    [port] = free_ports(1)
    command = ("serve", "--port", port, *options)
    done = phistream(*command, cwd=folder, env=environment_of(**settings), text=True)
    return done.returncode, done.stdout + done.stderr
