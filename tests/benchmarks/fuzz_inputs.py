"""Inputs of the fuzzer: samples of each format with markers, mutated at random.

An input depends on its seed, format and index alone, and on which samples there are.
"""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from tests.streams.formats.documents.written import pdf, shown
from tests.streams.formats.hl7.hl7_text import message
from tests.streams.formats.hl7.test_markers import RECORD

TESTS = Path(__file__).parents[1]
REAL_HL7 = Path(__file__).parents[3] / "shared/data/hl7/messages.jsonl"
FORMATS = ("hl7", "fhir", "documents", "json", "ccda")
SHARE_WITH_MARKERS = 0.7
SHARE_EMBEDDED = 0.2
MOST_MUTATIONS = 6
SHARES = {"fhir": (0.06, 0.8), "json": (0.1, 0.7), "ccda": (0.1, 0.6)}
"""Of mutations of bytes and of fields; others break the whole of JSON and XML."""
LARGE, HUGE = 2000, 1 << 20
PLACE = "@@"
"""Where markers are put in the samples of this module."""

RTF = (
    r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset128 M;}}"
    r"{\info{\title @@}{\author @@}{\*\company @@}}{\header @@\par}"
    r"Seen @@ with {\b @@}, M\'fcller \u252?x.\par {\v @@}{\deleted @@}"
    r"{\*\annotation @@}{\*\bkmkstart @@}{\f1 \'83\'65}{\field{\*\fldinst "
    r'HYPERLINK "http://x.test/@@"}{\fldrslt @@}}{\pict\wmetafile8 0102}}'
)
HTML = (
    "<!DOCTYPE html><html><head><title>@@</title><meta name='author' content='@@'>"
    "<style>.@@{}</style><script>var x='@@'</script></head><body><!-- @@ -->"
    "<p title='@@'>Seen @@.</p><table><tr><td>@@</td><td>M&uuml;ller</td></tr></table>"
    "<img alt='@@' src='x/@@.png'><a href='mailto:@@'>@@</a>"
    "<textarea>@@</textarea><input value='@@'></body></html>"
)
CCDA = (
    '<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3"><!-- @@ -->'
    '<id root="2.999" extension="@@"/><recordTarget><patientRole>'
    '<id root="2.999.1" extension="@@"/><patient><name><given>@@</given>'
    "<family>@@</family></name></patient></patientRole></recordTarget><component>"
    "<structuredBody><component><section><title>@@</title><text><paragraph>Seen @@."
    "</paragraph></text></section></component></structuredBody></component>"
    "</ClinicalDocument>"
)
NOTE_EVENT = {
    "note_id": "n-1",
    "patient": {"assigning_authority": "WARD", "id": PLACE},
    "text": f"Ms. {PLACE} was seen on 3/14/2024.",
    "note_type": "11506-3",
    "written_at": "2024-03-14T10:00:00Z",
    "demographics": {
        "names": [{"family": PLACE, "given": PLACE}],
        "birth_dates": ["1952-03-14"],
    },
}
EVENTS = (
    NOTE_EVENT,
    {"id": "n-2", "patient_id": PLACE, "text": f"Seen {PLACE}."},
    {"message": f"MSH|^~\\&|A|B|||||ORU^R01|1|P|2.5\rPID|1||{PLACE}\rNTE|1||{PLACE}"},
)


@dataclass(frozen=True, slots=True)
class Input:
    """One input.

    Args:
        format: Of the sample; the input may be of another one.
        index: Of the input.
        value: The mutated sample.
        markers: In the sample, as the identifiers of a patient and elsewhere.
    """

    format: str
    index: int
    value: bytes = field(repr=False)
    markers: tuple[str, ...]


