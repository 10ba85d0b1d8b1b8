"""Rules for numbers inside a house, and for those in letters: Safe Harbor (D).

Extensions, pagers, "call 4-5512", 555-01xx without an area code, 1-800-FLOWERS.
"""

from __future__ import annotations

import re

from deid_core.labels import Label
from deid_core.language.fragments import UNIT

from ..rule import Rule

_FLAGS = re.VERBOSE | re.IGNORECASE
_UNIT = re.compile(UNIT, _FLAGS)
_CALL = r"(?:call|phone|telephone|dial|paged?|paging|beep(?:ed)?|ring|reach)"


def _has_no_unit(match: re.Match[str]) -> bool:
    return not _UNIT.match(match.string, match.end())


EXTENSION = Rule(
    name="phone_extension",
    label=Label.PHONE,
    # Four digits and more: "ext 30" is an extension in degrees, "x3" a count.
    pattern=re.compile(
        r"""
        (?<![a-z])(?:ext(?:ension|n)?\.?[ ]?[:\#]?[ ]{0,2}
           |x(?<!x[ ]x)(?<![0-9]x)(?<![0-9][ ]x))
        (?P<phi>[0-9]{4,6})(?![\w%\u00b0])(?![.,/-][0-9])
        """,
        _FLAGS,
    ),
    score=0.8,
    is_valid=_has_no_unit,
    found=("at x«4512», ext «4512», extension: «30112», Extn «77123»",),
    not_found=(
        "x3, x 4512",
        "ext 30",
        "WBC 4.5 x1000",
        "extension 1200 mg",
        "vertex4512",
        "x4512.5",
    ),
)

IN_HOUSE = Rule(
    name="phone_in_house",
    label=Label.PHONE,
    pattern=re.compile(
        rf"""
        (?<![a-z]){_CALL}
        (?:[ ](?:me|us|him|her|them|the[ ](?:team|unit|desk|office)|on[- ]?call|back))?
        (?:[ ](?:at|on)|[ ]?[:\#])?[ ]{{1,2}}
        (?P<phi>[2-9]-[0-9]{{4}}(?![\w%])(?![.,/-][0-9]))
        """,
        _FLAGS,
    ),
    score=0.85,
    is_valid=_has_no_unit,
    found=("Please call «4-5512», page me at «5-1234», dial «7-0000».",),
    not_found=("call 4-5512 mg", "page 2-3", "recall 4-5512", "call 1-2 times"),
)

PAGE_AT = Rule(
    name="phone_page_at",
    label=Label.PHONE,
    pattern=re.compile(
        r"""
        (?<![a-z])(?:page|paged|beep|beeped)
        (?:[ ](?:me|us|him|her|them|resident|intern|team|on[- ]?call))?
        (?:[ ](?:at|on)[ ]|[ ]?\#[ ]?|[ ]?:[ ]?|[ ](?=[0-9]{5}(?![0-9])))
        (?P<phi>[0-9]{4,7})(?![\w%])(?![.,/:-][0-9])
        """,
        _FLAGS,
    ),
    score=0.8,
    is_valid=_has_no_unit,
    found=("page «12345», page on-call at «4567», beep #«77123»",),
    not_found=("page 12 of 30", "page 2024", "paged at 14:30", "paged at 12345 mL"),
)

LOCAL_PHONE = Rule(
    name="phone_local",
    label=Label.PHONE,
    # 555 is the exchange of directory assistance and of examples: no range of results.
    # P, T, M, C, O, H and W head the lines of a letter's foot.
    pattern=re.compile(
        r"""
        (?:(?<![\w.])[PTMCOHW][:.][ ]{0,2}|(?<![\w./-])(?<![0-9)][ ])(?=555-))
        (?P<phi>[2-9][0-9]{2}[-.][0-9]{4})(?![\w%])(?![-./][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.85,
    is_valid=_has_no_unit,
    found=("P: «234-0142» T: «234.0142»", "tonight:\n«555-0142»"),
    not_found=("range 450-1000", "212-555-0142", "500-1000 mg", "555-2000 mL"),
)

PHONE_IN_LETTERS = Rule(
    name="phone_in_letters",
    label=Label.PHONE,
    # The toll-free codes of the North American Numbering Plan.
    pattern=re.compile(
        r"""
        (?<![\w-])(?:1[-. ]\(?8(?:00|33|44|55|66|77|88)\)?[-. ]
          |8(?:00|33|44|55|66|77|88)-)
        (?:[A-Z]{7,12}|[0-9]{3}-[A-Z]{4,6}|[A-Z]{3}-[A-Z]{4,6}|[A-Z]{3}-[0-9]{4}
          |[A-Z]-[A-Z]{6}|[0-9A-Z]{1,4}-[A-Z]{3,7})
        (?![\w-])
        """,
        re.VERBOSE,
    ),
    score=0.9,
    found=("call «1-800-FLOWERS», «1-888-QUIT-NOW» or «800-555-HELP»",),
    not_found=("1-800-555-0142", "800 PATIENT", "at 800 MG-ORAL", "1800-FLOWER"),
)

RULES = (EXTENSION, IN_HOUSE, PAGE_AT, LOCAL_PHONE, PHONE_IN_LETTERS)
