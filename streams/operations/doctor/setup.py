"""Checks of Python, the configuration, and the Kafka client's properties."""

from __future__ import annotations

import os
import platform
import re
import struct
from collections.abc import Iterator
from importlib import metadata

import confluent_kafka

from streams.engine.errors import ConfigError
from streams.engine.settings import PREFIX
from streams.formats.json_map import load_json_map
from streams.kafka.consumer import check_consumers
from streams.kafka.producer import check_producer
from streams.operations.http_access import is_loopback

from .context import CheckContext
from .finding import Finding, fail, ok, warn

OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 14)
OLDEST_CLIENT = (2, 16)
_PLAIN = {"", "plaintext", "sasl_plaintext"}


def python(_house: CheckContext) -> Iterator[Finding]:
    """Check Python, the platform and the libraries."""
    yield from judge_platform(
        platform.python_version(), platform.system(), 8 * struct.calcsize("P")
    )
    missing = missing_libraries(metadata.requires("phistream") or [])
    if missing:
        yield fail(f"not installed: {', '.join(missing)}", "install phistream again")
    client = metadata.version("confluent-kafka")
    if tuple(int(part) for part in client.split(".")[:2]) < OLDEST_CLIENT:
        yield fail(f"confluent-kafka {client}", "install confluent-kafka 2.16 or newer")
    yield ok(
        f"phistream {metadata.version('phistream')}, confluent-kafka {client}, "
        f"librdkafka {confluent_kafka.libversion()[0]}, {os.cpu_count()} cores"
    )


def judge_platform(version: str, system: str, bits: int) -> list[Finding]:
    """Check an interpreter and its platform.

    Args:
        version: Of Python, e.g. ``3.11.2``.
        system: The operating system's name.
        bits: The size of a pointer.
    """
    seen = f"Python {version}, {bits} bits, on {system}"
    release = tuple(int(part) for part in version.split(".")[:2])
    if release < OLDEST_PYTHON:
        return [fail(seen, "run phistream with Python 3.11 to 3.14")]
    if release > NEWEST_PYTHON:
        return [warn(seen, "not tested yet; run phistream with Python 3.14 or older")]
    if bits < 64:
        return [fail(seen, "run phistream with a 64-bit Python")]
    if system != "Linux":
        return [warn(seen, "sufficient for a trial; run the services on Linux")]
    return [ok(seen)]


def missing_libraries(requirements: list[str]) -> list[str]:
    """Return the names of required distributions that are not installed."""
    names = [
        re.split(r"[^\w.-]", each, maxsplit=1)[0]
        for each in requirements
        if "extra ==" not in each
    ]
    return [name for name in names if not _is_installed(name)]


def configuration(context: CheckContext) -> Iterator[Finding]:
    """Load the settings as a service would."""
    names = sorted(
        name.removeprefix(PREFIX).lower()
        for name in context.environment
        if name.startswith(PREFIX) and name != f"{PREFIX}CONFIG"
    )
    file = context.config or context.environment.get(f"{PREFIX}CONFIG")
    sources = [f"file {file}" if file else "no file"]
    sources.append(f"environment: {', '.join(names) or 'nothing'}")
    try:
        settings = context.settings
        if settings.json_map:
            load_json_map(settings.json_map)
    except ConfigError as error:
        yield fail(str(error), f"correct it ({'; '.join(sources)})")
        return
    yield ok(f"{'; '.join(sources)}; group {settings.group}")
    if settings.watchdog_seconds < settings.transaction_seconds:
        yield warn(
            "watchdog_seconds is shorter than transaction_seconds",
            "set watchdog_seconds above transaction_seconds, or slow batches abort",
        )


def client_properties(context: CheckContext) -> Iterator[Finding]:
    """Check the client's properties: known to librdkafka, and encrypted."""
    settings = context.settings
    try:
        settings.client()
    except ConfigError as error:
        yield fail(str(error), "the checks that need no broker run nevertheless")
        return
    try:
        check_producer(settings)
        check_consumers(settings)
    except ConfigError as error:
        yield fail(str(error), "correct it")
        return
    protocol = settings.kafka.get("security.protocol", "plaintext").lower()
    yield from judge_protocol(protocol, settings.bootstrap)


def judge_protocol(protocol: str, bootstrap: str) -> list[Finding]:
    """Check that notes do not travel unencrypted."""
    if protocol not in _PLAIN:
        return [ok(f"security.protocol {protocol}")]
    far = [each for each in bootstrap.split(",") if not is_loopback(_host(each))]
    if not far:
        return [ok(f"{protocol}, on this host only")]
    return [
        warn(
            f"{protocol} to {', '.join(far)}: notes travel unencrypted",
            'set "security.protocol" = "SASL_SSL" or "SSL" in [kafka]',
        )
    ]


def _host(address: str) -> str:
    return address.strip().rpartition(":")[0].strip("[]")


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