def input_of(seed: int, index: int, format_: str | None = None) -> Input:
    """Return an input; without a format the index has one of its own."""
    chosen = random.Random(f"{seed}/{index}").choice(FORMATS)
    name = format_ or chosen
    rng = random.Random(f"{seed}/{name}/{index}")
    markers: list[str] = []
    value = _sample(name, rng)
    if rng.random() < SHARE_WITH_MARKERS:
        value = MARKED[name](value, rng, markers)
    value = value.replace(PLACE.encode(), b"Edith")
    if name in _EMBED and rng.random() < SHARE_EMBEDDED:
        document = _mutated(
            _marked_places(_sample("documents", rng), rng, markers), rng
        )
        value = _EMBED[name](value, base64.b64encode(document).decode(), rng)
    return Input(name, index, _mutated(value, rng, markers, name), tuple(markers))


@cache
def samples(format_: str) -> Sequence[bytes]:
    """Return the samples of a format: those of the tests, and real ones if present."""
    if format_ == "documents":
        text = f"Ms. {PLACE} was seen. {PLACE} is well.".encode()
        page = pdf(shown(f"Seen {PLACE}."), shown(PLACE, "well"))
        return (RTF.encode(), HTML.encode(), page, text, text.decode().encode("utf-16"))
    if format_ == "json":
        lines = b"\n".join(map(orjson.dumps, EVENTS[:1] * 3))
        return (*map(orjson.dumps, EVENTS), orjson.dumps(EVENTS[:2]), lines)
    if format_ == "ccda":
        return (CCDA.encode(), *_files("ccda", "xml"))
    if format_ == "fhir":
        return (*_files("fhir", "json"), *_bundles())
    return (*_messages(), *_real())


def _files(folder: str, suffix: str) -> list[bytes]:
    found = sorted((TESTS / "streams/formats" / folder / "samples").glob(f"*.{suffix}"))
    return [each.read_bytes() for each in found]


def _bundles() -> list[bytes]:
    resources = [orjson.loads(each) for each in _files("fhir", "json")]
    entries = [
        {"fullUrl": f"https://x.test/{e['resourceType']}/{e['id']}", "resource": e}
        for e in resources
        if e["resourceType"] != "Bundle"
    ]
    entries.sort(key=lambda each: each["resource"]["resourceType"] != "MessageHeader")
    some = [{"resourceType": "Bundle", "type": "message", "entry": entries}]
    two = [
        e for e in entries if e["resource"]["resourceType"] in ("Patient", "Condition")
    ]
    some.append({"resourceType": "Bundle", "type": "collection", "entry": two})
    return [*map(orjson.dumps, some)]


def _messages() -> list[bytes]:
    one = RECORD.format(version="2.5.1").encode()
    notes = message("OBR|1||7|11506-3", "OBX|1|TX|||Seen.", "OBX|2|FT|||a\\.br\\b~c")
    rows = (one.replace(b"2.5.1", version) for version in (b"2.1", b"2.3", b"2.8"))
    batch = b"FHS|^~\\&|A\rBHS|^~\\&|A\r" + notes + b"\r" + notes + b"\rBTS|2\rFTS|1"
    link = message("PID|1||7^^^W^MR", "PV1|1|I", "PID|2||8^^^W^MR", event="ADT^A24")
    frame = b"\x0b" + notes + b"\x1c\r"
    two = message("PID|1||4711", "OBX|1|TX|||a", "PID|2||4712", "OBX|1|TX|||b")
    return [one, *rows, notes, batch, link, two, frame]


def _real() -> list[bytes]:
    if not REAL_HL7.is_file():
        return []
    with REAL_HL7.open() as lines:
        return [json.loads(each)["message"].encode() for each in lines]


def _sample(format_: str, rng: random.Random) -> bytes:
    found = samples(format_)
    # Half of the messages are invented: the real ones are many, and much alike.
    if format_ == "hl7" and rng.random() < 0.5:
        found = found[:9]
    return rng.choice(found)


# --- markers


