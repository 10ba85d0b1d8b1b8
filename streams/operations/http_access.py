"""Who may use the HTTP services: bearer tokens, and the hosts that requests may name.

The page and the metrics share the tokens of operators.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import os
import re
import stat
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from pydantic import SecretStr

from streams.engine.errors import ConfigError

from .settings import Settings

MIN_TOKEN = 32
ANYBODY = "none"
"""The client of requests where no token is set."""
_ENTRY = re.compile(r"(?P<name>[A-Za-z0-9_.-]{1,64}):(?P<token>[!-~]+)")
_BEARER = re.compile(rb"bearer +([!-~]{1,4096}) *", re.IGNORECASE)
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,255})(?::[0-9]{1,5})?")
_BASIC = re.compile(rb"basic +([A-Za-z0-9+/]{1,8192}={0,2}) *", re.IGNORECASE)
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
OPEN = frozenset(("/healthz", "/readyz"))
"""Paths for probes, which need no token."""
CHALLENGE = 'Bearer, Basic realm="phistream", charset="UTF-8"'
"""The header WWW-Authenticate: a browser asks its user, and sends Basic."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The bearer tokens, as digests by the name of their client."""

    digests: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @classmethod
    def of_operators(cls, settings: Settings) -> Tokens:
        """Return the tokens of the page and the metrics.

        Raises:
            ConfigError: As of `of`.
        """
        return cls.of(*_operators(settings))

    @classmethod
    def of(cls, given: SecretStr | None, file: Path | None, where: str) -> Tokens:
        """Return the tokens of two settings.

        Args:
            given: NAME:TOKEN,...
            file: Such tokens, one a line.
            where: The name of the first setting; that of the other ends in _file.

        Raises:
            ConfigError: The file is unreadable, or an entry is no NAME:TOKEN.
        """
        digests: dict[str, bytes] = {}
        for entry in _entries(given, file, where):
            found = _ENTRY.fullmatch(entry)
            if found is None:
                raise ConfigError(
                    f"{where}: an entry is no NAME:TOKEN of printable ASCII; "
                    "names have letters, digits, _ . and -"
                )
            name = found["name"]
            if len(found["token"]) < MIN_TOKEN:
                raise ConfigError(
                    f"{where}: the token of {name} has less than {MIN_TOKEN} "
                    "characters; make one with: openssl rand -hex 32"
                )
            if name in digests or name == ANYBODY:
                raise ConfigError(f"{where}: {name} is given twice or reserved")
            digests[name] = _digest(found["token"].encode())
        return cls(digests)

    def client(self, authorization: bytes) -> str:
        """Return the client whose token a header holds; empty for none.

        All tokens are compared, each in constant time.
        """
        if not self.digests:
            return ANYBODY
        given = _BEARER.fullmatch(authorization)
        digest = _digest(given[1] if given else b"")
        found = ""
        for name, each in self.digests.items():
            if hmac.compare_digest(each, digest) and given:
                found = name
        return found


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names under which a service is reached.

    A page of another site whose name is made to resolve to this host (DNS rebinding)
    is refused by them.
    """

    names: frozenset[str]

    @classmethod
    def of(cls, settings: Settings, address: str) -> Hosts:
        """Return the names of settings, those of the loopback, and the address."""
        given = {each.strip().lower() for each in settings.allowed_hosts.split(",")}
        own = f"[{address}]" if ":" in address else address.lower()
        return cls(frozenset((given | {own, *_LOOPBACK}) - {""}))

    def allow(self, host: str, reached: str = "") -> bool:
        """Return whether a Host header, or the host of an Origin, is one of them.

        Args:
            host: Of the request.
            reached: The address of this host that the client connected to.  No name
                of another site can stand for it: it is the address itself.
        """
        found = _HOST.fullmatch(host.lower())
        if found is None:
            return False
        name = found["name"]
        return name in self.names or _is_same_address(name.strip("[]"), reached)

    def allow_origin(self, origin: str, reached: str = "") -> bool:
        """Return whether an Origin header is of this service."""
        return self.allow(origin.partition("://")[2], reached)


@dataclass(frozen=True, slots=True)
class Access:
    """Who may see the page and the metrics.

    Args:
        hosts: Under which they are reached.
        tokens: Of operators; without any, everybody who can connect may see them.
    """

    hosts: Hosts
    tokens: Tokens = field(default_factory=Tokens)

    @classmethod
    def of(cls, settings: Settings, address: str) -> Access:
        """Return what the settings say for a service that listens on an address.

        Raises:
            ConfigError: The tokens are wrong.
        """
        return cls(Hosts.of(settings, address), Tokens.of_operators(settings))

    def refusal(
        self, path: str, host: str, authorization: str, reached: str
    ) -> tuple[HTTPStatus, str] | None:
        """Return the status and the reason with which a request is refused, or None.

        Args:
            path: Of the request.
            host: Its header Host.
            authorization: Its header Authorization.
            reached: As of `Hosts.allow`.
        """
        if not self.hosts.allow(host, reached):
            return HTTPStatus.MISDIRECTED_REQUEST, "Host: not served; see allowed_hosts"
        given = _as_bearer(authorization.encode("latin-1", "replace"))
        if path not in OPEN and not self.tokens.client(given):
            reason = "Authorization: send Bearer and a token that is set"
            return HTTPStatus.UNAUTHORIZED, reason
        return None


def is_loopback(address: str) -> bool:
    """Return whether only programs of this host can connect to an address."""
    try:
        return address == "localhost" or ip_address(address).is_loopback
    except ValueError:
        return False


def own_authorization(settings: Settings) -> dict[str, str]:
    """Return the headers with which one service asks another; without tokens none."""
    entries = _entries(*_operators(settings))
    token = entries[0].partition(":")[2] if entries else ""
    return {"Authorization": f"Bearer {token}"} if token else {}


def _operators(settings: Settings) -> tuple[SecretStr | None, Path | None, str]:
    return settings.operator_tokens, settings.operator_tokens_file, "operator_tokens"


def _entries(given: SecretStr | None, file: Path | None, where: str) -> Sequence[str]:
    texts = [given.get_secret_value().replace(",", "\n")] if given else []
    if file is not None:
        texts.append(_secret(file.expanduser(), f"{where}_file"))
    lines = (line.strip() for text in texts for line in text.splitlines())
    found = [line for line in lines if line and not line.startswith("#")]
    if texts and not found:
        raise ConfigError(f"{where}: empty; give at least one, as NAME:TOKEN")
    return found


def _secret(file: Path, where: str) -> str:
    """Return the text of a file that only its owner can read."""
    try:
        found = file.stat()
        text = file.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"{where}: can't be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{where}: not UTF-8") from None
    mode = stat.S_IMODE(found.st_mode)
    # Kubernetes mounts secrets so: root's, and readable by the group of the pod.
    is_mounted = found.st_uid == 0 != os.geteuid() and not mode & ~0o640
    if mode & 0o077 and not is_mounted:
        raise ConfigError(f"{where}: others can read it (mode {mode:04o}); chmod 600")
    return text


def _as_bearer(authorization: bytes) -> bytes:
    """Return the header as a program sends it: a browser's has the token in Basic."""
    basic = _BASIC.fullmatch(authorization)
    if basic is None:
        return authorization
    try:
        return b"Bearer " + b64decode(basic[1], validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


def _is_same_address(name: str, reached: str) -> bool:
    one, other = _address(name), _address(reached.partition("%")[0])
    return one is not None and one == other


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
