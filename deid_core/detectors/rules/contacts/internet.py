"""Rules for e-mail, URL and IP address: Safe Harbor (F), (N) and (O).

Example hosts are RFC 2606's, and example addresses RFC 5737's and RFC 3849's.
"""

from __future__ import annotations

import ipaddress
import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import UNIT, ends_with, words

_FLAGS = re.VERBOSE | re.IGNORECASE
_DOMAINS = words("com org net edu gov mil info io health")

_VERSION = re.compile(r"(?:\bv|ver|version|release|section)\.?[ ]?\Z", re.IGNORECASE)
_IP_CUE = re.compile(r"\bip(?:v4)?(?:[ ]address)?[ :=#]{0,3}\Z", re.IGNORECASE)
# RFC 1918's networks, and words that only an address follows.
_PRIVATE = re.compile(r"(?:10|192\.168|172\.(?:1[6-9]|2[0-9]|3[01]))\.")
_NET_CUE = re.compile(
    r"\b(?:from|address|host|server|login|logon|network|terminal)[ :=#]{1,3}\Z",
    re.IGNORECASE,
)
_UNIT = re.compile(UNIT, _FLAGS)


def is_ipv4(match: re.Match[str]) -> bool:
    """Return whether four numbers are an address, not a version or an outline.

    A mistyped one ("10.3.4.560") still identifies the network.
    """
    if ends_with(_IP_CUE, match.string, match.start()):
        return True
    try:
        ipaddress.IPv4Address(match["phi"])
    except ValueError:
        if not _PRIVATE.match(match["phi"]) and not ends_with(
            _NET_CUE, match.string, match.start()
        ):
            return False
    return (
        len(match["phi"]) > len("1.2.3.4")
        and not ends_with(_VERSION, match.string, match.start(), within=10)
        and not _UNIT.match(match.string, match.end())
    )


def is_ipv6(match: re.Match[str]) -> bool:
    """Return whether groups between colons are an IPv6 address (RFC 4291)."""
    try:
        ipaddress.IPv6Address(match[0])
    except ValueError:
        return False
    return True


def _is_no_sentence(match: re.Match[str]) -> bool:
    """Return whether no sentence begins behind the last full stop: "@1400.Called"."""
    host, _, last = match[0].rpartition("@")[2].rpartition(".")
    return not (last.istitle() and (host.islower() or host.isdigit()))


EMAIL = Rule(
    name="email",
    label=Label.EMAIL,
    # RFC 5321's lengths; possessive, so that a run without "@" is left at once.
    pattern=LazyPattern(
        r"""
        [\w.%+'*/=?^{|}~!#$&-]{1,64}+(?:"[^"\n]{1,60}")?@
        (?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?!\w)
        """,
        re.VERBOSE,
    ),
    score=0.99,
    is_valid=_is_no_sentence,
    found=(
        "write «jane.roe+labs@mail.example.org», please",
        "(«o'neil_j@example.com»)",
        "«jörg@exämple.com»",
    ),
    not_found=(
        "seen @ 3 pm",
        "jane@",
        "@example.com",
        "a@b",
        "5 mg @ 10.5 mL",
        "notified@1400.Called back, HR 80@rest.Stable",
    ),
)

URL = Rule(
    name="url",
    label=Label.URL,
    pattern=LazyPattern(
        r"""
        (?<![a-z])(?:(?:https?|s?ftp|file)://|www\.)[^\s<>"]{0,2000}[^\s<>"'.,;:!?)\]}]
        """,
        _FLAGS,
    ),
    score=0.98,
    # One after the other: "www.www.www." is one address, read once.
    lookbehind=1,
    found=(
        "see «https://portal.example.org/p?id=12».",
        "(«www.example.com/roe»), «ftp://example.net»",
        "«HTTP://EXAMPLE.COM»",
    ),
    not_found=("http: none", "the www", "profile: //"),
)

_HOST_PART = r"[a-z0-9-]{1,62}\."
BARE_HOST = Rule(
    name="url_bare_host",
    label=Label.URL,
    pattern=LazyPattern(
        rf"""
        (?<![\w@.-])[a-z0-9]
        (?:(?:{_HOST_PART}){{4}}|(?:{_HOST_PART}){{1,3}}(?!{_HOST_PART}))
        (?:{"|".join(_DOMAINS)})(?![\w-])
        (?:/[^\s<>"]{{0,500}}[^\s<>"'.,;:!?)\]}}])?
        """,
        _FLAGS,
    ),
    score=0.9,
    found=(
        "on «janeroe.example.com/blog».",
        "see «example.org»",
    ),
    not_found=("jane@example.com", "pain.common", "2.5.io", "the end.network"),
)

