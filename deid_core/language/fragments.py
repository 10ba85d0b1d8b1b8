"""Pieces that the patterns of several rules are built from.

Patterns see folded text (`to_ascii`), so a piece writes one dash, one space and one
apostrophe for all of Unicode's.  Pieces never cross a line: they say ``[ \\t]``, not
``\\s``.  All of them are for verbose patterns, where a plain space means nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from .lexicons.lists import load_rows

_APOSTROPHES = "\u2018\u2019\u02bc\u00b4\u2032"
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def to_ascii(text: str) -> str:
    """Return the text with ASCII letters, digits, dashes, spaces and apostrophes.

    Each code point becomes exactly one, so offsets stay what they were: ``Ł`` becomes
    ``L``, and a letter of another alphabet any letter of its case.  Caseless letters
    (Chinese, Arabic) count as capitals: they may open a name.
    """
    if text.isascii():
        return text
    return _NOT_ASCII.sub(lambda found: _character_to_ascii(found[0]), text)


@cache
def _character_to_ascii(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if character in _APOSTROPHES:
        return "'"
    if "\uff01" <= character <= "\uff5e":
        return chr(ord(character) - 0xFEE0)
    if character.isalpha():
        return _letter_to_ascii(character)
    # A combining accent is folded to a letter, so that it does not end its word.
    return {"Pd": "-", "Zs": " ", "Mn": "e", "Mc": "e"}.get(category, character)


def _letter_to_ascii(letter: str) -> str:
    base = unicodedata.normalize("NFKD", letter)[0]
    if base.isascii() and base.isalpha():
        return base
    return "o" if letter.islower() else "O"


def ends_with(cue: re.Pattern[str], text: str, end: int, *, within: int = 32) -> bool:
    """Return whether the cue, which ends in ``\\Z``, ends right before ``end``."""
    return cue.search(text, max(0, end - within), end) is not None


def same_length_lower(text: str) -> str:
    """Return the text in lower case where that keeps every character at its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def words(text: str) -> tuple[str, ...]:
    """Return the words of a space-separated list: lists stay diffable as text."""
    return tuple(text.split())


def any_of(listed: Iterable[str]) -> str:
    """Return a pattern for the words that shares their beginnings: it fails fast.

    With `load_list`, a pattern is built from a list: ``any_of(load_list("kin"))``.
    """
    branches, is_optional = _branches(sorted(set(listed)))
    return f"(?:{'|'.join(branches)})" + "?" * is_optional if branches else ""


def _branches(listed: Iterable[str]) -> tuple[list[str], bool]:
    """Return a pattern for each first letter, and whether one of the words is empty."""
    by_letter: dict[str, list[str]] = {}
    for word in listed:
        by_letter.setdefault(word[:1], []).append(word[1:])
    is_optional = by_letter.pop("", None) is not None
    return [re.escape(each) + _end(by_letter[each]) for each in by_letter], is_optional


def _end(listed: list[str]) -> str:
    branches, is_optional = _branches(listed)
    # A group for each letter compiles to the same, in four times the time.
    if len(branches) == 1 and not is_optional:
        return branches[0]
    return f"(?:{'|'.join(branches)})" + "?" * is_optional if branches else ""


MONTHS = tuple(row[0] for row in load_rows("months"))
"""The names of the months in order."""
MONTH_WORDS = tuple(word for row in load_rows("months") for word in row)
"""The names of the months and their short forms."""
WEEKDAYS = tuple(row[0] for row in load_rows("weekdays"))
"""The names of the days of the week, from Monday."""
WEEKDAY_WORDS = tuple(word for row in load_rows("weekdays") for word in row)
"""The names of the days of the week and their short forms."""
MONTH_NAME = rf"(?:{any_of(MONTH_WORDS)}(?![a-z]))"
# A full stop belongs to a short form alone: "4 May." ends a sentence.
MONTH = rf"(?:{any_of(MONTHS)}(?![a-z])|{MONTH_NAME}\.?)"
WEEKDAY = r"""
    (?:(?:mon|tues|wednes|thurs|fri|satur|sun)day
      |(?-i:Mon|Tues?|Wed|Thur?s?|Fri|Sat|Sun|MON|TUE|WED|THU|FRI|SAT|SUN)(?![a-z]))
"""
YEAR = r"(?:(?:1[89]|2[01])[0-9]{2}(?![0-9]))"
DAY = r"(?:(?:3[01]|[12][0-9]|0?[1-9])(?:[ ]?(?:st|nd|rd|th)(?![a-z]))?(?![0-9]))"
TIME = r"""
    (?:(?:T|[ ]|,[ ]|[ ]at[ ]|[ ]@[ ]?)
       (?:(?:[01]?[0-9]|2[0-4]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?
            (?:[ ]?[ap]\.?m\b\.?)?
         |(?:[01][0-9]|2[0-3])[0-5][0-9][ ]?(?:h|hrs|hours)\b
         |(?<=@[ ])(?:[01][0-9]|2[0-3])[0-5][0-9](?![0-9])
         |(?:1[0-2]|0?[1-9])[ ]?[ap]\.?m\b\.?)
       (?:Z\b|[ ]?[+-][0-9]{2}:?[0-9]{2}(?![0-9])|[ ](?:UTC|GMT|[ECMP][SD]T)\b)?)
"""
# The time of day is no element of a date; only where a date runs into it, it goes too.
JOINED_TIME = r"""
    (?:T(?:[01]?[0-9]|2[0-4]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?
       (?:Z\b|[+-][0-9]{2}:?[0-9]{2}(?![0-9]))?)
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
    (?:A[KLRZ]|C[AOT]|D[CE]|F[LM]|G[AU]|HI|I[ADLN]|K[SY]|LA|M[ADEHINOPST]
      |N[CDEHJMVY]|O[HKR]|P[ARW]|RI|S[CD]|T[NX]|UT|V[AIT]|W[AIVY]
      |Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida
      |Georgia|Hawaii|Idaho|Illinois|Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine
      |Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska
      |Nevada|New[ ]Hampshire|New[ ]Jersey|New[ ]Mexico|New[ ]York|North[ ]Carolina
      |North[ ]Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|Puerto[ ]Rico|Rhode[ ]Island
      |South[ ]Carolina|South[ ]Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington
      |West[ ]Virginia|Wisconsin|Wyoming)
"""
ZIP = r"[0-9]{5}(?:-[0-9]{4})?(?![0-9-])"
