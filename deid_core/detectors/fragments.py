"""Pieces that the patterns of several rules are built from.

Patterns see folded text (`fold`), so a piece writes one dash, one space and one
apostrophe for all of Unicode's.  Pieces never cross a line: they say ``[ \\t]``, not
``\\s``.  All of them are for verbose patterns, where a plain space means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63"
_SPACES = "\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_APOSTROPHES = "\u2018\u2019\u02bc\u00b4\u2032"
_FULL_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_DIGITS = {
    code: str(int(chr(code))) for code in range(0x660, 0x10000) if chr(code).isdecimal()
}
_FOLD = {
    **_FULL_WIDTH,
    **_DIGITS,
    **dict.fromkeys(map(ord, _DASHES), "-"),
    **dict.fromkeys(map(ord, _SPACES), " "),
    **dict.fromkeys(map(ord, _APOSTROPHES), "'"),
}

_FOLDABLE = re.compile(f"[{re.escape(''.join(map(chr, _FOLD)))}]")


def fold(text: str) -> str:
    """Return the text with one dash, space, apostrophe and set of digits.

    Each code point becomes exactly one, so offsets stay what they were.
    """
    if text.isascii() or not _FOLDABLE.search(text):
        return text
    return text.translate(_FOLD)


def lower(text: str) -> str:
    """Return the text in lower case, code point by code point (``İ`` becomes two)."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def ends_with(cue: re.Pattern[str], text: str, end: int, *, within: int = 32) -> bool:
    """Return whether the cue, which ends in ``\\Z``, stands right before ``end``."""
    return cue.search(text, max(0, end - within), end) is not None


def words(text: str) -> tuple[str, ...]:
    """Return the words of a space-separated list: lists stay diffable as text."""
    return tuple(text.split())


def _ranges(is_member: Callable[[str], bool]) -> str:
    codes = [code for code in range(0x41, 0x2000) if is_member(chr(code))]
    starts = [code for code in codes if not is_member(chr(code - 1))]
    ends = [code for code in codes if not is_member(chr(code + 1))]
    return "".join(
        f"{chr(a)}-{chr(b)}" for a, b in zip(starts, ends, strict=True)
    ).replace("\u1fff", "\u1ffe")


# Caseless scripts (CJK, Hangul, Arabic) count as upper case: they may open a name.
_CASELESS_PLANE = "\u2c60-\u2c7f\u3041-\ud7a3"
LETTER = _ranges(lambda c: c.isalpha() or "\u0300" <= c <= "\u036f") + _CASELESS_PLANE
UPPER = _ranges(lambda c: c.isalpha() and not c.islower()) + _CASELESS_PLANE
LOWER = _ranges(str.islower)

MONTH_WORDS = words(
    """
    jan january feb febr february mar march apr april may jun june jul july aug august
    sep sept september oct october nov november dec december
    """
)
MONTH_NAME = r"""
    (?:jan(?:uary)?|feb(?:r(?:uary)?)?|mar(?:ch)?|apr(?:il)?|may|june?|july?
      |aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)
    (?![a-z])
"""
MONTH = rf"(?:{MONTH_NAME}\.?)"
YEAR = r"(?:(?:1[89]|2[01])[0-9]{2}(?![0-9]))"
DAY = r"(?:(?:3[01]|[12][0-9]|0?[1-9])(?:[ ]?(?:st|nd|rd|th)(?![a-z]))?(?![0-9]))"
TIME = r"""
    (?:(?:T|[ ]|,[ ]|[ ]at[ ]|[ ]@[ ]?)
       (?:(?:[01]?[0-9]|2[0-4]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?
            (?:[ ]?[ap]\.?m\b\.?)?
         |(?:[01][0-9]|2[0-3])[0-5][0-9][ ]?(?:h|hrs|hours)\b
         |(?:1[0-2]|0?[1-9])[ ]?[ap]\.?m\b\.?)
       (?:Z\b|[ ]?[+-][0-9]{2}:?[0-9]{2}(?![0-9])|[ ](?:UTC|GMT|[ECMP][SD]T)\b)?)
"""
# No single letters: "1/2/24 L knee" is a date and a left knee.
UNIT = r"""
    (?:[ \t]?(?:-[ ]?)?(?:mg|mcg|ug|kg|gm|grams?|ml|dl|cc|cm|mm|mmhg|meq|mmol|units?|iu
      |%|hours?|hrs?|minutes?|mins?|seconds?|secs?|days?|weeks?|wks?|months?|years?|yrs?
      |tablets?|tabs?|capsules?|caps?|pills?|bpm|lbs?|pounds?|inch(?:es)?|degrees?
      |puffs?|drops?|times|cycles?|doses?|pain|scale|strength|reps|sets|packs?|french
      |fr|liters?|copies|cells|cfu|beats)(?![a-z]))
"""
STATE = r"""
    (?:A[KLRZ]|C[AOT]|D[CE]|FL|G[AU]|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]
      |P[AR]|RI|S[CD]|T[NX]|UT|V[AIT]|W[AIVY]
      |Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida
      |Georgia|Hawaii|Idaho|Illinois|Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine
      |Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska
      |Nevada|New[ ]Hampshire|New[ ]Jersey|New[ ]Mexico|New[ ]York|North[ ]Carolina
      |North[ ]Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|Puerto[ ]Rico|Rhode[ ]Island
      |South[ ]Carolina|South[ ]Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington
      |West[ ]Virginia|Wisconsin|Wyoming)
"""
ZIP = r"[0-9]{5}(?:-[0-9]{4})?(?![0-9-])"