def marker(rng: random.Random, markers: list[str]) -> str:
    """Return a new marker: a word, a number, or one of both."""
    letters = "".join(rng.choices("bcdfghjklmnprstvwz", k=7))
    digits = str(rng.randrange(10_000_000, 99_999_999))
    made = rng.choice((f"Qz{letters}", digits, f"Zq{letters[:3]}-{digits}"))
    markers.append(made)
    return made


def _marked_places(value: bytes, rng: random.Random, markers: list[str]) -> bytes:
    one = marker(rng, markers)
    two = marker(rng, markers)
    found = re.split(rb"(@\x00?@)", value)
    for n in range(1, len(found), 2):
        made = rng.choice((one, two)).encode()
        # A sample in UTF-16 has a zero between two characters.
        found[n] = (
            b"\x00".join(made[i : i + 1] for i in range(len(made)))
            if (b"\x00" in found[n])
            else made
        )
    return b"".join(found)


_HL7_FIELDS = {
    b"PID": (2, 3, 4, 5, 6, 9, 11, 12, 13, 14, 18, 19, 20, 21, 23),
    b"NK1": (2, 4, 5, 6, 13, 30, 31, 32, 33, 37),
    b"GT1": (2, 3, 4, 5, 6, 7, 12, 16, 18, 19),
    b"IN1": (2, 4, 5, 6, 7, 8, 9, 16, 19, 36, 49),
    b"PV1": (3, 5, 7, 8, 9, 17, 19, 50),
    b"MRG": (1, 2, 3, 4, 5, 6, 7),
    b"OBX": (5, 16),
    b"NTE": (3,),
    b"ZPD": (1, 2),
}


def _marked_hl7(value: bytes, rng: random.Random, markers: list[str]) -> bytes:
    made = [marker(rng, markers) for _ in range(3)]
    value = _marked_text(value, rng, made)
    rows = value.split(b"\r")
    for n, row in enumerate(rows):
        cells = row.split(b"|")
        numbers = _HL7_FIELDS.get(cells[0], ())
        if cells[0] == b"OBX" and cells[2:3] not in ([b"TX"], [b"FT"], [b"ST"]):
            numbers = ()
        for number in numbers:
            if rng.random() < 0.5:
                cells += [b""] * (number + 1 - len(cells))
                components = cells[number].split(b"^")
                at = rng.randrange(len(components)) if numbers[1:] else 0
                components[at] = rng.choice(made).encode()
                cells[number] = b"^".join(components)
        rows[n] = b"|".join(cells)
    return b"\r".join(rows)


def _marked_text(value: bytes, rng: random.Random, made: Sequence[str]) -> bytes:
    return re.sub(rb"Seen", lambda _: f"Seen {rng.choice(made)}".encode(), value)


_FHIR_NAMES = frozenset(
    (
        *("id", "value", "family", "given", "text", "line", "city", "postalCode"),
        *("display", "reference", "div", "data", "description", "title", "contained"),
        *("note", "comment", "author"),
    )
)


def _marked_fhir(value: bytes, rng: random.Random, markers: list[str]) -> bytes:
    made = [marker(rng, markers) for _ in range(3)]
    tree = orjson.loads(value)
    for holder, key in _places(tree):
        if isinstance(holder[key], str) and rng.random() < 0.4:
            name = key if isinstance(key, str) else "given"
            if name == "div":
                holder[key] = holder[key].replace(">", f">{rng.choice(made)} ", 1)
            elif name == "data":
                text = f"Seen {rng.choice(made)}".encode()
                holder[key] = base64.b64encode(text).decode()
            elif name == "reference":
                holder[key] = f"Patient/{rng.choice(made)}"
            elif name in _FHIR_NAMES:
                holder[key] = rng.choice(made)
    return orjson.dumps(tree)


_XML_TEXT = re.compile(
    rb"(<(?:given|family|prefix|streetAddressLine|city|title|text|"
    rb"paragraph|content|td|originalText)\b[^<>]*>)[^<>]*"
)
_XML_VALUE = re.compile(
    rb'((?:extension|displayName|ID|assigningAuthorityName)=")[^"]*'
)


