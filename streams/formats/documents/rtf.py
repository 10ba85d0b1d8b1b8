"""RTF: all its text, and a new RTF document of the scrubbed text.

Nothing of the original but its text comes into the new document.  What is not shown is
dropped: hidden and deleted text, properties, field instructions, pictures, objects.
Headers come before the text; footers, notes, comments and text boxes behind it, so that
none of them parts a word.

striprtf, the library for this, drops headers, footnotes, comments and text boxes
without a word, shows hidden text, does not know `\\bin` outside of pictures, and
decodes two-byte character sets only in part.

Source: Rich Text Format (RTF) Specification 1.9.1.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace

from deid_core import ScrubbedDocument

from .document import RebuiltDocument, Unreadable, UnreadableKind
from .plain import without_controls, words

MEDIA_TYPE = "application/rtf"
MAX_DEPTH = 500
MAX_TOKENS = 2_000_000

_TOKEN = re.compile(
    rb"\\(?P<word>[A-Za-z]+)(?P<number>-?[0-9]{1,10})? ?"
    rb"|\\'(?P<hex>[0-9A-Fa-f]{2})"
    rb"|\\(?P<symbol>[^A-Za-z'])"
    rb"|(?P<brace>[{}])"
    rb"|(?P<text>[^\\{}\r\n]+)"
    rb"|[\r\n]+",
    re.DOTALL,
)
_SYMBOLS = {
    b"\\": "\\",
    b"{": "{",
    b"}": "}",
    b"~": " ",
    b"_": "-",
    b"\n": "\n",
    b"\r": "\n",
    b"\t": "\t",
}
_CHARACTERS = {
    "par": "\n",
    "line": "\n",
    "sect": "\n",
    "page": "\n",
    "column": "\n",
    "row": "\n",
    "nestrow": "\n",
    "softline": "\n",
    "softpage": "\n",
    "softcol": "\n",
    "tab": "\t",
    "cell": "\t",
    "nestcell": "\t",
    "emdash": "\u2014",
    "endash": "\u2013",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
    "bullet": "\u2022",
    "lquote": "\u2018",
    "rquote": "\u2019",
    "ldblquote": "\u201c",
    "rdblquote": "\u201d",
}
_BEFORE = frozenset(("header", "headerf", "headerl", "headerr"))
_BEHIND = words("footer footerf footerl footerr footnote annotation shptxt dptxbxtext")
# They hold shown text though they are marked as ignorable.
_SHOWN = frozenset(("shpinst", "shpgrp", "do"))
# They hold no shown text though they are not marked as ignorable, or not always.
_DROPPED = words(
    "fonttbl colortbl stylesheet info pict listtable listoverridetable rsidtbl revtbl "
    "generator filetbl fldinst datafield objdata objclass objname objalias objsect "
    "themedata colorschememapping datastore latentstyles xmlnstbl bkmkstart bkmkend "
    "atnid atnauthor atnref atndate atrfstart atrfend atnparent atnicn atntime xe rxe "
    "txe tc tcn sp sn sv shprslt nonshppict nonesttables nesttableprops formfield "
    "ffname ffdeftext ffhelptext ffstattext ffl userprops docvar mailmerge template "
    "password background ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn pgp pgptbl "
    "private listname liststylename falt panose fontfile"
)
_CHARSETS = {
    0: "cp1252",
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "cp936",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
}
_CODE_PAGES = {
    0: "cp1252",
    1361: "johab",
    10000: "mac_roman",
    20127: "cp1252",
    28591: "cp1252",
}
_SETS = {"ansi": "cp1252", "mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_SYMBOL_FONT = range(0xF020, 0xF100)
_SURROGATE = re.compile("[\ud800-\udfff]")

_START = (
    r"{\rtf1\ansi\ansicpg1252\deff0\uc1{\fonttbl{\f0\fswiss\fcharset0 Arial;}}"
    "\n\\pard\\f0\\fs20 "
)
_ESCAPES = str.maketrans({"\\": "\\\\", "{": "\\{", "}": "\\}", "\t": "\\tab "})
_NON_ASCII = re.compile("[^\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class RtfText:
    """An opened RTF document."""

    text: str = field(repr=False)

    def rebuilt(self, scrubbed: ScrubbedDocument) -> RebuiltDocument:
        """Return a new RTF document: a paragraph for each line."""
        lines = scrubbed.text.translate(_ESCAPES).split("\n")
        body = _NON_ASCII.sub(_escaped, "\\par\n".join(lines))
        return RebuiltDocument(f"{_START}{body}}}\n".encode("ascii"), MEDIA_TYPE)


def _escaped(character: re.Match[str]) -> str:
    """Return a character as one or two UTF-16 code units."""
    units = memoryview(character[0].encode("utf-16-le", "surrogatepass")).cast("h")
    return "".join(f"\\u{unit}?" for unit in units)


def open_rtf(data: bytes) -> RtfText:
    r"""Return an RTF document.

    Args:
        data: Begins with ``{\rtf``.

    Raises:
        Unreadable: It is broken, nested too deeply, or in an unknown character set.
    """
    return RtfText(_Reader(data).read())


@dataclass(frozen=True, slots=True)
class _State:
    """The state that holds until the end of a group.

    Args:
        story: Where text goes; None drops it.
        font: The number of the font.
        skipped: How many characters follow each Unicode character in its place.
        is_hidden: Whether text is not shown.
        is_deleted: Whether text was deleted while changes were tracked.
    """

    story: list[str] | None = field(repr=False)
    font: int | None = None
    skipped: int = 1
    is_hidden: bool = False
    is_deleted: bool = False


class _Reader:
    """Reads one RTF document."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._main: list[str] = []
        self._before: list[list[str]] = []
        self._behind: list[list[str]] = []
        self._state = _State(self._main)
        self._outer: list[_State] = []
        self._code_page = "cp1252"
        self._charsets: dict[int, str] = {}
        self._default_font: int | None = None
        self._in_font_table = 0  # the depth of the font table
        self._table_font = 0
        self._is_starred = False
        self._to_skip = 0
        self._bytes = bytearray()  # of one character set, not decoded yet
        # Unescaped text should be ASCII; senders write UTF-8 nevertheless.
        self._is_utf_8 = not data.isascii() and _is_utf_8(data)

    def read(self) -> str:
        """Return the text."""
        for _ in range(MAX_TOKENS):
            if self._at == len(self._data):  # cut off: what is there is read
                self._flush()
                break
            token = _TOKEN.match(self._data, self._at)
            if token is None:
                raise Unreadable(UnreadableKind.BROKEN)
            self._at = token.end()
            self._take(token)
            if not self._outer:  # what follows the document is none of it
                break
        else:
            raise Unreadable(UnreadableKind.TOO_LARGE)
        stories = (*self._before, self._main, *self._behind)
        texts = (_whole("".join(story)).rstrip() for story in stories)
        return without_controls("\n".join(filter(None, texts)))

    def _take(self, token: re.Match[bytes]) -> None:
        kind = token.lastgroup
        if kind == "text":
            self._add_raw(token[0])
        elif kind == "hex":
            self._add_bytes(bytes.fromhex(token["hex"].decode()))
        elif kind == "brace":
            self._open() if token[0] == b"{" else self._close()
        elif kind in ("word", "number"):
            number = token["number"]
            self._word(token["word"].decode(), None if number is None else int(number))
        elif kind == "symbol":
            self._symbol(token["symbol"])

    # --- groups

    def _open(self) -> None:
        self._flush()
        self._to_skip = 0
        if len(self._outer) >= MAX_DEPTH:
            raise Unreadable(UnreadableKind.TOO_LARGE)
        self._outer.append(self._state)
        self._is_starred = False

    def _close(self) -> None:
        self._flush()
        self._to_skip = 0
        if len(self._outer) == self._in_font_table:
            self._in_font_table = 0
        self._state = self._outer.pop()
        self._is_starred = False

    def _enter(self, word: str) -> bool:
        """Enter a destination; return whether the word names one."""
        is_starred, self._is_starred = self._is_starred, False
        if word in _BEFORE or word in _BEHIND:
            story: list[str] | None = []
        elif word in _DROPPED or (is_starred and word not in _SHOWN):
            story = None
        else:
            return False
        self._flush()
        if self._state.story is None:  # within what is dropped
            return True
        self._state = replace(self._state, story=story)
        if story is not None:
            (self._before if word in _BEFORE else self._behind).append(story)
        return True

    # --- control words

    def _word(self, word: str, number: int | None) -> None:
        if word == "bin":
            self._skip_binary(number or 0)
        elif word == "u" and number is not None:
            self._add_unicode(number)
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word])
        elif self._enter(word):
            if word == "fonttbl":
                self._in_font_table = len(self._outer)
        else:
            self._property(word, number)

    def _skip_binary(self, count: int) -> None:
        if not 0 <= count <= len(self._data) - self._at:
            raise Unreadable(UnreadableKind.BROKEN)
        self._at += count

    def _property(self, word: str, number: int | None) -> None:
        if word in ("f", "fcharset", "cpg", "deff", "plain"):
            self._flush()
            self._set_font(word, number)
        elif word == "uc":
            self._state = replace(self._state, skipped=max(0, number or 0))
        elif word == "v":
            self._flush()
            self._state = replace(self._state, is_hidden=number != 0)
        elif word == "deleted":
            self._flush()
            self._state = replace(self._state, is_deleted=number != 0)
        elif word in _SETS or word == "ansicpg":
            self._flush()
            self._code_page = _SETS.get(word) or _code_page(number)

    def _set_font(self, word: str, number: int | None) -> None:
        if word == "plain":
            self._state = replace(
                self._state,
                font=self._default_font,
                is_hidden=False,
                is_deleted=False,
            )
        elif word == "deff":
            self._default_font = number
        elif word == "f" and not self._in_font_table:
            self._state = replace(self._state, font=number)
        elif word == "f":
            self._table_font = number or 0
        elif self._in_font_table and word == "cpg":
            self._charsets[self._table_font] = _code_page(number)
        elif self._in_font_table and number in _CHARSETS:
            self._charsets[self._table_font] = _CHARSETS[number]

    # --- text

    def _symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self._is_starred = True
        elif symbol in _SYMBOLS:
            self._add(_SYMBOLS[symbol])
        # Optional hyphens and index marks are not shown; others are unknown.

    def _add_unicode(self, number: int) -> None:
        code = number + 0x10000 if number < 0 else number
        if not 0 <= code < 0x110000:
            raise Unreadable(UnreadableKind.BROKEN)
        if code in _SYMBOL_FONT:  # how fonts of symbols name their characters
            code -= 0xF000
        self._add(chr(code))
        self._to_skip = self._state.skipped

    def _add(self, text: str) -> None:
        if self._to_skip:
            self._to_skip -= 1
            return
        self._flush()
        if self._is_shown and self._state.story is not None:
            self._state.story.append(text)

    def _add_raw(self, text: bytes) -> None:
        skipped = min(self._to_skip, len(text))
        self._to_skip -= skipped
        text = text[skipped:]
        if self._is_utf_8 and not text.isascii():
            self._add(text.decode(errors="replace"))
        elif self._is_shown:
            self._bytes += text

    def _add_bytes(self, value: bytes) -> None:
        if self._to_skip:
            self._to_skip -= 1
        elif self._is_shown:
            self._bytes += value

    @property
    def _is_shown(self) -> bool:
        state = self._state
        return state.story is not None and not state.is_hidden and not state.is_deleted

    def _flush(self) -> None:
        """Decode bytes; those of a character may be escaped only in part."""
        if not self._bytes or self._state.story is None:
            return
        font = self._default_font if self._state.font is None else self._state.font
        codec = self._code_page if font is None else self._charsets.get(font)
        try:
            self._state.story.append(self._bytes.decode(codec or self._code_page))
        except UnicodeDecodeError:
            raise Unreadable(UnreadableKind.BROKEN) from None
        self._bytes.clear()


def _code_page(number: int | None) -> str:
    name = _CODE_PAGES.get(number or 0, f"cp{number}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise Unreadable(UnreadableKind.UNKNOWN) from None


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _whole(text: str) -> str:
    """Return a text in which surrogates are paired."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
