"""Links of the Link Grammar Parser, where it is installed (Sleator and Temperley 1993).

There is no wheel: Debian's ``liblink-grammar5`` and ``link-grammar-dictionaries-en``
are called through ctypes.  They parse some 200 short sentences a second; a sentence
that takes longer than `_SECONDS` has no links.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import CDLL
from ctypes.util import find_library
from functools import cache, lru_cache
from string import ascii_lowercase
from threading import Lock
from typing import NamedTuple

from deid_core.errors import ConfigError

LONGEST = 40
"""Words of a sentence; longer ones take seconds to parse and have no links."""
NEAREST = 2
"""Tafvizi and Pacula, 4.3.1: "the two most immediate left and right"."""
_LIBRARIES = ("liblink-grammar.so.5", "liblink-grammar.dylib")
_SECONDS = 1
_SENTENCES = 65_536
_LOCK = Lock()

Links = tuple[tuple[str, ...], ...]


def links_of(words: Sequence[str], language: str) -> Links:
    """Return the nearest links of each word: side, rank, kind and the other word.

    Raises:
        ConfigError: The parser or its dictionary is not installed.
    """
    return _links(tuple(words), language)


class _Link(NamedTuple):
    left: int
    right: int
    kind: str


@lru_cache(maxsize=_SENTENCES)
def _links(words: tuple[str, ...], language: str) -> Links:
    parser = _parser(language)
    if len(words) > LONGEST:
        return ((),) * len(words)
    with _LOCK:
        links = parser.links(words)
    return tuple(
        (*_nearest(at, words, links, -1), *_nearest(at, words, links, 1))
        for at in range(len(words))
    )


def _nearest(
    at: int, words: Sequence[str], links: Sequence[_Link], side: int
) -> list[str]:
    if side < 0:
        others = [(each.left, each.kind) for each in links if each.right == at]
    else:
        others = [(each.right, each.kind) for each in links if each.left == at]
    others.sort(key=lambda other: (abs(other[0] - at), other[1]))
    name = "L" if side < 0 else "R"
    return [
        f"{name}{rank} {kind} {words[place].lower()}"
        for rank, (place, kind) in enumerate(others[:NEAREST], start=1)
    ]


@cache
def _parser(language: str) -> _Parser:
    names = (find_library("link-grammar"), *_LIBRARIES)
    for name in filter(None, names):
        try:
            return _Parser(CDLL(name), language)
        except OSError:
            continue
    raise ConfigError(
        "feature syntactic_bigrams: Link Grammar is not installed; apt-get install "
        "link-grammar link-grammar-dictionaries-en, or leave the group out"
    )


class _Parser:
    """The library, with the types of its functions."""

    def __init__(self, library: CDLL, language: str) -> None:
        self._library = library
        pointers = ("dictionary_create_lang", "parse_options_create", "sentence_create")
        for name in (*pointers, "linkage_create"):
            getattr(library, name).restype = ctypes.c_void_p
        for name in ("linkage_get_link_label", "linkage_get_word"):
            getattr(library, name).restype = ctypes.c_char_p
        for name in ("linkage_get_link_lword", "linkage_get_link_rword"):
            getattr(library, name).restype = ctypes.c_size_t
        for name in ("linkage_get_word_char_start", "linkage_get_num_links"):
            getattr(library, name).restype = ctypes.c_size_t
        # Its messages quote what it reads.
        library.lg_error_set_handler(None, None)
        self._options = ctypes.c_void_p(library.parse_options_create())
        self._set("verbosity", 0)
        self._set("max_parse_time", _SECONDS)
        self._set("spell_guess", 0)
        self._set("repeatable_rand", 1)
        # With fewer the parser samples; the first of all linkages is the best.
        self._set("linkage_limit", 100)
        self._dictionary = ctypes.c_void_p(
            library.dictionary_create_lang(language.encode())
        )
        if not self._dictionary:
            raise ConfigError(
                f"feature syntactic_bigrams: Link Grammar has no dictionary for "
                f"language {language!r}; leave the group out"
            )

    def _set(self, option: str, value: int) -> None:
        getattr(self._library, f"parse_options_set_{option}")(self._options, value)

    def links(self, words: Sequence[str]) -> list[_Link]:
        """Return the links of the best linkage, between words by their numbers."""
        text = " ".join(words)
        if "\0" in text:
            return []
        sentence = ctypes.c_void_p(
            self._library.sentence_create(text.encode(), self._dictionary)
        )
        try:
            return self._best(sentence, words) if self._parse(sentence) else []
        finally:
            self._library.sentence_delete(sentence)

    def _parse(self, sentence: ctypes.c_void_p) -> bool:
        # As in the parser's own command, words have no links only if necessary.
        for least, most in ((0, 0), (1, LONGEST)):
            self._set("min_null_count", least)
            self._set("max_null_count", most)
            self._library.parse_options_reset_resources(self._options)
            if self._library.sentence_parse(sentence, self._options) > 0:
                return True
        return False

    def _best(self, sentence: ctypes.c_void_p, words: Sequence[str]) -> list[_Link]:
        library = self._library
        linkage = ctypes.c_void_p(
            library.linkage_create(ctypes.c_size_t(0), sentence, self._options)
        )
        if not linkage:
            return []
        number_at = _numbers(words)
        found = []
        for index in range(library.linkage_get_num_links(linkage)):
            at = ctypes.c_size_t(index)
            left = self._number(
                linkage, library.linkage_get_link_lword(linkage, at), number_at
            )
            right = self._number(
                linkage, library.linkage_get_link_rword(linkage, at), number_at
            )
            if left is not None and right is not None and left != right:
                kind = library.linkage_get_link_label(linkage, at).decode()
                # Small letters and stars are subtypes: Ss*s is a kind of S.
                found.append(_Link(left, right, kind.rstrip("*" + ascii_lowercase)))
        library.linkage_delete(linkage)
        return found

    def _number(
        self, linkage: ctypes.c_void_p, word: int, number_at: dict[int, int]
    ) -> int | None:
        """Return the number of the sentence's word that a word of the linkage is."""
        at = ctypes.c_size_t(word)
        text = self._library.linkage_get_word(linkage, at)
        if text is None or text.endswith(b"-WALL"):
            return None
        return number_at.get(self._library.linkage_get_word_char_start(linkage, at))


def _numbers(words: Sequence[str]) -> dict[int, int]:
    """Return the number of the word at each character of their joined text."""
    found: dict[int, int] = {}
    start = 0
    for number, word in enumerate(words):
        found.update(dict.fromkeys(range(start, start + len(word)), number))
        start += len(word) + 1
    return found
