"""Surrogates of e-mail, URL, IP address and user name, from reserved ranges.

Hosts: RFC 2606; addresses: RFC 5737 and RFC 3849; MAC addresses: RFC 9542.
"""

from __future__ import annotations

import ipaddress
import re
from functools import cache

from deid_core.fiction.name_pools import Role, name_pools
from deid_core.labels import Label

from .crosswalk import TRIES, Crosswalk
from .letter_case import in_case_of
from .numbers import other_number
from .person_names import name_word
from .real import without_separators

_HOSTS = ("example.com", "example.net", "example.org")
_NETWORKS = ("192.0.2", "198.51.100", "203.0.113")
_RUNS = re.compile(r"([^\W\d_]+|\d+)")
_URL = re.compile(r"(?i)(?P<scheme>[a-z]{2,10}://)?(?P<www>www\.)?(?P<rest>\S+)")
_MAC = re.compile(
    r"(?i)[0-9a-f]{2}(?P<mark>[:-])(?:[0-9a-f]{2}(?P=mark)){4}[0-9a-f]{2}"
)
_PORT = re.compile(r"(?P<address>.*?)(?P<port>:\d{1,5}|/\d{1,3})?", re.DOTALL)
_HEX_DIGITS = 8
_LONGEST = 10


def email(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another user at an example host."""
    user, at, host = text.rpartition("@")
    other = username(crosswalk, label, user) if user and host else None
    if other is None:
        return None
    place = crosswalk.draws.number("host", host.lower(), below=len(_HOSTS))
    written = f"{other}{at}{_HOSTS[place]}"
    return written.upper() if text.isupper() else written


def username(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another user name: a word for a word, a digit for a digit."""
    pieces = _RUNS.split(text)
    for at in range(1, len(pieces), 2):
        other = _run(crosswalk, pieces[at])
        if other is None:
            return None
        pieces[at] = other
    return "".join(pieces) if len(pieces) > 1 else None


def url(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return a page of an example host; scheme and "www." stay."""
    found = _URL.fullmatch(text.strip())
    if found is None:
        return None
    rest = found["rest"].rstrip("/").lower()
    page = crosswalk.draws.digest("url", rest).hex()[:_HEX_DIGITS]
    host = _HOSTS[crosswalk.draws.number("host", rest.split("/")[0], below=3)]
    return f"{found['scheme'] or ''}{found['www'] or ''}{host}/{page}"


def ip_address(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return an address of the ranges for documentation; port and prefix stay."""
    address, port = text.strip(), ""
    other = _address(crosswalk, address)
    if other is None and (found := _PORT.fullmatch(address)) is not None:
        address, port = found["address"], found["port"] or ""
        other = _address(crosswalk, address)
    return other and other + port


def _run(crosswalk: Crosswalk, run: str) -> str | None:
    compared = without_separators(run)
    if compared.isdigit():
        # Leading zeros count here: "jroe01" has two digits to change.
        return other_number(crosswalk, "user digits", compared, run)
    if not compared:
        return None
    if compared in crosswalk.people.roles:
        other = name_word(crosswalk, compared)
    else:
        other = crosswalk.choose(
            "user", compared, _user_words(min(len(compared), _LONGEST))
        )
    return other and in_case_of(run, other)


@cache
def _user_words(length: int) -> tuple[str, ...]:
    pools = name_pools()
    if length == 1:
        return tuple(pools.letters[Role.FAMILY])
    alike = (name for name in pools.surnames if abs(len(name) - length) <= 1)
    return tuple(alike) or pools.surnames


def _address(crosswalk: Crosswalk, text: str) -> str | None:
    mac = _MAC.fullmatch(text)
    if mac is not None:
        last = crosswalk.draws.number("mac", without_separators(text), below=256)
        other = mac["mark"].join(("00", "00", "5e", "00", "53", f"{last:02x}"))
        return other.upper() if text.isupper() else other
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    for counter in range(TRIES):
        other = _drawn(crosswalk, address, counter)
        if other != text and crosswalk.is_free_whole(without_separators(other)):
            return other
    return None


def _drawn(
    crosswalk: Crosswalk,
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
    counter: int,
) -> str:
    numbers = crosswalk.draws.numbers("ip", address.compressed, counter, count=2)
    if address.version == 4:
        return f"{_NETWORKS[numbers[0] % 3]}.{1 + numbers[1] % 254}"
    return f"2001:db8::{numbers[0]:x}:{numbers[1]:x}"
