"""Rules for numbers that are dialled inside a hospital: Safe Harbor (D).

Extensions, pagers, "call 4-5512".
"""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import UNIT, ends_with

from .phones import SEPARATOR

_FLAGS = re.VERBOSE | re.IGNORECASE
_UNIT = re.compile(UNIT, _FLAGS)
_CALL = (
    r"(?:call|phone|telephone|dial|paged?|paging|pg|beep(?:ed)?|bleep|ring|reach|ascom)"
)


def _has_no_unit(match: re.Match[str]) -> bool:
    return not _UNIT.match(match.string, match.end())


EXTENSION = Rule(
    name="phone_extension",
    label=Label.PHONE,
    # Four digits and more: "ext 30" is an extension in degrees, "x3" a count.
    pattern=LazyPattern(
        r"""
        (?<![a-z])ext(?:ension|n)?\.?[ ]?[:\#]?[ ]{0,2}
        (?P<phi>[0-9]{4,6})(?![\w%\u00b0])(?![.,/-][0-9])
        """,
        _FLAGS,
    ),
    score=0.8,
    is_valid=_has_no_unit,
    found=("ext «4512», extension: «30112», Extn «77123»",),
    not_found=("ext 30", "extension 1200 mg", "next 4512", "ext 4512.5"),
)

SHORT_EXTENSION = Rule(
    name="phone_extension_short",
    label=Label.PHONE,
    pattern=LazyPattern(
        r"x(?<![a-z]x)(?<!x[ ]x)(?<![0-9]x)(?<![0-9][ ]x)[0-9]{4,6}"
        r"(?![\w%\u00b0])(?![.,/-][0-9])",
        re.IGNORECASE,
    ),
    score=0.8,
    is_valid=lambda match: not _UNIT.match(match.string, match.end()),
    found=("at «x4512», Reading room «x6120».",),
    not_found=("x3, x 4512", "WBC 4.5 x1000", "vertex4512", "x4512.5"),
)

INTERNAL = Rule(
    name="phone_in_house",
    label=Label.PHONE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z]){_CALL}
        (?:[ ](?:me|us|him|her|them|the[ ](?:team|unit|desk|office)|on[- ]?call|back))?
        (?:[ ](?:at|on|@)|[ ]?[:\#@])?[ ]{{1,2}}
        (?P<phi>[2-9]-[0-9]{{4}}(?![\w%])(?![.,/-][0-9]))
        """,
        _FLAGS,
    ),
    score=0.85,
    is_valid=_has_no_unit,
    found=(
        "Please call «4-5512», page me at «5-1234», dial «7-0000».",
        "cards paged @ «2-0631», came",
    ),
    not_found=("call 4-5512 mg", "page 2-3", "recall 4-5512", "call 1-2 times"),
)

PAGE_AT = Rule(
    name="phone_page_at",
    label=Label.PHONE,
    pattern=LazyPattern(
        r"""
        (?<![a-z])(?:page|paged|beep|beeped)
        (?:[ ](?:me|us|him|her|them|resident|intern|team|on[- ]?call))?
        (?:[ ](?:at|on|@)[ ]|[ ]?\#[ ]?|[ ]?:[ ]?|[ ](?=[0-9]{5}(?![0-9])))
        (?P<phi>[0-9]{4,7})(?![\w%])(?![.,/:-][0-9])
        """,
        _FLAGS,
    ),
    score=0.8,
    is_valid=_has_no_unit,
    found=("page «12345», page on-call at «4567», beep #«77123»",),
    not_found=("page 12 of 30", "page 2024", "paged at 14:30", "paged at 12345 mL"),
)

PAGER = Rule(
    name="pager_labelled",
    label=Label.PHONE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?:pager|beeper|bleep|pgr|pg|voalte|ascom|vocera|spectralink|ext\.
          |extension(?=[ ]?[:\#]))
        {SEPARATOR}(?P<phi>[0-9]{{1,3}}-[0-9]{{3,5}}(?:-[0-9]{{4}})?|[0-9]{{3,7}})
        (?![0-9])(?![-/][0-9])(?![ ]?(?:deg|\u00b0|%|of[ ]|m[gl]))
        """,
        _FLAGS,
    ),
    score=0.9,
    found=(
        "pager «12345», beeper #«5-1234», ext. «4567»",
        "Extension: «30112», to Bui (pg «4470»), bleep «417», ascom «61903»",
    ),
    not_found=(
        "pg 2 of 12, 120 pg/mL, pg 100 of 240",
        "extension 120 degrees",
        "ext 30",
        "text. 4567",
        "ext. 120\u00b0",
    ),
)

_DIGIT_WORDS = "zero|oh|one|two|three|four|five|six|seven|eight|nine"

_DIGIT_WORD = re.compile(rf"\b(?:{_DIGIT_WORDS})[ ,-]{{1,2}}\Z", re.IGNORECASE)

SPELLED_NUMBER = Rule(
    name="phone_spelled_out",
    label=Label.PHONE,
    # Dictated: four digits in words and more; a count has fewer.
    pattern=LazyPattern(
        rf"""
        (?<![a-z-])(?P<phi>(?:{_DIGIT_WORDS})
          (?:(?:[ ]|-|,[ ])(?:{_DIGIT_WORDS}|double)){{3,14}})(?![a-z-])
        """,
        _FLAGS,
    ),
    score=0.75,
    is_valid=lambda match: not ends_with(_DIGIT_WORD, match.string, match.start()),
    found=("use «six six one two», or «five five five oh one four two»",),
    not_found=(
        "one or two",
        "two three-way stopcocks, one two three",
        "one two. three four",
    ),
)

RULES = (SPELLED_NUMBER, EXTENSION, SHORT_EXTENSION, INTERNAL, PAGE_AT, PAGER)
