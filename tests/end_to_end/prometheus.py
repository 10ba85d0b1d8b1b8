"""Prometheus itself, with our configuration, on the ports of a test's workers."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from contextlib import contextmanager
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml

from tests.deploy.promql import DEPLOY

FOLDER = DEPLOY / "prometheus"
PROGRAM = shutil.which("prometheus")
PATIENCE_SECONDS = 150

needs_prometheus = pytest.mark.skipif(
    PROGRAM is None, reason="prometheus is not installed (Debian: prometheus)"
)


class Prometheus:
    """The JSON that its pages and Grafana ask for."""

    def __init__(self, port):
        self._port = port

    def ask(self, path, **query):
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}?{urlencode(query)}"
        with urlopen(url, timeout=10) as answer:  # our own server
            return json.loads(answer.read())["data"]

    def targets(self):
        """Return job, health and complaint of each target."""
        return [
            (each["labels"]["job"], each["health"], each["lastError"])
            for each in self.ask("targets")["activeTargets"]
        ]

    def rules(self):
        """Return name and health of each alert once all were evaluated."""
        groups = self.ask("rules")["groups"]
        return {
            rule["name"]: (rule["health"], rule.get("lastError", ""))
            for group in groups
            for rule in group["rules"]
        }

    def wait(self, question):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                if question():
                    return
            except OSError:
                pass  # it is starting
            assert time.monotonic() < deadline
            time.sleep(0.5)


@contextmanager
def prometheus(folder, port, ports_of):
    """Run it with deploy/prometheus, the targets put to where the workers listen.

    Args:
        folder: For its data and log.
        port: Where it listens.
        ports_of: By the job's name, the ports of its targets.
    """
    config = yaml.safe_load((FOLDER / "prometheus.yml").read_text("utf-8"))
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    jobs = config["scrape_configs"]
    config["scrape_configs"] = [job for job in jobs if job["job_name"] in ports_of]
    for job in config["scrape_configs"]:
        targets = [f"127.0.0.1:{each}" for each in ports_of[job["job_name"]]]
        job["static_configs"] = [{"targets": targets}]
    shutil.copy(FOLDER / "alerts.yml", folder)
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), "utf-8")
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [
                PROGRAM,
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        yield Prometheus(port)
    finally:
        process.terminate()
        process.wait(30)
