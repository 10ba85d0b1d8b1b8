"""Apicurio Registry: a real schema registry with Confluent's interface, in memory.

Its distribution is on Maven Central: 158 MB, fetched once by jgo into the cache of
Kafka's jars, by version and SHA-256.  A test that needs it is skipped where it can't be
fetched.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import socket
import subprocess
import tarfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from jgo.maven import MavenContext

from streams.kafka.local_broker.cluster import JVM
from streams.kafka.local_broker.ports import free_ports
from streams.kafka.local_broker.runtime import _locked, java_binary
from tests.brokers import CACHE, wait_until

GROUP, ARTIFACT, VERSION = "io.apicurio", "apicurio-registry-app", "3.3.3"
SHA256 = "8bc6751c76d963734224b01d5e7f84ccb3cb61c87d3bd77c36c35f10a5cbed63"
INTERFACE = "apis/ccompat/v7"
START_SECONDS = 120


@dataclass(frozen=True)
class Apicurio:
    """A registry that runs.

    Args:
        url: Of the interface that is Confluent's.
        process: Its process.
    """

    url: str
    process: subprocess.Popen

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def apicurio(folder, *, certificate=None, properties=()):
    """Run a registry that has no schemas.

    Args:
        folder: For its log.
        certificate: Of trustme, for localhost; then it has TLS alone.
        properties: Of Quarkus and Apicurio.
    """
    port, management = free_ports(2)
    given = {
        "quarkus.http.host": "localhost",
        "quarkus.http.port": port,
        "quarkus.management.host": "localhost",
        "quarkus.management.port": management,
        "apicurio.storage.sql.kind": "h2",
        "apicurio.datasource.url": f"jdbc:h2:mem:{secrets.token_hex(4)}",
        **dict(properties),
    }
    if certificate is not None:
        given |= _with_tls(folder, certificate, port)
    scheme = "http" if certificate is None else "https"
    command = [
        java_binary(None),
        *JVM,
        *(f"-D{name}={value}" for name, value in given.items()),
        "-jar",
        _distribution() / "quarkus-run.jar",
    ]
    log = folder / "apicurio.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=subprocess.STDOUT
        )
    running = Apicurio(f"{scheme}://localhost:{port}/{INTERFACE}", process)
    try:
        wait_until(lambda: _has_started(running, port, log), START_SECONDS)
        yield running
    finally:
        running.stop()


def _with_tls(folder, certificate, port):
    """Return the properties of a registry without a port in the clear."""
    chain, key = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(b"".join(each.bytes() for each in certificate.cert_chain_pems))
    certificate.private_key_pem.write_to_path(key)
    return {
        "quarkus.http.ssl-port": port,
        "quarkus.http.insecure-requests": "disabled",
        "quarkus.http.ssl.certificate.files": chain,
        "quarkus.http.ssl.certificate.key-files": key,
    }


def _has_started(running, port, log):
    assert running.process.poll() is None, f"it has ended: {log.read_text()[-2000:]}"
    try:
        with socket.create_connection(("localhost", port), timeout=1):
            return True
    except OSError:
        time.sleep(0.1)
        return False


def _distribution():
    """Return the folder of the unpacked distribution; fetch it if it is not there."""
    with _locked(CACHE):
        unpacked = CACHE.parent / f"{ARTIFACT}-{VERSION}"
        if not unpacked.exists():
            archive = _archive()
            if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
                archive.unlink()
                pytest.fail(f"{archive.name}: its SHA-256 differs: it was removed")
            partial = unpacked.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            with tarfile.open(archive) as packed:
                # Python 3.11.2 has no filters, and needs none: the hash is ours.
                packed.extraction_filter = getattr(tarfile, "data_filter", None)
                packed.extractall(partial)  # noqa: S202  # likewise
            partial.rename(unpacked)
            archive.unlink()
        return unpacked


def _archive():
    try:
        component = MavenContext(repo_cache=CACHE, timeout=60).project(GROUP, ARTIFACT)
        artifact = component.at_version(VERSION).artifact("all", "tar.gz")
        return Path(artifact.resolve())
    except Exception as error:  # jgo raises what its HTTP client raises
        pytest.skip(
            f"no schema registry: {GROUP}:{ARTIFACT}:{VERSION} can't be fetched from "
            f"Maven Central ({type(error).__name__})"
        )
