"""Names of character sets, as interfaces send them."""

from __future__ import annotations

import pytest

from streams.engine.character_sets import codec_of, known_codec

# HL7 table 0211, IANA's names and aliases, those of Windows and DICOM.
NAMES = {
    "iso8859-1": "8859/1 ISO-8859-1 ISO_8859-1:1987 iso8859-1 LATIN1 latin-1 l1 IBM819",
    "iso8859-2": "8859/2 ISO-8859-2 LATIN2",
    "iso8859-15": "8859/15 ISO-8859-15 ISO8859-15 latin9",
    "cp1252": "WINDOWS-1252 windows1252 CP1252 win-1252 x-cp1252",
    "cp1250": "windows-1250 CP1250",
    "cp850": "IBM850 cp850",
    "utf-8": "UTF-8 utf8 UNICODE cp65001",
    "ascii": "ASCII US-ASCII ANSI_X3.4-1968 ISO646-US",
    "gb18030": "GB18030",
    "big5": "BIG-5 Big5",
    "euc_kr": "EUC-KR",
    "shift_jis": "Shift_JIS SJIS",
    "koi8-r": "KOI8-R",
}
PHRASES = {
    "ISO IR100": "iso8859-1",
    "ISO_IR 100": "iso8859-1",
    "ISO 2022 IR 100": "iso8859-1",
    "ISO IR87": "iso2022_jp",
    "ISO IR6": "ascii",
    "UNICODE UTF-8": "utf-8",
    "UNICODE UTF-16": "utf-16",
    "UNICODE UTF-32": "utf-32",
    "GB 18030-2000": "gb18030",
    "KS X 1001": "euc_kr",
}
PAIRS = [(name, codec) for codec, names in NAMES.items() for name in names.split()]


@pytest.mark.parametrize(("name", "codec"), [*PAIRS, *PHRASES.items()])
def test_a_name_has_its_codec(name, codec):
    assert codec == codec_of(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "x", "Quellwright", "8859/12", "../../x", "latin1 " * 10),
        # No character sets, or such as hide text or do not begin with MSH.
        *("hex", "rot13", "base64", "zlib", "utf-7", "idna", "punycode", "undefined"),
        *("unicode_escape", "raw_unicode_escape", "cp037", "cp500", "hz"),
    ],
)
def test_any_other_name_is_not_known(name):
    assert codec_of(name) is None


@pytest.mark.parametrize("name", ["utf-16", "UNICODE UTF-32", "nothing"])
def test_a_default_is_a_set_that_nothing_else_tells(name):
    with pytest.raises(ValueError, match="windows-1252"):
        known_codec(name)
    assert known_codec("ASCII") == "utf-8"
