"""Names of character sets as senders write them: HL7 table 0211, IANA, and aliases."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from functools import lru_cache

ASCII, UTF_8 = "ascii", "utf-8"
_UNICODE = frozenset((UTF_8, "utf-16", "utf-32"))
_PROBE = bytes((9, 10, 13, *range(32, 127)))
_ESCAPES = frozenset(("unicode-escape", "raw-unicode-escape", "idna", "punycode"))
"""No character sets: they hide text behind what reads as ASCII."""
_LONGEST = 40

# What Python's aliases, which have IANA's names, do not cover.
_NAMES: Mapping[str, str] = {
    "unicode": UTF_8,
    "cp65001": UTF_8,
    "gb_18030_2000": "gb18030",
    "big_5": "big5",
    "ksc_5601": "euc_kr",
    "windows_31j": "cp932",
    "x_sjis": "shift_jis",
    "macintosh": "mac_roman",
    "iso_ir_13": "shift_jis",  # JIS X 0201, of which it is a superset
    "iso_ir_14": "shift_jis",
    "iso_ir_87": "iso2022_jp",
    "iso_ir_149": "euc_kr",
    "iso_ir_159": "iso2022_jp_2",
    "iso_ir_166": "tis_620",
    "iso_ir_179": "iso8859-13",
    "iso_ir_192": UTF_8,
    "iso_ir_203": "iso8859-15",
}
_BETWEEN = re.compile(r"[^a-z0-9]+")
_FORMS = (
    (re.compile(r"(?:unicode_)?(utf_?(?:8|16|32)(?:_[lb]e)?)"), r"\1"),
    (re.compile(r"(?:iso_?)?8859_?(\d{1,2})(?:_\d{4})?(?:_[ei])?"), r"iso8859_\1"),
    (re.compile(r"iso_?(?:2022_)?ir_?(\d{1,3})"), r"iso_ir_\1"),
    (re.compile(r"(?:cp|ms|win|windows|x_cp|x_windows|ibm)_?(\d{3,5})"), r"cp\1"),
    (re.compile(r"(?:latin|l)_?(\d{1,2})"), r"latin\1"),
    (re.compile(r"us_?ascii|ansi_x3_4_19(?:68|86)|iso_?646(?:_us)?|7bit"), ASCII),
)


@lru_cache(256)
def codec_of(name: str) -> str | None:
    """Return Python's codec of a character set, or None if the name is not known.

    Only sets are known in which ASCII is written as such, besides UTF-16 and UTF-32.
    """
    if len(name) > _LONGEST:
        return None
    alias = _BETWEEN.sub("_", name.lower()).strip("_")
    for form, written in _FORMS:
        if form.fullmatch(alias):
            alias = form.sub(written, alias)
            break
    try:
        codec = codecs.lookup(_NAMES.get(alias, alias)).name
    except LookupError:
        return None
    is_set = codec in _UNICODE or (codec not in _ESCAPES and _has_ascii(codec))
    return codec if is_set else None


def known_codec(name: str) -> str:
    """Return the codec of texts that name no character set.

    Raises:
        ValueError: The name is not known, or they would name it: by a byte order mark.
    """
    codec = codec_of(name)
    if codec is None or (codec in _UNICODE and codec != UTF_8):
        raise ValueError("no known character set; write e.g. windows-1252, ISO-8859-1")
    return UTF_8 if codec == ASCII else codec


def _has_ascii(codec: str) -> bool:
    # Others are no character sets (`hex`), or MSH is not MSH in them (EBCDIC).
    try:
        return _PROBE.decode(codec) == _PROBE.decode(ASCII)
    except (UnicodeError, LookupError, TypeError, ValueError):
        return False
