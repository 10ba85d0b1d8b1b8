"""Who may use the gateway: bearer tokens, and the hosts that requests may name."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from ..engine.errors import ConfigError
from ..engine.settings import Settings

MIN_TOKEN = 32
ANYBODY = "none"
"""The client of requests where no token is set."""
_ENTRY = re.compile(r"(?P<name>[A-Za-z0-9_.-]{1,64}):(?P<token>[!-~]+)")
_BEARER = re.compile(rb"bearer +([!-~]{1,4096}) *", re.IGNORECASE)
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,255})(?::[0-9]{1,5})?")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The bearer tokens, as digests by the name of their client."""

    digests: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, settings: Settings) -> Tokens:
        """Return the tokens of settings and their file.

        Raises:
            ConfigError: The file is unreadable, or an entry is no NAME:TOKEN.
        """
        digests: dict[str, bytes] = {}
        for entry in _entries(settings):
            found = _ENTRY.fullmatch(entry)
            if found is None:
                raise ConfigError(
                    "gateway_tokens: an entry is no NAME:TOKEN of printable ASCII; "
                    "names have letters, digits, _ . and -"
                )
            name = found["name"]
            if len(found["token"]) < MIN_TOKEN:
                raise ConfigError(
                    f"gateway_tokens: the token of {name} has less than {MIN_TOKEN} "
                    "characters; make one with: openssl rand -hex 32"
                )
            if name in digests or name == ANYBODY:
                raise ConfigError(f"gateway_tokens: {name} is given twice or reserved")
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
    """The names under which the gateway is reached.

    A page of another site whose name is made to resolve to this host (DNS rebinding)
    is refused by them.
    """

    names: frozenset[str]

    @classmethod
    def of(cls, settings: Settings, address: str) -> Hosts:
        """Return the names of settings, and those of the address.

        Raises:
            ConfigError: The address stands for all of the host's, and no name is set.
        """
        given = {each.strip().lower() for each in settings.gateway_hosts.split(",")}
        given.discard("")
        is_any = address in ("", "0.0.0.0", "::")  # noqa: S104 (compared, not bound)
        if is_any and not given:
            raise ConfigError(
                "gateway_hosts: not set; name the hosts that requests may ask for, "
                "as they are in URLs, since --host stands for any address"
            )
        own = f"[{address}]" if ":" in address else address.lower()
        return cls(frozenset(given | {own, *_LOOPBACK}))

    def allow(self, host: str) -> bool:
        """Return whether a Host header, or the host of an Origin, is one of them."""
        found = _HOST.fullmatch(host.lower())
        return found is not None and found["name"] in self.names

    def allow_origin(self, origin: str) -> bool:
        """Return whether an Origin header is of this service."""
        return self.allow(origin.partition("://")[2])


def require_tokens(tokens: Tokens, address: str) -> None:
    """Refuse to listen without tokens where others may connect.

    Raises:
        ConfigError: There is no token, and the address is none of the loopback.
    """
    if not tokens.digests and not is_loopback(address):
        raise ConfigError(
            "gateway_tokens: not set; without tokens only loopback addresses are "
            "served: set gateway_tokens_file, or leave out --host"
        )


def is_loopback(address: str) -> bool:
    """Return whether only programs of this host can connect to an address."""
    try:
        return address == "localhost" or ip_address(address).is_loopback
    except ValueError:
        return False


def _entries(settings: Settings) -> Iterable[str]:
    given = settings.gateway_tokens
    texts = [given.get_secret_value().replace(",", "\n")] if given else []
    if settings.gateway_tokens_file is not None:
        try:
            texts.append(settings.gateway_tokens_file.expanduser().read_text("utf-8"))
        except OSError as error:
            raise ConfigError(
                f"gateway_tokens_file: can't be read ({error.strerror})"
            ) from None
        except UnicodeDecodeError:
            raise ConfigError("gateway_tokens_file: not UTF-8") from None
    lines = (line.strip() for text in texts for line in text.splitlines())
    found = [line for line in lines if line and not line.startswith("#")]
    if texts and not found:
        raise ConfigError("gateway_tokens: empty; give at least one, as NAME:TOKEN")
    return found


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
