"""A note as a reader sees it: without invisible characters, in compatibility forms.

A soft hyphen, a zero-width space or a control character inside a name hides it from
every pattern, and so do fullwidth letters.  Detection therefore works on a reading of
the note, whose spans lead back to the note; the note itself is never changed.

**Left out**: format characters (category Cf), all else that Unicode's
Default_Ignorable_Code_Point names (variation selectors, fillers, tags), controls that
are no white space, lone surrogates and noncharacters.

**Changed**: letters, digits and marks with a compatibility form (NFKC): fullwidth and
mathematical letters, ligatures; letters with their accents behind them, as one; decimal
digits of all scripts; spaces of any width, hyphens U+2010 and U+2011; vertical tab,
form feed, U+0085, U+2028 and U+2029 as line ends.  What is raised is read as digits in
runs of four or more alone: the 2 of "m\u00b2" must not become part of a number, nor
the half of "5\u00bd".  Ordinal signs, the micro sign, the ellipsis and accents that
stand alone stay as well.

**Two readings.**  A zero-width space or a control may be all that separates two words,
a soft hyphen may be a real one ("12\u00ad05\u00ad2019"), one at a line's end may have
been left there, and tags may spell something.  A note with such a place has a second
reading, in which all of them separate.  That some of a note's separate and others
split a word beside them is not considered.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain

_CONTROLS = "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
_UNPAIRED = "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
_TAGS = "\U000e0000-\U000e007f"
# Characters that never separate words, but for the tags above.
_INSIDE_WORDS = (
    "\u00ad\u034f\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200c\u200d\u2060-\u2064\u3164\ufe00-\ufe0f\uffa0"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0080-\U000e0fff"
)
_BETWEEN_WORDS = (
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2065-\u206f\ufeff\ufff0-\ufffb"
    f"{_CONTROLS}{_UNPAIRED}"
)
INVISIBLE = f"{_INSIDE_WORDS}{_BETWEEN_WORDS}{_TAGS}"
"""Inside of a pattern's set: what a reading leaves out."""

