"""Identify the language of a note, where a preset does not read it.

Words of grammar and common words of clinical notes (``lexicons/languages.toml``) are
counted for all languages in one pass.  A note is in another language where that has
more of them than the languages that are read, by a margin, and several that those do
not have: names, drugs, addresses, a short quotation or a line of another language are
not enough.  Where a note is too short to have several, the rest of its words must not
be English either.  A long quotation is judged as a note of its own.  Letters that are
not Latin show the language by themselves.

A few slices of most notes show that they are in a language that is read.  Only a note
of which they leave it open is counted as a whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Set
from dataclasses import dataclass
from functools import cache, lru_cache

from deid_core.errors import OtherLanguage
from deid_core.runtime.toml_files import refuse_unknown, table_of

from .lexicons.normal import normal
from .lexicons.vocabulary import is_vocabulary


@dataclass(frozen=True, slots=True)
class Language:
    """A language, or the languages of a script.

    Args:
        tag: BCP 47; ``und`` for a language that is unknown.
        name: For messages.
    """

    tag: str
    name: str


UNKNOWN = Language("und", "an unknown language")

_WORD = re.compile(r"[^\W\d_]{2,}")
_QUOTATION = re.compile(
    '["\u201c\u00ab][^"\u201c\u201d\u00ab\u00bb]{1,400}["\u201d\u00bb]'
)
# What is between two marks in a row: one that is an inch must not hide the next.
_LONG_QUOTATION = re.compile(
    '["\u201c\u00ab](?=([^"\u201c\u201d\u00ab\u00bb]{100,4000})["\u201d\u00bb])'
)
_QUOTATION_MARKS = ('"', "\u201c", "\u00ab")
_NO_LATIN = r"\W\d_\u0000-\u036f\u1e00-\u1eff\u2c60-\u2c7f\ua720-\ua7ff"
_OTHER_LETTER = re.compile(f"[^{_NO_LATIN}]")
_LATIN_LETTER = re.compile(r"[^\W\d_\u0370-\u1dff\u1f00-\U0010ffff]")

_SLICES, _SLICE = 6, 120
# In slices: the least share of words that are read, and how many that are not may
# come on each of them.
_CLEAR_SHARE, _CLEAR_OTHERS = 0.1, 0.15
# In a note: how many words of another language for each word that is read, and how
# many different ones that are not read.
_MARGIN, _LEAST_DIFFERENT = 0.6, 4
# A text of as many words, with fewer of any known language and fewer that English text
# ever holds (a list of drugs or results has those), is in an unknown language.
_LEAST_WORDS, _LEAST_SHARE, _LEAST_ENGLISH = 25, 0.1, 0.45
_ENGLISH = "en"
# What a note with fewer different words than those must have: so many words, how many
# of another language for each that is read, and, by the different ones, less English.
_FEW_WORDS, _FEW_MARGIN = 6, 2
_FEW_ENGLISH = {2: 0.65, 3: 0.8}
# The least share of a note that is not quoted: an export may quote whole notes.
_LEAST_UNQUOTED = 0.33

_CYRILLIC = Language("und-Cyrl", "Russian or another language in Cyrillic letters")
_ARABIC = Language("und-Arab", "Arabic or another language in Arabic letters")
_INDIC = Language("und-Deva", "Hindi or another language in Devanagari letters")
# By the first word of the letters' names in Unicode.
_SCRIPTS = {
    "CYRILLIC": (_CYRILLIC, {"be", "bg", "kk", "mk", "ru", "sr", "uk"}),
    "GREEK": (Language("el", "Greek"), {"el"}),
    "ARABIC": (_ARABIC, {"ar", "fa", "ps", "ur"}),
    "HEBREW": (Language("he", "Hebrew"), {"he", "yi"}),
    "DEVANAGARI": (_INDIC, {"hi", "mr", "ne"}),
    "THAI": (Language("th", "Thai"), {"th"}),
    "CJK": (Language("zh", "Chinese"), {"zh"}),
    "KANA": (Language("ja", "Japanese"), {"ja"}),
    "HANGUL": (Language("ko", "Korean"), {"ko"}),
}
_KANA = {"HIRAGANA", "KATAKANA"}
# How many letters of a Latin word one of these characters is worth.
_WEIGHTS = {"CJK": 3, "KANA": 3, "HANGUL": 3}
_LEAST_LETTERS = 8


class LanguageCheck:
    """Find notes that are in none of the languages that are read.

    Args:
        read: Tags of `known_languages`.

    Raises:
        ConfigError: One of them is unknown.
    """

    def __init__(self, read: Collection[str]) -> None:
        refuse_unknown(read, known_languages(), "languages: language")
        self._read = frozenset(read)
        self._languages, self._masks = _tables()
        self._mask = sum(
            1 << place
            for place, each in enumerate(self._languages)
            if each.tag in self._read
        )
        masks = self._masks.items()
        self._read_words = {word for word, mask in masks if mask & self._mask}
        self._other_words = self._masks.keys() - self._read_words

    def other(self, text: str) -> Language | None:
        """Return the language of a text if it is surely one that is not read."""
        if not text.isascii() and (script := _script(text)) is not None:
            language, written = script
            return None if self._read & written else language
        if not self._is_clearly_read(text):
            found = self._by_words(text)
            if found is not None and not self._quotes(text):
                return found
        return self._quoted(text)

    def refusal(self, language: Language) -> OtherLanguage:
        """Return the error that refuses a text in a language."""
        read = " and ".join(map(_name_of, sorted(self._read)))
        return OtherLanguage(
            f"the note is in {language.name}, the preset reads {read}: use another "
            'preset for such notes, or one with other_languages = "mark" to scrub them '
            "all the same"
        )

    def _is_clearly_read(self, text: str) -> bool:
        """Return whether slices of a text are in a language that is read."""
        if len(text) > 2 * _SLICES * _SLICE:
            step = len(text) // _SLICES
            text = " ".join(
                [text[at : at + _SLICE] for at in range(0, len(text), step)]
            )
        words = text.lower().split()
        read = sum(map(self._read_words.__contains__, words))
        others = sum(map(self._other_words.__contains__, words))
        return read >= _CLEAR_SHARE * len(words) and others <= _CLEAR_OTHERS * read

    def _by_words(self, text: str) -> Language | None:
        words = _words_of(text)
        counts = self._counts(words)
        read = self._read_in(counts)
        most, found, bit = 0, UNKNOWN, 0
        for place, each in enumerate(self._languages):
            number = sum(n for mask, n in counts.items() if mask >> place & 1)
            if number > most and each.tag not in self._read:
                most, found, bit = number, each, 1 << place
        if max(read, most) < _LEAST_SHARE * len(words) and self._is_unknown(words):
            return UNKNOWN
        # Words that both have say nothing.
        both = sum(n for mask, n in counts.items() if mask & bit and mask & self._mask)
        if most - both < _MARGIN * (read - both):
            return None
        masks = [self._masks.get(word, 0) for word in {*words}]
        different = sum(1 for mask in masks if mask & bit and not mask & self._mask)
        if different >= _LEAST_DIFFERENT:
            return found
        share = _FEW_ENGLISH.get(different, 0)
        is_clear = most - both >= _FEW_MARGIN * (read - both)
        return (
            found if is_clear and self._is_unknown(words, _FEW_WORDS, share) else None
        )

    def _is_unknown(
        self, words: list[str], least: int = _LEAST_WORDS, share: float = _LEAST_ENGLISH
    ) -> bool:
        """Return whether a text with little grammar is more than tables of English.

        Args:
            words: All of them.
            least: Of so many words.
            share: English has fewer of the different ones.
        """
        different = {*words}
        in_english = sum(is_vocabulary(normal(word)) for word in different)
        return (
            _ENGLISH in self._read
            and len(words) >= least
            and in_english < share * len(different)
        )

    def _quotes(self, text: str) -> bool:
        """Return whether a text that is read quotes what is not."""
        rest = _QUOTATION.sub(" ", text)
        if rest == text or self._by_words(rest) is not None:
            return False
        words = _words_of(rest)
        is_enough = len(words) >= _LEAST_UNQUOTED * len(_words_of(text))
        return is_enough and self._read_in(self._counts(words)) >= _LEAST_DIFFERENT

    def _quoted(self, text: str) -> Language | None:
        """Return the language of a long quotation that is in none that is read."""
        if not any(mark in text for mark in _QUOTATION_MARKS):
            return None
        for each in _LONG_QUOTATION.findall(text):
            if len(_words_of(each)) < _LEAST_WORDS or self._is_clearly_read(each):
                continue
            found = self._by_words(each)
            if found is not None and found is not UNKNOWN:
                return found
        return None

    def _counts(self, words: list[str]) -> Counter[int]:
        """Return how many words each set of languages has."""
        masks = self._masks
        return Counter(masks[word] for word in words if word in masks)

    def _read_in(self, counts: Counter[int]) -> int:
        return sum(number for mask, number in counts.items() if mask & self._mask)


def _words_of(text: str) -> list[str]:
    # The small form of this letter has a mark of its own, which is no letter.
    dotted = text.replace("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}", "i")
    return _WORD.findall(dotted.lower())


def known_languages() -> list[str]:
    """Return the tags of the languages that a preset may read."""
    latin = [each.tag for each in _tables()[0]]
    others = set().union(*(written for _, written in _SCRIPTS.values()))
    return sorted({*latin, *others})


def _name_of(tag: str) -> str:
    """Return the English name of a language of `known_languages`, for messages."""
    named = [*_tables()[0], *(each for each, _ in _SCRIPTS.values())]
    return next((each.name for each in named if each.tag == tag), tag)


@cache
def _tables() -> tuple[tuple[Language, ...], dict[str, int]]:
    """Return the languages in Latin letters, and by word which of them have it.

    A word counts without its accents, too.
    """
    table = table_of("deid_core.language.lexicons", "languages")
    masks: dict[str, int] = {}
    for place, each in enumerate(table.values()):
        for word in each["words"].split():
            dotted = word.replace("\N{LATIN SMALL LETTER DOTLESS I}", "i")
            for form in {word, dotted, normal(word)}:
                masks[form] = masks.get(form, 0) | 1 << place
    return tuple(Language(tag, each["name"]) for tag, each in table.items()), masks


def _script(text: str) -> tuple[Language, Set[str]] | None:
    """Return the script of a text that is mainly in other than Latin letters."""
    # Each of those takes two bytes or more in UTF-8.
    if (len(text.encode("utf-8", "replace")) - len(text)) * 5 < len(text):
        return None
    names = Counter(map(_script_of, _OTHER_LETTER.findall(text)))
    if not names:
        return None
    weight = sum(number * _WEIGHTS.get(name, 1) for name, number in names.items())
    if weight < _LEAST_LETTERS or weight <= len(_LATIN_LETTER.findall(text)):
        return None
    [(name, _)] = names.most_common(1)
    # Japanese has Chinese characters, Chinese has no kana.
    if name == "CJK" and names["KANA"] * 10 > names["CJK"]:
        name = "KANA"
    return _SCRIPTS.get(name, (UNKNOWN, frozenset()))


@lru_cache(maxsize=1024)
def _script_of(letter: str) -> str:
    name = unicodedata.name(letter, "").partition(" ")[0]
    return "KANA" if name in _KANA else name