def _marked_ccda(value: bytes, rng: random.Random, markers: list[str]) -> bytes:
    value = _marked_places(value, rng, markers)

    def put(found: re.Match[bytes]) -> bytes:
        if rng.random() < 0.5:
            return found[0]
        return found[1] + rng.choice(markers).encode()

    return _XML_VALUE.sub(put, _XML_TEXT.sub(put, value))


MARKED: Mapping[str, Callable[[bytes, random.Random, list[str]], bytes]] = {
    "hl7": _marked_hl7,
    "fhir": _marked_fhir,
    "ccda": _marked_ccda,
    "documents": _marked_places,
    "json": _marked_places,
}


def _embed_hl7(value: bytes, data: str, rng: random.Random) -> bytes:
    kind = rng.choice(("RTF", "HTML", "PDF", "TEXT", "", "Octet-stream"))
    return value + f"\rOBX|9|ED|||A^application^{kind}^Base64^{data}||||||F".encode()


def _embed_fhir(value: bytes, data: str, rng: random.Random) -> bytes:
    tree = orjson.loads(value)
    kind = rng.choice(("text/rtf", "text/html", "application/pdf", "text/plain", None))
    attachment = {"data": data} | ({"contentType": kind} if kind else {})
    if tree["resourceType"] == "DocumentReference":
        tree["content"] = [{"attachment": attachment}]
    elif tree["resourceType"] == "DiagnosticReport":
        tree["presentedForm"] = [attachment]
    else:
        tree = {
            "resourceType": "DocumentReference",
            "status": "current",
            "subject": {"reference": "Patient/p-1"},
            "content": [{"attachment": attachment}],
        }
    return orjson.dumps(tree)


_EMBED: Mapping[str, Callable[[bytes, str, random.Random], bytes]] = {
    "hl7": _embed_hl7,
    "fhir": _embed_fhir,
}


# --- mutations


def _mutated(
    value: bytes,
    rng: random.Random,
    markers: Sequence[str] = (),
    format_: str = "documents",
) -> bytes:
    at_bytes, at_fields = SHARES.get(format_, (0.35, 0.4))
    for _ in range(rng.randrange(MOST_MUTATIONS + 1)):
        level = rng.random()
        if level < at_bytes:
            value = rng.choice(_BYTES)(value, rng)
        elif level < at_bytes + at_fields:
            value = _structure(value, rng, format_)
        else:
            value = _escape(value, rng, markers, format_)
        value = value[: 2 * HUGE]
    return value


def _cut(value: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(value) + 1)
    longest = rng.choice((1, 4, 32, 256))
    return start, min(len(value), start + rng.randrange(1, longest + 1))


def _flip(value: bytes, rng: random.Random) -> bytes:
    if not value:
        return value
    at = rng.randrange(len(value))
    return value[:at] + bytes([value[at] ^ 1 << rng.randrange(8)]) + value[at + 1 :]


_ODD_BYTES = (
    b"\x00",
    b"\xff",
    b"\xfe\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\x1b$B",
)
_ODD_BYTES += (b"\r", b"\n", b"\x0b", b"\x1c\r", b"\xe2\x80\xa8", b"\xc2\xa0", b"\x85")


def _insert(value: bytes, rng: random.Random) -> bytes:
    at, _ = _cut(value, rng)
    piece = rng.choice((*_ODD_BYTES, rng.randbytes(rng.randrange(1, 9))))
    return value[:at] + piece + value[at:]


def _delete(value: bytes, rng: random.Random) -> bytes:
    start, end = _cut(value, rng)
    return value[:start] + value[end:]


def _truncate(value: bytes, rng: random.Random) -> bytes:
    at, _ = _cut(value, rng)
    return value[:at] if rng.random() < 0.8 else value[at:]


