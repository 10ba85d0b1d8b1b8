"""Rules for phone and fax numbers of all countries: Safe Harbor (D) and (E).

With a label any grouping of digits is a number.  Without one, it has the form of North
America or is known to Google's numbering plans (the phonenumbers package).

Example numbers are 555-01xx where they can be: reserved for fiction.
"""

from __future__ import annotations

import re

import phonenumbers

from deid_core.detectors.rules.dates.numeric import is_date
from deid_core.detectors.rules.ids.shapes import follows_vocabulary
from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import UNIT, words

_FLAGS = re.VERBOSE | re.IGNORECASE
_UNIT = re.compile(UNIT, _FLAGS)
_EXTENSION = r"(?:[ ,;]{0,2}(?:x|ext(?:ension)?\.?)[ :#]{0,2}[0-9]{1,6}(?![0-9]))?"
_PHONE_WORDS = words(
    """
    telephone phone tel ph cellular cellphone cell mobile mob home work office contacted
    contact callback called call reached reachable text hotline landline whatsapp
    """
)
SEPARATOR = r"(?:[ \t]{0,3}(?:numbers?\b|no\b|is\b|at\b|on\b|[:#=.-])){0,4}[ \t]{0,3}"
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
# Where trunk numbers begin with 0; in others (US, Singapore) a label is needed.
_TRUNK_REGIONS = words("GB DE FR AU NL BE CH AT IE NZ ZA IN JP MY TH ID PH SE FI IL")
_BETWEEN_GROUPS = r"(?:[ ]?[-./][ ]?|[ ]{1,2})"
_GROUPS = (
    rf"\(?\+?[0-9]{{1,6}}(?:[ ][0-9]{{1,3}}(?=\)))?\)?"
    rf"(?:{_BETWEEN_GROUPS}\(?[0-9]{{1,10}}\)?){{1,6}}"
)
_CUES = (
    r"(?:telephone|phone|tel|mobile|cellphone|cell[ ]phone|handphone|hp|whatsapp|fax"
    r"|facsimile|telefax|reach(?:ed|able)?|answering|messages?|call(?:ed|back)?"
    r"|contact(?:ed)?|ring|text)"
)
# A ZIP code, or a day and a time: "03/01/24 2318".
_NO_NUMBER = re.compile(
    r"[0-9]{5}-[0-9]{4}"
    r"|[0-9]{2}([-/.])[0-9]{2}\1[0-9]{2,4} (?:[01][0-9]|2[0-3])[0-5][0-9]"
)
_END = r"(?![0-9])(?![-./:][0-9])(?![ ]?%)"


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


def _digits(text: str) -> str:
    return re.sub("[^0-9+]", "", text)


def is_number_of_groups(match: re.Match[str]) -> bool:
    """Return whether the digits have a phone number's length and are no date."""
    number = match["number"]
    groups = re.findall("[0-9]+", number)
    if len(groups) == 1:
        return 7 <= len(groups[0]) <= 13
    if len(groups) == 3 and is_date(*groups) and len("".join(groups)) <= 8:
        return False
    # "7.35 7.40 7.38" is a row of results; a number's groups have two digits or more.
    if "(" not in number and min(map(len, groups[1:])) < 2:
        return False
    return 6 <= len("".join(groups)) <= 15 and (
        len(groups[0]) > 1 or number[0] in "+0" or "(" in number
    )


def _is_known(number: str, region: str | None) -> bool:
    try:
        parsed = phonenumbers.parse(number, region)
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_valid_number(parsed))


def is_known_number(match: re.Match[str]) -> bool:
    """Return whether some country's numbering plan has the number."""
    digits = _digits(match["number"])
    if len(digits) < 9 or _NO_NUMBER.fullmatch(match["number"]):
        return False
    if digits.startswith("00"):
        return _is_known("+" + digits[2:], None)
    return any(_is_known(digits, region) for region in _TRUNK_REGIONS)


def is_misread_number(number: str) -> bool:
    """Return whether some of a number's digits were read as letters."""
    digits = sum(map(str.isdigit, number))
    letters = sum(map(str.isalpha, number))
    return 0 < letters < digits and 8 <= digits + letters <= 13


