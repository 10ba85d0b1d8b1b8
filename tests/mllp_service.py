"""`phistream mllp` as a process, and senders with plain sockets."""

from __future__ import annotations

import os
import socket
import time
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import urlopen

import orjson

from streams.engine.settings import PREFIX
from streams.kafka.local_broker.ports import free_ports
from streams.products.mllp.frames import END, START
from tests.commands import Forked

PATIENCE_SECONDS = 240


def message(sender, identifier, text="ZZMARKER"):
    """Return a message whose MSH-10 tells sender and number."""
    return (
        f"MSH|^~\\&|APP{sender}|FAC|PHI|STREAM|20260304||ORU^R01|{identifier}|P|2.5\r"
        f"PID|1||{sender}^^^A\rOBR|1\rOBX|1|TX|||{text}\r"
    ).encode()


class Listener:
    """A process of `phistream mllp`, which may be killed and started again.

    Args:
        settings: Of the service.
        log: Its standard error; appended to.
        options: Of the table [mllp].
    """

    def __init__(self, settings, log, **options):
        self.port, self.metrics_port = free_ports(2)
        self.log = log
        self._options = {"port": self.port, **options}
        self._settings = settings
        self.process = None
        self._senders = []

    def start(self, *, ready=True):
        settings = self._settings
        values = {
            "bootstrap": settings.bootstrap,
            "group": settings.group,
            "broker_dir": settings.broker_dir,
            "broker_wait_seconds": settings.broker_wait_seconds,
            "log_level": settings.log_level,
            "metrics_port": self.metrics_port,
            "mllp": orjson.dumps(self._options, default=str).decode(),
        }
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(PREFIX)}
        given = {PREFIX + name.upper(): str(value) for name, value in values.items()}
        self.process = Forked(
            "mllp", stdout=self.log, stderr=self.log, env=inherited | given
        )
        if ready:
            self.wait_for_status("/readyz", 200)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Send SIGTERM; return the exit status."""
        self.process.terminate()
        return self.process.wait(PATIENCE_SECONDS)

    def sender(self, tls=None):
        """Connect a sender; it is closed when the listener is."""
        self._senders.append(Sender(self.port, tls))
        return self._senders[-1]

    def close(self):
        """Kill the process, and close the connections."""
        self.kill()
        for each in self._senders:
            each.close()

    def get(self, path):
        """Return status and text of a page; None while nothing answers."""
        try:
            url = f"http://127.0.0.1:{self.metrics_port}{path}"
            with urlopen(url, timeout=5) as answer:  # our own server
                return answer.status, answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return None, ""

    def wait_for_status(self, path, status):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.get(path)[0] != status:
            assert self.process.poll() is None, self.log.read_text()[-2000:]
            assert time.monotonic() < deadline, f"{path} is never {status}"
            time.sleep(0.05)


@contextmanager
def listener(settings, folder, **options):
    """Run a listener; yield it when it is ready."""
    service = Listener(settings, folder / "mllp.log", **options)
    service.start()
    try:
        yield service
    finally:
        service.close()


class Sender:
    """A connection that sends a message and waits for its answer.

    Args:
        port: Of the listener.
        tls: The context of a client; None for none.
    """

    def __init__(self, port, tls=None):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        if tls is not None:
            try:
                self._socket = tls.wrap_socket(
                    self._socket, server_hostname="127.0.0.1"
                )
            except OSError:
                self._socket.close()
                raise

    def send(self, value):
        """Return the answer's MSA segment, in its fields."""
        self.write(START + value + END)
        return self.answer()

    def write(self, data):
        self._socket.sendall(data)

    def answer(self):
        """Return the next answer.

        Raises:
            ConnectionError: The listener closed the connection.
        """
        while END not in self._buffer:
            chunk = self._socket.recv(65536)
            if not chunk:
                raise ConnectionError
            self._buffer += chunk
        frame, _, self._buffer = self._buffer.partition(END)
        return frame.decode("latin-1").split("\r")[1].split("|")

    def close(self):
        self._socket.close()