def _splice(value: bytes, rng: random.Random) -> bytes:
    other = _sample(rng.choice(FORMATS), rng).replace(PLACE.encode(), b"Edith")
    at, _ = _cut(value, rng)
    start, _ = _cut(other, rng)
    return value[:at] + other[start : start + rng.choice((16, 256, 4096))] + value[at:]


def _repeat(value: bytes, rng: random.Random) -> bytes:
    start, end = _cut(value, rng)
    return value[:end] + value[start:end] * _times(end - start, rng) + value[end:]


def _times(size: int, rng: random.Random) -> int:
    most = HUGE if rng.random() < 0.002 else LARGE
    return rng.choice((1, 2, 10, max(1, most // max(size, 1))))


_BYTES = (_flip, _insert, _delete, _truncate, _splice, _repeat)

_TOKENS = {
    "hl7": re.compile(rb"[^|\r]+|[|\r]|[\^&~]"),
    "fhir": re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^"{}\[\],:]+|"', re.DOTALL),
    "xml": re.compile(
        rb"<(\w+)\b[^<>]*>[^<]*</\1>|<[^<>]*/>|<[^<>]*>|[^<]+|<", re.DOTALL
    ),
    "rtf": re.compile(rb"[{}]|\\[a-z]+-?\d* ?|\\'..|\\.|[^\\{}]+|\\", re.DOTALL),
    "pdf": re.compile(rb"\s+|\S+"),
}
_ODD_TOKENS: Mapping[str, Sequence[bytes]] = {
    "hl7": (
        *(b"|", b"^", b"~", b"&", b"\\", b"\r", b"\n", b'""', b'|""|', b"\rQQQ|a"),
        *(b"\rPID|1||4712", b"\rZQX|a|b", b"\rOBX|1|ED|||", b"\rBHS|^~\\&|"),
        b"\rMSH|^~\\&|",
        *(b"MSH|#~\\&|", b"MSH|^~\\&#|", b"MSH$%~\\&$", b"UNICODE UTF-16", b"8859/1"),
        *(b"20249999", b"9" * 20, b"-1", b"^" * 300, b"&" * 300, b"~" * 99),
        *(b"\rOBX|1|NM|||", b"\rNTE|1||", b"\rMRG|", b"2.9", b"ADT^A40", b"A24"),
    ),
    "fhir": (
        *(b"null", b"true", b"-1.5e400", b"1e5", b"{}", b"[]", b'""', b'"\\u0000"'),
        *(b'"\\ud800"', b'"resourceType":"Patient",', b'"Bundle"', b'"#x"', b'"_id":'),
        *(b"[" * 900, b"[" * 200 + b"]" * 200, b'{"a":' * 200, b",", b'"extension":'),
        *(b'{"reference":"#a"}', b'"contained":[{"resourceType":"Patient"}],', b"NaN"),
        *(b'"resource":{"resourceType":"Binary"},', b'"urn:uuid:1"', b"1" * 400),
    ),
    "xml": (
        *(b"<unknown>", b"</unknown>", b"<a/>", b"<![CDATA[", b"]]>", b"<!--", b"-->"),
        *(b"<?x y?>", b"<div>" * 600, b"<td>" * 50, b"</text>", b'<a b="c">', b"<p"),
        *(b'<!DOCTYPE a [<!ENTITY x "y"><!ENTITY z "&x;&x;">]>', b"&x;", b"<table>"),
        *(b'xmlns="urn:x"', b'<id nullFlavor="UNK"/>', b"<v:p xmlns:v='urn:x'>"),
        *(b"<template>", b"<svg>", b"<select>", b"<plaintext>", b"<noscript>"),
        b"<style>",
    ),
    "rtf": (
        *(b"{", b"}", b"\\", b"\\bin9999 ", b"\\bin-1 ", b"\\u99999999?", b"\\u-1?"),
        *(b"\\uc9 ", b"\\uc99999999999 ", b"\\'zz", b"\\'83", b"\\f1 ", b"\\f99 "),
        *(b"{\\*\\x ", b"\\ansicpg65001 ", b"\\ansicpg932 ", b"\\ansicpg7 ", b"\\v "),
        *(b"{" * 300, b"\\par" * 99, b"\\fcharset128 ", b"\\deff1 ", b"\\pict", b"\\*"),
        *(b"{\\footnote ", b"\\u55296?", b"\\u-10179?", b"\\plain ", b"\\cpg1200 "),
    ),
    "pdf": (
        *(b"<<", b">>", b"[" * 500, b"]", b"(", b")", b"/Encrypt", b"stream\n", b"obj"),
        *(b"endobj", b"3 0 R", b"2 0 R", b"1000 0 R", b"-1", b"99999999999", b"/Kids"),
        *(b"/Length", b"/Filter /FlateDecode", b"BT", b"ET", b"Tj", b"%%EOF", b"<</A "),
    ),
}  # fmt: skip


def _grammar(value: bytes, format_: str) -> str:
    if format_ == "hl7" or value.startswith(b"MSH"):
        return "hl7"
    if format_ in ("fhir", "json"):
        return "fhir"
    for start, name in ((b"{\\rtf", "rtf"), (b"%PDF", "pdf")):
        if value.startswith(start):
            return name
    return "xml"


def _structure(value: bytes, rng: random.Random, format_: str) -> bytes:
    grammar = _grammar(value, format_)
    if grammar == "fhir" and rng.random() < 0.93:
        try:
            return _tree(orjson.loads(value), rng)
        except (orjson.JSONDecodeError, TypeError, RecursionError):
            pass  # broken by an earlier mutation
    # Not all tokens of a huge value are needed.
    tokens = [each[0] for each in _TOKENS[grammar].finditer(value[: HUGE // 8])]
    rest = value[HUGE // 8 :]
    if not tokens:
        return rng.choice(_ODD_TOKENS[grammar])
    one, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    _TOKEN_CHANGES[rng.randrange(len(_TOKEN_CHANGES))](tokens, one, other, rng, grammar)
    return b"".join(tokens) + rest


Change = Callable[[list[bytes], int, int, random.Random, str], None]


def _swap(tokens: list[bytes], one: int, other: int, *_: object) -> None:
    tokens[one], tokens[other] = tokens[other], tokens[one]


def _multiply(
    tokens: list[bytes], one: int, other: int, rng: random.Random, grammar: str
) -> None:
    tokens[one] *= 1 + _times(len(tokens[one]), rng)


def _empty(tokens: list[bytes], one: int, *_: object) -> None:
    tokens[one] = b""


def _replace(
    tokens: list[bytes], one: int, other: int, rng: random.Random, grammar: str
) -> None:
    tokens[one] = rng.choice(_ODD_TOKENS[grammar])


def _append(
    tokens: list[bytes], one: int, other: int, rng: random.Random, grammar: str
) -> None:
    tokens[one] += rng.choice(_ODD_TOKENS[grammar])


def _overwrite(tokens: list[bytes], one: int, other: int, *_: object) -> None:
    tokens[one] = tokens[other]


def _duplicate(tokens: list[bytes], one: int, other: int, *_: object) -> None:
    tokens.insert(one, tokens[other])


def _rename(
    tokens: list[bytes], one: int, other: int, rng: random.Random, grammar: str
) -> None:
    """Exchange two delimiters everywhere (HL7), or rename a token."""
    if grammar != "hl7":
        tokens[one] = re.sub(rb"\w+", b"unknown", tokens[one], count=2)
        return
    old, new = rng.sample((b"|", b"^", b"~", b"&", b"\\", b"#", b"$"), 2)
    table = bytes.maketrans(old + new, new + old)
    tokens[:] = [each.translate(table) for each in tokens]


_TOKEN_CHANGES: Sequence[Change] = (
    *(_swap, _multiply, _empty, _replace, _append, _overwrite, _duplicate, _rename),
)


_STRANGE = (None, True, 0, -1.5, "", [], {}, "\x00", "2024-02-30", 2**62, ["a", None])
_STRANGE += ({"value": "x", "system": "y"}, "Patient/x", "#x", [[[[[["x"]]]]]], "<div>")


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Return the holder and the key of each value in a tree."""
    found: list[tuple[Any, Any]] = []
    left = [tree]
    while left:
        holder = left.pop()
        keys = holder if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                left.append(holder[key])
    return found


def _tree(tree: Any, rng: random.Random) -> bytes:
    places = _places(tree)
    if not places:
        return orjson.dumps(tree)
    (holder, key), (other, name) = rng.choice(places), rng.choice(places)
    # Copies, so that no value comes to lie within itself.
    value, given = orjson.loads(orjson.dumps([holder[key], other[name]]))
    change = rng.randrange(7)
    if change == 0:
        holder[key], other[name] = given, value
    elif change == 1:
        del holder[key]
    elif change == 2 and isinstance(holder, dict):
        renamed = rng.choice((f"_{key}", "unknown", str(name), "extension", "id"))
        holder[renamed] = holder.pop(key)
    else:
        nested = _nested(value, rng)
        many = [value] * min(40, _times(50, rng))
        if isinstance(value, str):
            nested = value * (1 + _times(len(value), rng))
        holder[key] = rng.choice((given, rng.choice(_STRANGE), many, nested))
    return orjson.dumps(tree)


def _nested(value: Any, rng: random.Random) -> Any:
    for _ in range(rng.choice((2, 20, 120))):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


_ODD_ESCAPES = (
    *(b"\\F\\", b"\\T\\", b"\\H\\", b"\\.br\\", b"\\Zxx\\", b"\\X0D\\", b"\\X\\"),
    *(b"\\XG\\", b"\\C2842\\", b"\\M262350\\", b"\\.sp99\\", b"\\E", b"\\/"),
    *(b"\\ud83d", b"\\u0000"),
    *(b"&amp;", b"&amp;#81;", b"&#0;", b"&#xD800;", b"&#x110000;", b"&nbsp", b"&shy;"),
    *(b"&zwnj;", b"<!---->", b"<b></b>", b"<![CDATA[]]>", b"\\uc0 ", b"\\-", b"\\~"),
    *(b"\\\n", b"{}", b"{\\v x}", b"\\'ad", b"\\zwj ", b"\\par ", b"%20", b"=20"),
)  # fmt: skip


def _escape(
    value: bytes, rng: random.Random, markers: Sequence[str], format_: str
) -> bytes:
    """Write a character in another way, or put an odd escape into the value."""
    if not value:
        return value
    at = rng.randrange(len(value))
    if markers and rng.random() < 0.6:
        found = value.find(rng.choice(markers).encode(), at if at % 2 else 0)
        at = found + rng.randrange(1, 7) if found >= 0 else at
        at = min(at, len(value) - 1)
    code = value[at]
    if format_ in ("fhir", "json") and rng.random() < 0.7:
        # Any other change breaks all JSON, and a letter is likely in a string.
        return value[:at] + _json_escape(code) + value[at + 1 :]
    if rng.random() < 0.4:
        return value[:at] + rng.choice(_ODD_ESCAPES) + value[at:]
    forms = (
        f"\\X{code:02X}\\",
        f"\\u{code:04x}",
        f"&#{code};",
        f"&#x{code:x};",
        f"\\'{code:02x}",
        f"\\u{code}?",
        f"%{code:02X}",
    )
    return value[:at] + rng.choice(forms).encode() + value[at + 1 :]


def _json_escape(code: int) -> bytes:
    letter = chr(code)
    return f"\\u{code:04x}".encode() if letter.isalnum() else bytes([code])