COUNTRY_HOST = Rule(
    name="url_country_host",
    label=Label.URL,
    # RFC 2606's and local ones, too.  Of countries with a second level alone, or
    # Britain's: "pain.in" is a typo.
    pattern=LazyPattern(
        r"""
        (?<![\w@.-])[a-z0-9](?:[a-z0-9-]|\.(?=[a-z0-9])){1,120}
        \.(?:example|internal|uk|(?:com?|org|net|govt?|ac|edu|nhs)\.[a-z]{2})
        (?![\w-])(?:/[^\s<>"]{0,500}[^\s<>"'.,;:!?)\]}])?
        """,
        _FLAGS,
    ),
    score=0.9,
    triggers=(
        *(".example", ".internal", ".uk"),
        *(
            ".co.",
            ".com.",
            ".org.",
            ".net.",
            ".gov.",
            ".govt.",
            ".ac.",
            ".edu.",
            ".nhs.",
        ),
    ),
    lookbehind=122,
    window=520,
    found=(
        "«portal.hospital.co.in», see «results.health.gov.au/x».",
        "(msg sent «mylabs.clinic.example», she), «www.clinic.nhs.uk»",
    ),
    not_found=("jane@example.co.in", "t.co.it.is", "5.uk"),
)

IPV4 = Rule(
    name="ipv4",
    label=Label.IPADDR,
    pattern=LazyPattern(
        r"""
        (?P<phi>[0-9](?<![0-9][0-9])(?<![0-9]\.[0-9])(?<![a-z][0-9])[0-9]{0,2}
          (?:\.[0-9]{1,3}){3})
        (?![0-9a-z])(?!\.[0-9])
        """,
        _FLAGS,
    ),
    score=0.95,
    is_valid=is_ipv4,
    found=(
        "from «192.0.2.17», port",
        "«203.0.113.5»:8080",
        "IP: «1.2.3.4»",
        "reports to «10.1.20.560», logged in from «203.0.113.512».",
    ),
    not_found=(
        "version 10.20.30.40",
        "1.2.3.4 mg",
        "1.2.3.4 Medications",
        "300.1.1.1",
        "1.2.840.10008.5.1",
        "v10.20.30.40",
        "12.25.2023",
    ),
)

IPV6 = Rule(
    name="ipv6",
    label=Label.IPADDR,
    # First groups in use: 2000::/3 global, fc00::/7 local, fe80::/10 link (RFC 4291).
    pattern=LazyPattern(
        r"""
        [23fF](?<![\w:][23fF])[0-9A-Fa-f]{3}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])
        """,
        re.VERBOSE,
    ),
    score=0.95,
    is_valid=is_ipv6,
    found=("«2001:db8::8a2e:370:7334»", "at «fe80:0:0:0:200:f8ff:fe21:67cf», ok"),
    not_found=("2001:30:45", "at 2345:10:20", "fade::zz", "12:30:45"),
)

IPV6_IN_FULL = Rule(
    name="ipv6_in_full",
    label=Label.IPADDR,
    # Eight groups are no time and no MAC address, whatever they begin with.
    pattern=LazyPattern(
        r"[0-9a-f](?<![\w:.][0-9a-f])[0-9a-f]{0,3}(?::[0-9a-f]{1,4}){7}(?![\w:])",
        re.IGNORECASE,
    ),
    score=0.9,
    triggers=tuple(f"{digit}:" for digit in "0abcdef"),
    lookbehind=4,
    window=45,
    found=("address «d80:e4b5:79da:6cf6:71f3:51f7:9161:c319» blocked",),
    not_found=("00:1A:2B:3C:4D:5E", "1:2:3:4:5:6:7", "x1:2:3:4:5:6:7:8"),
)

RULES = (
    EMAIL,
    URL,
    BARE_HOST,
    COUNTRY_HOST,
    IPV4,
    IPV6,
    IPV6_IN_FULL,
)
