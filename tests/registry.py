"""A stand-in for a schema registry, for what a real one does not do on demand.

It gives every request the same answer: an error, nonsense, or an id, at once or late.
What a registry does with schemas is tested with Apicurio (tests/apicurio.py).
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import unquote, urlsplit

from streams.kafka.settings import RegistrySettings
from streams.operations.settings import Settings

TYPE = "application/vnd.schemaregistry.v1+json"


class StandIn(ThreadingHTTPServer):
    """A server with one answer; what was asked is kept.

    Attributes:
        status: Of the answer.
        answer: Its body.
        seconds: Time until it comes.
        asked: (method, path, body) of each request.
    """

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.answer, self.seconds = 200, {"id": 7}, 0.0
        self.asked = []

    @property
    def url(self):
        return f"http://localhost:{self.server_port}"

    def fails(self, status, code):
        """Have every request refused with a status and a registry's error code."""
        self.status = status
        self.answer = {"error_code": code, "message": "Error in the data store"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self._answer("GET")

    def do_POST(self):
        self._answer("POST")

    def log_message(self, *_args):
        pass

    def _answer(self, method):
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length) or b"null")
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append((method, path, body))
        time.sleep(self.server.seconds)
        found = self.server.answer
        data = found if isinstance(found, bytes) else json.dumps(found).encode()
        try:
            self.send_response(self.server.status)
            self.send_header("Content-Type", TYPE)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except ConnectionError:
            pass  # it was too late


@contextmanager
def stand_in():
    """Run a stand-in."""
    server = StandIn()
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def settings_of(url, *, password=None, token=None, **values):
    """Return settings with the table [schema_registry]."""
    return Settings(
        schema_registry=RegistrySettings.model_validate({"url": url, **values}),
        schema_registry_password=password,
        schema_registry_token=token,
    )
