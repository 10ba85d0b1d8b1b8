"""The properties of librdkafka that the table [kafka] of the settings may hold.

A property that is not listed is refused: some load code or run commands, some would
switch off TLS's checks, and on others exactly once depends.
"""

from __future__ import annotations

import difflib
import ssl
from collections.abc import Collection, Mapping

TLS = (
    "https.ca.location", "https.ca.pem", "security.protocol", "ssl.ca.location",
    "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem",
    "ssl.cipher.suites", "ssl.crl.location", "ssl.curves.list",
    "ssl.key.location", "ssl.key.password", "ssl.key.pem", "ssl.keystore.location",
    "ssl.keystore.password", "ssl.sigalgs.list",
)  # fmt: skip
SASL = (
    "sasl.mechanism", "sasl.mechanisms", "sasl.oauthbearer.assertion.algorithm",
    "sasl.oauthbearer.assertion.claim.aud",
    "sasl.oauthbearer.assertion.claim.exp.seconds",
    "sasl.oauthbearer.assertion.claim.iss",
    "sasl.oauthbearer.assertion.claim.jti.include",
    "sasl.oauthbearer.assertion.claim.nbf.seconds",
    "sasl.oauthbearer.assertion.claim.sub", "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.jwt.template.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.private.key.pem",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.extensions", "sasl.oauthbearer.grant.type",
    "sasl.oauthbearer.metadata.authentication.type", "sasl.oauthbearer.method",
    "sasl.oauthbearer.scope", "sasl.oauthbearer.sub.claim.name",
    "sasl.oauthbearer.token.endpoint.url", "sasl.password", "sasl.username",
)  # fmt: skip
CONNECTIONS = (
    "api.version.request.timeout.ms", "broker.address.family", "broker.address.ttl",
    "client.dns.lookup", "client.id", "client.rack", "connections.max.idle.ms",
    "enable.metrics.push", "group.protocol", "heartbeat.interval.ms",
    "metadata.max.age.ms",
    "reconnect.backoff.max.ms", "reconnect.backoff.ms", "retry.backoff.max.ms",
    "socket.connection.setup.timeout.ms", "socket.keepalive.enable",
    "socket.max.fails", "socket.nagle.disable", "socket.timeout.ms",
    "topic.metadata.propagation.max.ms", "topic.metadata.refresh.fast.interval.ms",
    "topic.metadata.refresh.interval.ms",
)  # fmt: skip
BUFFERS = (
    "batch.num.messages", "batch.size", "compression.level", "fetch.error.backoff.ms",
    "fetch.max.bytes", "fetch.message.max.bytes", "fetch.queue.backoff.ms",
    "linger.ms", "max.partition.fetch.bytes", "queue.buffering.max.kbytes",
    "queue.buffering.max.messages", "queued.max.messages.kbytes",
    "queued.min.messages", "receive.message.max.bytes", "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
)  # fmt: skip
ALLOWED = frozenset((*TLS, *SASL, *CONNECTIONS, *BUFFERS))

_LOADS_CODE = "it runs code that a path names; take it out"
_KERBEROS = (
    "Kerberos is not supported, and the client makes a shell command of it; use "
    "SCRAM, OAUTHBEARER or a certificate"
)
_TRUSTS_ANY = (
    "any server could pass for the broker; name the CA of its certificate in "
    "ssl.ca.location, and its host in bootstrap as the certificate does"
)
_SET_HERE = "exactly once and the join depend on it; take it out"
REFUSED: Mapping[str, str] = {
    "plugin.library.paths": _LOADS_CODE,
    "ssl.engine.id": _LOADS_CODE,
    "ssl.engine.location": _LOADS_CODE,
    "ssl.providers": _LOADS_CODE,
    "sasl.kerberos.kinit.cmd": _LOADS_CODE,
    "sasl.kerberos.keytab": _KERBEROS,
    "sasl.kerberos.min.time.before.relogin": _KERBEROS,
    "sasl.kerberos.principal": _KERBEROS,
    "sasl.kerberos.service.name": _KERBEROS,
    "enable.ssl.certificate.verification": _TRUSTS_ANY,
    "ssl.endpoint.identification.algorithm": _TRUSTS_ANY,
    "enable.sasl.oauthbearer.unsecure.jwt": _TRUSTS_ANY,
    "sasl.oauthbearer.config": _TRUSTS_ANY,
    "bootstrap.servers": "use the setting bootstrap",
    "metadata.broker.list": "use the setting bootstrap",
    "debug": 'use the setting log_level = "debug"',
    "log_level": "use the setting log_level",
    "group.id": "use the setting group",
    "group.instance.id": "use the settings group and first_slot",
    "transactional.id": "use the settings group and first_slot",
    "max.poll.interval.ms": "use the setting poll_seconds",
    "session.timeout.ms": "use the setting session_seconds",
    "transaction.timeout.ms": "use the setting transaction_seconds",
    "message.max.bytes": "use the setting max_message_bytes",
    **dict.fromkeys(
        (
            "acks", "allow.auto.create.topics", "auto.commit.interval.ms",
            "auto.offset.reset", "compression.codec", "compression.type",
            "enable.auto.commit", "enable.auto.offset.store",
            "enable.gapless.guarantee", "enable.idempotence", "enable.partition.eof",
            "fetch.wait.max.ms", "group.remote.assignor", "isolation.level",
            "max.in.flight", "max.in.flight.requests.per.connection",
            "message.send.max.retries", "partition.assignment.strategy",
            "partitioner", "request.required.acks", "retries", "retry.backoff.ms",
        ),
        _SET_HERE,
    ),
}  # fmt: skip
"""Properties that a person may well try, with what to do instead."""


def require_allowed(names: Collection[str]) -> None:
    """Check that all names are those of properties that may be set.

    Raises:
        ValueError: One is not; the message names it, and what to do.
    """
    for name in sorted(names):
        if name in ALLOWED:
            continue
        if name in REFUSED:
            raise ValueError(f"{name} may not be set: {REFUSED[name]}")
        near = difflib.get_close_matches(name, ALLOWED, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(
            f"{name!r} may not be set{hint}; allowed: {', '.join(sorted(ALLOWED))}"
        )


def require_safe(properties: Mapping[str, object]) -> None:
    """Check that no cipher suite is without encryption or authentication.

    OpenSSL itself reads the text: names of groups such as ALL hold such suites, too.

    Raises:
        ValueError: One is, or the text names none; the message shows no value.
    """
    suites = properties.get("ssl.cipher.suites")
    if not suites:
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.set_ciphers(str(suites))
    except ssl.SSLError:
        raise ValueError(
            "ssl.cipher.suites: OpenSSL knows none of them; see openssl ciphers -v"
        ) from None
    if context.security_level < 1 or any(map(_is_unsafe, context.get_ciphers())):
        raise ValueError(
            "ssl.cipher.suites: some neither encrypt nor prove who answers (eNULL, "
            "aNULL, ALL, SECLEVEL=0); take it out, or name groups such as HIGH:!aNULL"
        )


def _is_unsafe(suite: Mapping[str, object]) -> bool:
    """Return whether a suite encrypts nothing, or authenticates nobody."""
    return not suite["strength_bits"] or suite["auth"] == "auth-null"


def milliseconds(value: str | None) -> float:
    """Return a property's number, 0 if there is none: then the client refuses it."""
    try:
        return float(value or 0)
    except ValueError:
        return 0
