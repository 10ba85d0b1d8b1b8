"""Rules for phone, fax and pager numbers: Safe Harbor (D) and (E).

Example numbers are 555-01xx where they can be: reserved for fiction.
"""

from __future__ import annotations

import re

import phonenumbers

from deid_core.labels import Label
from deid_core.language.fragments import words

from ..rule import Rule

_FLAGS = re.VERBOSE | re.IGNORECASE
_EXTENSION = r"(?:[ ,;]{0,2}(?:x|ext(?:ension)?\.?)[ :#]{0,2}[0-9]{1,6}(?![0-9]))?"
_PHONE_WORDS = words(
    """
    telephone phone tel ph cellular cellphone cell mobile mob home work office contacted
    contact callback called call reached reachable text hotline landline whatsapp
    """
)
_PAGER_WORDS = words("pager beeper bleep pgr voalte ext extension")
_SEPARATOR = r"(?:[ \t]{0,3}(?:numbers?\b|no\b|is\b|at\b|on\b|[:#=.-])){0,4}[ \t]{0,3}"
_NUMBER = rf"""
    (?P<phi>
      (?:
        (?:\+?1[-. ]?)?\(?[0-9]{{3}}\)?[-. /]{{0,2}}[0-9]{{3}}[-. ]?[0-9]{{4}}
      | [0-9]{{3}}[-. ]?[0-9]{{4}}
      | \+?[0-9]{{7,15}}
      | 0[0-9]{{1,4}}[- ][0-9]{{3,4}}[- ]?[0-9]{{3,4}}
      | [0-9]{{4}}[- ][0-9]{{4}}
      )
      (?![0-9])(?![-./][0-9])
      {_EXTENSION}
    )
"""


def is_phone_shaped(match: re.Match[str]) -> bool:
    """Return whether ten digits are a phone number, by their marks or their code.

    Dashes, dots or brackets in 3-3-4 say so by themselves, whatever the digits: an
    invented number in a note still reads as one.  Spaces could be a table of results.
    """
    number = match["number"]
    if re.search(r"[-./()+]", number):
        return True
    digits = number.replace(" ", "")
    return digits[0] in "23456789" and digits[3] in "23456789"


def is_possible_phone(match: re.Match[str]) -> bool:
    """Return whether a number with a country code has a possible length there."""
    try:
        parsed = phonenumbers.parse(match[0].split("x")[0], None)
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_possible_number(parsed))


PHONE = Rule(
    name="phone_us",
    label=Label.PHONE,
    pattern=re.compile(
        rf"""
        (?P<number>[(+0-9](?<![0-9][(+0-9])(?<![0-9][-./][0-9])
          (?:(?<=\+)1[-. ]?\(?[0-9]{{3}}\)?[-. /]{{0,2}}[0-9]{{3}}[-. ]?
            |(?<=1)[-. ]\(?[0-9]{{3}}\)?[-. /]{{0,2}}[0-9]{{3}}[-. ]
            |(?<=\()[0-9]{{3}}\)[-. /]{{0,2}}[0-9]{{3}}[-. ]?
            |(?<=[0-9])[0-9]{{2}}(?:[-.][ ]?|[ ]|/)[0-9]{{3}}[-. ])
          [0-9]{{4}})
        (?![0-9])(?![-./][0-9])
        {_EXTENSION}
        """,
        _FLAGS,
    ),
    score=0.95,
    is_valid=is_phone_shaped,
    triggers=("000-0000", "000.0000", "000 0000", "0000000"),
    lookbehind=10,
    found=(
        "Call «(212) 555-0142» or «212-555-0142» or «212.555.0142».",
        "«1-800-555-0199», «+1 212 555 0142», «+12125550142»",
        "«212 555 0142 ext. 33», «212-555-0142 x12»",
        "invented «000-123-4567»",
        "«(212)5550142»",
        "tel:«212\u2011555\u20110142»",
    ),
    not_found=(
        "SSN 123-45-6789",
        "dates 2024-01-31",
        "120 130 1400",
        "NDC 1212-555-0142-3",
        "2125550142",
        "555-0142",
        "(123) 45",
    ),
)

INTERNATIONAL_PHONE = Rule(
    name="phone_international",
    label=Label.PHONE,
    pattern=re.compile(
        rf"""
        \+(?<![0-9a-z]\+)[1-9](?:[ .()-]{{0,2}}[0-9]){{7,14}}(?![0-9]){_EXTENSION}
        """,
        _FLAGS,
    ),
    score=0.95,
    is_valid=is_possible_phone,
    found=(
        "«+44 20 7946 0018», «+65 6123 4567»",
        "«+49 (30) 901820-123».",
        "«+12125550142»",
    ),
    not_found=("2+ 2+ 2+ 2+", "+1 pitting", "1+10000000 4", "+999 1234 5678"),
)

LABELLED_PHONE = Rule(
    name="phone_labelled",
    label=Label.PHONE,
    pattern=re.compile(
        rf"""
        (?<![a-z])
        (?:{"|".join(_PHONE_WORDS)})
        {_SEPARATOR}{_NUMBER}
        """,
        _FLAGS,
    ),
    score=0.9,
    found=(
        "Phone: «555-0142», tel. «2125550142»",
        "reached at «555 0142»; cell #«555.0142 x5»",
        "Ph: «6123 4567» mobile «07700 900 123»",
    ),
    not_found=(
        "pH 7.35",
        "call 911",
        "home 3 weeks",
        "graph 5550142",
        "work 2024-01-31",
        "white cell count 12000",
    ),
)

FAX = Rule(
    name="fax_labelled",
    label=Label.FAX,
    pattern=re.compile(
        rf"(?<![a-z])(?:tele)?fax(?:ed[ ]to)?{_SEPARATOR}{_NUMBER}", _FLAGS
    ),
    score=0.97,
    found=(
        "Fax: «212-555-0143» and fax number is «(212) 555-0143»",
        "faxed to «555-0143», FAX# «2125550143»",
    ),
    not_found=("faxed 3 pages", "Halifax 2125550143", "fax: none"),
)

PAGER = Rule(
    name="pager_labelled",
    label=Label.PHONE,
    pattern=re.compile(
        rf"""
        (?<![a-z])(?:pager|beeper|bleep|pgr|voalte|ext\.|extension(?=[ ]?[:\#]))
        {_SEPARATOR}(?P<phi>[0-9]{{1,3}}-[0-9]{{3,5}}(?:-[0-9]{{4}})?|[0-9]{{3,7}})
        (?![0-9])(?!-[0-9])(?![ ]?(?:deg|\u00b0|%))
        """,
        _FLAGS,
    ),
    score=0.9,
    found=("pager «12345», beeper #«5-1234», ext. «4567»", "Extension: «30112»"),
    not_found=("extension 120 degrees", "ext 30", "text. 4567", "ext. 120\u00b0"),
)

RULES = (
    PHONE,
    INTERNATIONAL_PHONE,
    LABELLED_PHONE,
    FAX,
    PAGER,
)