# Accents of Latin, Greek and Cyrillic; of kana; the later parts of Hangul syllables.
_ACCENTS = (
    "\u0300-\u034e\u0350-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)
_MARKS = f"{_ACCENTS}\u3099\u309a\u1161-\u11ff"
# Digits in superscript, subscript and circles; the signs of the first two.
_RAISED = (
    "\u00b2\u00b3\u00b9\u2070\u2074-\u207e\u2080-\u208e\u2460-\u2468\u2474-\u247c"
    "\u2488-\u2490\u24ea\u24f5-\u24fd\u24ff\u2776-\u277e\u2780-\u2788\u278a-\u2792"
)
_LINE_ENDS = "\x0b\x0c\x85\u2028\u2029"
_HYPHENS = "\u2010\u2011"
_SOFT_HYPHEN = "\u00ad"
_MINUS_SIGN = "\u2212"
_MICRO_SIGN = "\u00b5"

_ODD_IN_ASCII = bytes(c for c in range(128) if re.match(f"[{_CONTROLS}\v\f]", chr(c)))
_RUN_OF_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
_SEPARATES = re.compile(f"[{_BETWEEN_WORDS}]")
_TAG = re.compile(f"[{_TAGS}]")
_ACCENT = re.compile(f"[{_ACCENTS}]")
_MARK = re.compile(f"[{_MARKS}]")
_MARK_OR_INVISIBLE = re.compile(f"[{_MARKS}{INVISIBLE}]")
_RAISED_DIGITS = re.compile(f"[{_RAISED}]{{4,}}")
# Between these are Chinese characters, syllables, and what is of private use.
_WITH_FORMS = range(0x80, 0x3400), range(0xA600, 0xAC00), range(0xF900, 0x10000)
# A character with two marks: too short for four raised digits, which are a number.
_LONGEST_CACHED = 3
_CACHE_SIZE = 8_192


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a note, and the way back to it.

    Both texts are the same but for some ranges, which are given as four columns, in
    order.  Each range counts as a whole.

    Args:
        text: As a reader sees it.
        starts: Where such a range begins in the reading.
        ends: And where it ends; it may be empty.
        note_starts: Where it begins in the note.
        note_ends: And where it ends.
    """

    text: str = field(repr=False)
    starts: Sequence[int] = field(default=(), repr=False)
    ends: Sequence[int] = field(default=(), repr=False)
    note_starts: Sequence[int] = field(default=(), repr=False)
    note_ends: Sequence[int] = field(default=(), repr=False)

    def in_note(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the note for one of the reading that is not empty.

        Invisible characters inside of it are in it, those at its ends are not.

        Raises:
            ValueError: The reading has no such range.
        """
        if not 0 <= start < end <= len(self.text):
            raise ValueError(f"not a range of the reading: [{start}, {end})")
        first = moved(start, self.starts, self.ends, self.note_starts, self.note_ends)
        last = moved(end - 1, self.starts, self.ends, self.note_starts, self.note_ends)
        return first[0], last[1]

    def of_note(self, start: int, end: int) -> str:
        """Return how a range of the note that is not empty reads."""
        first = moved(start, self.note_starts, self.note_ends, self.starts, self.ends)
        last = moved(end - 1, self.note_starts, self.note_ends, self.starts, self.ends)
        return self.text[first[0] : last[1]]


def moved(
    at: int,
    starts: Sequence[int],
    ends: Sequence[int],
    other_starts: Sequence[int],
    other_ends: Sequence[int],
) -> tuple[int, int]:
    """Return the range of the other text for one character.

    Args:
        at: Where the character is.
        starts: Where ranges begin that both texts write differently.
        ends: And where they end.
        other_starts: Where they begin in the other text.
        other_ends: And where they end there.
    """
    row = bisect_right(starts, at) - 1
    if row < 0:
        return at, at + 1
    if at < ends[row]:
        return other_starts[row], other_ends[row]
    other = other_ends[row] + at - ends[row]
    return other, other + 1


def readings_of(text: str) -> tuple[Reading, ...]:
    """Return how a text may be read: in one way, or in two.

    In the first, what is invisible is nothing; in the second, where there is one, it
    separates what stands on both sides.  A text that reads as it is written is the
    very same object in its reading.
    """
    if text.isascii() and len(text.encode().translate(None, _ODD_IN_ASCII)) == len(
        text
    ):
        return (Reading(text),)
    reading, may_separate = _read(text, separated=False)
    if not may_separate:
        return (Reading(text),) if reading.text == text else (reading,)
    return reading, _read(text, separated=True)[0]


def widened(
    text: str, start: int, end: int, *, within: tuple[int, int]
) -> tuple[int, int]:
    """Return a range together with the invisible characters that touch it.

    Args:
        text: The note.
        start: Of the range.
        end: Of the range.
        within: The range that it may grow to.
    """
    least, most = within
    behind = _RUN_OF_INVISIBLE.match(text, end, most)
    while start > least and _RUN_OF_INVISIBLE.match(text, start - 1, start):
        start -= 1
    return start, behind.end() if behind else end


def is_visible(text: str) -> bool:
    """Return whether a text has no invisible characters."""
    return _RUN_OF_INVISIBLE.search(text) is None


def _read(text: str, *, separated: bool) -> tuple[Reading, bool]:
    """Return one reading, and whether there is another."""
    pieces: list[str] = []
    starts, ends, note_starts, note_ends = (array("q") for _ in range(4))
    size = cursor = 0
    may_separate = False
    for found in _not_plain().finditer(text):
        start, end = found.span()
        if start > cursor and _has_no_base(found[0]):
            start -= 1
        piece = text[start:end]
        seen = _seen(piece) if end - start <= _LONGEST_CACHED else _reads(piece)
        if end - start > 1 or not seen:
            before = seen[-1:] or text[max(0, start - 1) : start]
            separator = _separator(piece, before, text[end : end + 1])
            may_separate = may_separate or bool(separator)
            seen += separator if separated else ""
        pieces += text[cursor:start], seen
        at = size + start - cursor
        size, cursor = at + len(seen), end
        if not end - start == len(seen) == 1:
            starts.append(at)
            ends.append(size)
            note_starts.append(start)
            note_ends.append(end)
    pieces.append(text[cursor:])
    reading = Reading("".join(pieces), starts, ends, note_starts, note_ends)
    return reading, may_separate


@cache
def _not_plain() -> re.Pattern[str]:
    """Return the pattern of a character that may read otherwise, and what goes with it.

    Marks and invisible characters behind it; a soft hyphen's line end; raised digits.
    """
    characters = map(chr, chain(*_WITH_FORMS))
    formed = "".join(c for c in characters if _may_be_formed(c) and _form(c) != c)
    # Beyond the first 65,536 sets are slow: all of these are asked one by one.
    one = f"[{formed}{_RAISED}{_MARKS}{INVISIBLE}{_LINE_ENDS}\U00010000-\U0010ffff]"
    return re.compile(
        rf"{one}(?:(?<=[{_RAISED}])[{_RAISED}{INVISIBLE}]{{3,}}+)?[{_MARKS}{INVISIBLE}]*+"
        r"(?:(?<=[^\W\d_]\u00ad)[ \t]*+\r?\n[ \t]*+(?=[^\W\d_]))?"
    )


def _has_no_base(piece: str) -> bool:
    """Return whether a piece begins with a mark that belongs to what is before it."""
    return bool(_MARK_OR_INVISIBLE.match(piece) and _MARK.search(piece))


def _reads(piece: str) -> str:
    """Return how a character with its marks and invisible characters reads."""
    if _is_hyphenated(piece):
        piece = piece.rstrip(" \t\r\n")
    bare = _RUN_OF_INVISIBLE.sub("", piece)
    if _RAISED_DIGITS.match(bare):
        bare = "".join(map(_lowered, bare))
    elif bare:
        bare = _form(bare[0]) + bare[1:]
    if bare.isascii():
        return bare
    # What no letter takes up (a line through it) is no part of the word.
    return _ACCENT.sub("", unicodedata.normalize("NFC", bare))


_seen = lru_cache(maxsize=_CACHE_SIZE)(_reads)


def _is_hyphenated(piece: str) -> bool:
    """Return whether a piece ends with a soft hyphen's line end."""
    return _SOFT_HYPHEN in piece and piece[-1] in " \t\n"


def _may_be_formed(character: str) -> bool:
    """Return False for most characters that `_form` leaves as they are, quickly."""
    if unicodedata.is_normalized("NFKC", character):
        return character in _HYPHENS or unicodedata.category(character) in {"Nd", "Zs"}
    return True


def _form(character: str) -> str:
    """Return the compatibility form of a character, or itself where it keeps it."""
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Zs" or character in _LINE_ENDS:
        return " " if category == "Zs" else "\n"
    if character in _HYPHENS:
        return "-"
    if category == "No" or character == _MICRO_SIGN:
        return character
    kind = unicodedata.decomposition(character).partition(" ")[0]
    if kind in {"<super>", "<sub>"} and category != "Lm":
        return character
    form = unicodedata.normalize("NFKC", character)
    is_mark = len(form) == 1 and form.isascii()
    return form if is_mark or any(map(str.isalnum, form)) else character


def _lowered(raised: str) -> str:
    """Return a raised digit or sign as a plain one."""
    digit = unicodedata.digit(raised, None)
    if digit is not None:
        return str(digit)
    return unicodedata.normalize("NFKC", raised).replace(_MINUS_SIGN, "-")


def _separator(piece: str, before: str, after: str) -> str:
    """Return what the invisible characters of a piece are if they separate words."""
    if _TAG.search(piece):
        return f" {''.join(chr(ord(tag) & 0x7F) for tag in _TAG.findall(piece))} "
    if _is_hyphenated(piece):
        return "\n"
    if not before or not after or before.isspace() or after.isspace():
        return ""
    if _SEPARATES.search(piece):
        return " "
    # Hyphenation goes on in small letters: "12\u00ad05\u00ad2019" has real hyphens.
    is_hyphen = _SOFT_HYPHEN in piece and before.isalnum() and after.isalnum()
    return "-" if is_hyphen and not after.islower() else ""
