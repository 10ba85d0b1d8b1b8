"""Every form in which an output shows its text.

The text itself, and what is behind entities, escapes, tags, control words and base64.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
import zlib

from streams.engine.character_sets import ASCII, codec_of

_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_DEPTH = 3
_HL7_DELIMITERS = {"F": "|", "S": "^", "T": "&", "R": "~", "H": "", "N": ""}


def shown_forms(data, depth=0):
    """Return the forms of an output, each with single blanks for white space."""
    return [_single_spaced(form) for form in _forms(data, depth)]


def shows(string, forms):
    """Return whether a form has the string: as words, or five digits anywhere."""
    string = _single_spaced(string)
    left = right = ""
    if sum(character.isdigit() for character in string) < 5:
        letter, digit = r"[^\W\d_]", r"\d"
        if string[0].isalnum():
            left = f"(?<!{digit if string[0].isdigit() else letter})"
        if string[-1].isalnum():
            right = f"(?!{digit if string[-1].isdigit() else letter})"
    pattern = re.compile(left + re.escape(string) + right)
    return any(pattern.search(form) for form in forms)


def _single_spaced(text):
    return re.sub(r"\s+", " ", text)


def _forms(data, depth):
    text = _decoded(data)
    forms = [text]
    if "MSH" in text:
        forms.append(_unescaped(text))
    if "{\\rtf" in text:
        forms.append(_without_control_words(text))
    elif text.lstrip().startswith(("{", "[")):
        forms.append("\n".join(_json_strings(text)))
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
        forms.append(_inflated(stream).decode("latin-1"))
    forms += [plain for form in forms for plain in _without_markup(form)]
    if depth < _DEPTH:
        for run in _BASE64.findall(text):
            forms += _forms_in_base64(run, depth + 1)
    return forms


def _without_markup(form):
    if "&" not in form and "<" not in form:
        return []
    plain = html.unescape(form)
    return [plain, *(re.sub("<[^<>]*>", gap, plain) for gap in ("", " "))]


def _decoded(data):
    marks = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
    for mark, codec in marks.items():
        if data.startswith(mark):
            return data.decode(codec, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        named = re.match(rb"MSH(?:[^|\r]*\|){17}([^|~\r]+)", data)
        codec = codec_of(named[1].decode()) if named else None
        # ASCII holds no more: nothing is named.
        codec = "cp1252" if codec in (None, ASCII) else codec
        return data.decode(codec, "replace")


def _without_control_words(rtf):
    page = re.search(r"\\ansicpg(\d+)", rtf)
    codec = f"cp{page[1]}" if page else "cp1252"

    def character(match):
        return bytes.fromhex(match[1]).decode(codec, "replace")

    fallback = r"(?:\\'[0-9a-fA-F]{2}|\?)?"
    text = re.sub(
        rf"\\u(-?\d+) ?{fallback}", lambda match: chr(int(match[1]) % 65536), rtf
    )
    text = re.sub(r"\\'([0-9a-fA-F]{2})", character, text)
    text = re.sub(r"\\(?:par|line|cell|row|tab|sect|page)\b ?", " ", text)
    text = re.sub(r"\\[a-z]+-?\d* ?", "", text)
    return re.sub("[{}]", "", text)


def _unescaped(message):
    text = message.replace("\\E\\", "\\")
    for letter, delimiter in _HL7_DELIMITERS.items():
        text = text.replace(f"\\{letter}\\", delimiter)
    text = re.sub(r"\\\.[a-z]{2}[ +\-0-9]*\\", " ", text)
    return re.sub(
        r"\\X((?:[0-9A-Fa-f]{2})+)\\",
        lambda match: bytes.fromhex(match[1]).decode("cp1252", "replace"),
        text,
    )


def _json_strings(text):
    try:
        return [*_strings(json.loads(text))]
    except ValueError:
        lines = [json.loads(line) for line in text.splitlines() if line[:1] == "{"]
        return [*_strings(lines)]


def _strings(value):
    if isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from _strings(member)
    elif isinstance(value, list):
        for member in value:
            yield from _strings(member)
    else:
        yield str(value)


def _inflated(stream):
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return stream


def _forms_in_base64(run, depth):
    try:
        inner = base64.b64decode(run + "=" * (-len(run) % 4))
    except binascii.Error:
        return []
    head = inner[:200]
    printable = sum(32 <= byte < 127 or byte in b"\t\n\r" for byte in head)
    has_zeros = b"\0" in inner[:4] or inner[:2] in (b"\xff\xfe", b"\xff\xd8")
    if printable <= 0.7 * len(head) and not has_zeros:
        return []
    return _forms(inner, depth)