def is_known_singapore_number(match: re.Match[str]) -> bool:
    """Return whether Singapore's plan has the number."""
    return _is_known(_digits(match["number"]), "SG")


PHONE = Rule(
    name="phone_us",
    label=Label.PHONE,
    pattern=LazyPattern(
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
    pattern=LazyPattern(
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
    pattern=LazyPattern(
        rf"""
        (?<![a-z])
        (?:{"|".join(_PHONE_WORDS)})
        {SEPARATOR}{_NUMBER}
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
    pattern=LazyPattern(
        rf"(?<![a-z])(?:tele)?fax(?:ed[ ]to)?{SEPARATOR}{_NUMBER}", _FLAGS
    ),
    score=0.97,
    found=(
        "Fax: «212-555-0143» and fax number is «(212) 555-0143»",
        "faxed to «555-0143», FAX# «2125550143»",
    ),
    not_found=("faxed 3 pages", "Halifax 2125550143", "fax: none"),
)

GROUPS_AFTER_LABEL = Rule(
    name="phone_groups_labelled",
    label=Label.PHONE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z]){_CUES}
        (?:[ \t]{{0,2}}(?:numbers?\b|no\b|is\b|at\b|on\b|to\b|me\b|him\b|her\b|[:\#=.])
          ){{0,4}}[ \t]{{0,2}}
        (?P<phi>(?P<number>{_GROUPS}){_END}{_EXTENSION})
        """,
        _FLAGS,
    ),
    score=0.85,
    is_valid=is_number_of_groups,
    found=(
        "phone: «02.27.96.63.08», Phone: «88 165 40 96», call me on «(35) 609-270»",
        "tel. «061/234 56 78», mobile «98765 43210», answering at «28-81-33-70»",
        "whatsapp «0479 50 54 03», cell phone «9123 4567»",
    ),
    not_found=(
        "called 1/2/2024",
        "call 2 4 6 8",
        "contact 10 20",
        "ring 20 30 mm",
        "cells 7.35 7.40 7.38",
        "contacted on 05-03-2024",
    ),
)

NATIONAL_PHONE = Rule(
    name="phone_national",
    label=Label.PHONE,
    pattern=LazyPattern(
        rf"""
        (?P<number>\(?0(?<![\w.,:/-]0)(?<![\w.,:/-]\(0)
          (?:0?[1-9][0-9]{{0,4}}\)?(?:[-. /][0-9]{{2,8}}){{1,5}}
            |0?[1-9][0-9]{{8,12}}))
        {_END}{_EXTENSION}
        """,
        _FLAGS,
    ),
    score=0.85,
    is_valid=lambda match: (
        is_known_number(match)
        and not follows_vocabulary(match.string, match.start("number"), match["number"])
    ),
    triggers=(
        "000 000",
        "00 0000",
        "000-000",
        "00-0000",
        "00.00.00",
        "0000 0",
        "00 00 00",
    ),
    lookbehind=10,
    window=24,
    found=(
        "or «020 7946 0018» and «07700 900123»",
        "the number (0)… «0044 20 7946 0018», «01.84.17.61.18»",
        "«0479 50 54 03»",
    ),
    not_found=(
        "01.02.2024, 04/02/2014 15:41",
        "02115-1234, NDC 0409-6625-02",
        "00 00 00 00 00",
        "0.25 000 000",
        "120 7946 0018",
    ),
)

SINGAPORE_PHONE = Rule(
    name="phone_singapore",
    label=Label.PHONE,
    pattern=LazyPattern(
        r"""
        (?<![a-z])(?:hp|h/p|handphone|hand[ ]phone|pager|contact|nok)
        (?:[ ]?(?:no|number|\#)\b)?[.:]?[ ]{0,2}
        (?P<phi>(?P<number>[3689][0-9]{3}[ -]?[0-9]{4}))(?![\w%])(?![-./][0-9])
        """,
        _FLAGS,
    ),
    score=0.9,
    is_valid=is_known_singapore_number,
    found=("HP «91234567», H/P no: «9123 4567», NOK «6123-4567»",),
    not_found=("HP 71234567", "hp 912345", "contact 2024 2025"),
)

PREFIXED_PHONE = Rule(
    name="phone_prefixed",
    label=Label.PHONE,
    # 00 and 011 lead abroad; 1 is North America.
    pattern=LazyPattern(
        rf"""
        0(?<![\w.-]0)(?:0|11[-. ]?)1[-. ][0-9]{{3}}[-. ][0-9]{{3}}[-. ][0-9]{{4}}
        {_END}{_EXTENSION}
        """,
        _FLAGS,
    ),
    score=0.9,
    found=("«001-748-088-2851x818», «011-1-212-555-0142»",),
    not_found=("0001-748-088-2851", "002-748-088-2851", "001-748-088-28511"),
)

SPACED_PHONE = Rule(
    name="phone_spaced_dashes",
    label=Label.PHONE,
    pattern=LazyPattern(
        rf"""
        \(?[2-9](?<![\w.-][2-9])[0-9]{{2}}\)?[ ]?-[ ]?[0-9]{{3}}[ ]?-[ ]?[0-9]{{4}}
        {_END}{_EXTENSION}
        """,
        _FLAGS,
    ),
    score=0.9,
    triggers=("000 - 0000", "000- 0000", "000 -0000"),
    lookbehind=12,
    window=32,
    found=("«212 - 555 - 0142», «(212) - 555 - 0142 x12»",),
    not_found=("120 - 130 - 140", "112 - 555 - 0142", "12 - 555 - 0142"),
)

PHONE_BEFORE_LABEL = Rule(
    name="phone_before_label",
    label=Label.PHONE,
    pattern=LazyPattern(
        rf"""
        (?P<phi>(?P<number>\(?[+0-9](?<![\w.,:/-][+0-9])[0-9]{{1,5}}\)?
          (?:{_BETWEEN_GROUPS}\(?[0-9]{{2,8}}\)?){{1,5}}))
        [ ]{{0,2}}[-(]?[ ]?(?:office|mobile|cell|home|work|fax|pager)(?![a-z])
        (?![ ](?:visit|care|health|bp|meds?|glucose|phone))
        """,
        _FLAGS,
    ),
    score=0.8,
    is_valid=lambda match: (
        is_number_of_groups(match) and len(_digits(match["number"])) >= 7
    ),
    triggers=tuple(
        f"0{between}{word}"
        for between in (" ", "-", " - ", " (", "(")
        for word in words("office mobile cell home work fax pager")
    ),
    lookbehind=40,
    window=16,
    found=("«089 72 63 41» office", "«555 0142» (cell), «50-98-28-96»-Office"),
    not_found=("120 80 home", "on 1/2/2024 office visit", "45 56 78 home glucose"),
)

FAX_GROUPS = Rule(
    name="fax_groups",
    label=Label.FAX,
    pattern=LazyPattern(
        rf"""
        (?<![\w.])(?:F|fx|fax|facsimile|telefax)
        (?:[ ]?(?:numbers?|no)\b)?[ ]?[:.\#]{{1,2}}[ ]{{0,2}}
        (?P<phi>(?P<number>{_GROUPS}|[0-9]{{7,13}}){_END}{_EXTENSION})
        """,
        _FLAGS,
    ),
    score=0.96,
    is_valid=lambda match: (
        is_number_of_groups(match) and len(_digits(match["number"])) >= 7
    ),
    found=("F: «212-555-0143», Facsimile: «(212) 555-0143», fax: «061 234 56 78»",),
    not_found=("T 98.6 F. 120", "F: 45 12", "F:101.2 97.5"),
)

CALLBACK = Rule(
    name="phone_callback",
    label=Label.PHONE,
    pattern=LazyPattern(rf"(?<![a-z])cb{SEPARATOR}{_NUMBER}", _FLAGS),
    score=0.9,
    found=("Wants a cb «555 0147», cb# «901 555 0188»",),
    not_found=("cb 1 to 2 pm, cb 12000", "CB 2024-01-31"),
)

FAX_EXTENSION = Rule(
    name="fax_extension",
    label=Label.FAX,
    pattern=LazyPattern(
        r"(?<![a-z])(?:tele)?fax[:. ]{0,3}(?P<phi>-[0-9]{2,5})(?![\w-])", re.IGNORECASE
    ),
    score=0.9,
    found=("Tel. +49 761 5550 2210, Fax «-2299»",),
    not_found=("fax - 3 pages", "fax -3 pages, fax 2-3"),
)

MISREAD_PHONE = Rule(
    name="phone_misread",
    label=Label.PHONE,
    # Optical recognition takes 0 for O and 1 for l: "O345-555O127".
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?:{"|".join(_PHONE_WORDS)}|mobiie|c[o0]ntact|ce[l1I]{{2}}|ph[o0]ne)
        {SEPARATOR}
        (?P<phi>\+?[0-9OoIlSBZ]{{2,11}}(?:[- ][0-9OoIlSBZ]{{2,8}}){{0,4}})(?![\w-])
        """,
        _FLAGS,
    ),
    score=0.85,
    is_valid=lambda match: is_misread_number(match["phi"]),
    found=("Contact «O345-555O127» and Mob «94l5O 55S18» ( pradhan )",),
    not_found=("call Bill, call 2 so, tel 555 0142, Mob solo 12", "cell O2 12345"),
)

LOCAL_PHONE = Rule(
    name="phone_local",
    label=Label.PHONE,
    # 555 is the exchange of directory assistance and of examples: no range of results.
    # P, T, M, C, O, H and W head the lines of a letter's foot.
    pattern=LazyPattern(
        r"""
        (?:(?<![\w.])[PTMCOHW][:.][ ]{0,2}|(?<![\w./-])(?<![0-9)][ ])(?=555-))
        (?P<phi>[2-9][0-9]{2}[-.][0-9]{4})(?![\w%])(?![-./][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.85,
    is_valid=lambda match: not _UNIT.match(match.string, match.end()),
    found=("P: «234-0142» T: «234.0142»", "tonight:\n«555-0142»"),
    not_found=("range 450-1000", "212-555-0142", "500-1000 mg", "555-2000 mL"),
)

PHONE_IN_LETTERS = Rule(
    name="phone_in_letters",
    label=Label.PHONE,
    # The toll-free codes of the North American Numbering Plan.
    pattern=LazyPattern(
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

_DIGIT_IN_WORDS = "(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)"


def _is_number_in_words(match: re.Match[str]) -> bool:
    """Return whether words and digits are as many digits as a phone number has."""
    parts = match["phi"].lower().split()
    digits = sum(len(each) if each.isdigit() else each != "plus" for each in parts)
    return 7 <= digits <= 15


PHONE_IN_WORDS = Rule(
    name="phone_in_words",
    label=Label.PHONE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z]){_CUES}{SEPARATOR}
        (?P<phi>(?:plus[ ])?(?:(?:[0-9]{{1,4}}|{_DIGIT_IN_WORDS})[ ]){{2,14}}
          (?:[0-9]{{1,4}}|{_DIGIT_IN_WORDS}))
        (?![\w/%])
        """,
        _FLAGS,
    ),
    score=0.85,
    must_contain=re.compile(rf"{_DIGIT_IN_WORDS}[ ]{_DIGIT_IN_WORDS}", re.IGNORECASE),
    is_valid=_is_number_in_words,
    found=(
        "WhatsApp «plus 234 803 five five five 0142»",
        "call «two one two five five five oh one four two»",
        "phone number is «555 zero one four two».",
    ),
    not_found=(
        "called two three four times",
        "call 911 one more time",
        "contacted one two three four five six",
        "text one hundred and twenty",
    ),
)

RULES = (
    PHONE,
    INTERNATIONAL_PHONE,
    LABELLED_PHONE,
    FAX,
    GROUPS_AFTER_LABEL,
    NATIONAL_PHONE,
    SINGAPORE_PHONE,
    PREFIXED_PHONE,
    SPACED_PHONE,
    PHONE_BEFORE_LABEL,
    FAX_GROUPS,
    CALLBACK,
    FAX_EXTENSION,
    MISREAD_PHONE,
    LOCAL_PHONE,
    PHONE_IN_LETTERS,
    PHONE_IN_WORDS,
)
