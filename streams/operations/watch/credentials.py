"""The client's security settings, by librdkafka's names, as Faust wants them."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from faust import SASLCredentials, SSLCredentials
from faust.auth import Credentials

from streams.engine.errors import ConfigError
from streams.engine.settings import Settings

KNOWN = (
    "security.protocol", "sasl.mechanism", "sasl.mechanisms", "sasl.username",
    "sasl.password", "ssl.ca.location", "ssl.certificate.location",
    "ssl.key.location", "ssl.key.password",
)  # fmt: skip
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def credentials(settings: Settings) -> Credentials | None:
    """Return what Faust needs to reach the cluster; None for a plain connection.

    Raises:
        ConfigError: A security property has no counterpart here.
    """
    given = {key: str(value) for key, value in settings.client().items()}
    _refuse_unknown(given)
    protocol = given.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise ConfigError(f"security.protocol: not one of {', '.join(PROTOCOLS)}")
    context = _context(given) if protocol.endswith("SSL") else None
    if protocol.startswith("SASL"):
        return SASLCredentials(
            username=given.get("sasl.username"),
            password=given.get("sasl.password"),
            mechanism=_mechanism(given),
            ssl_context=context,
        )
    return None if context is None else SSLCredentials(context)


def _refuse_unknown(given: Mapping[str, str]) -> None:
    unknown = sorted(
        key
        for key in given
        if key.startswith(("ssl.", "sasl.", "security.")) and key not in KNOWN
    )
    if unknown:
        raise ConfigError(
            f"watch can't keep {', '.join(unknown)}; known: {', '.join(KNOWN)}"
        )


def _mechanism(given: Mapping[str, str]) -> str:
    name = given.get("sasl.mechanisms", given.get("sasl.mechanism", "")).upper()
    if name not in MECHANISMS:
        raise ConfigError(f"sasl.mechanisms: watch knows {', '.join(MECHANISMS)}")
    return name


def _context(given: Mapping[str, str]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=given.get("ssl.ca.location"))
        if "ssl.certificate.location" in given:
            context.load_cert_chain(
                given["ssl.certificate.location"],
                given.get("ssl.key.location"),
                given.get("ssl.key.password"),
            )
    except OSError as error:
        raise ConfigError(f"ssl: a file can't be used ({error.strerror})") from None
    return context
