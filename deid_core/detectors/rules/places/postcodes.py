"""Rules for post codes outside the United States: Safe Harbor (B)."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import MONTH_WORDS, ends_with

# The United Kingdom's 124 postcode areas (Royal Mail, PAF programmers' guide).
_UK_AREAS = (
    r"(?:A[BL]|B[ABDHLNRST]?|C[ABFHMORTVW]|D[ADEGHLNTY]|E[CHNX]?|F[KY]|G[LUY]?"
    r"|H[ADGPRSUX]|I[GMPV]|JE|K[ATWY]|L[ADELNSU]?|M[EKL]?|N[EGNPRW]?|O[LX]"
    r"|P[AEHLOR]|R[GHM]|S[AEGKLMNOPRSTWY]?|T[ADFNQRSW]|UB|W[ACDFNRSV]?|YO|ZE)"
)
_UK = rf"(?:GIR[ ]?0AA|{_UK_AREAS}[0-9][0-9A-HJKMNP-Y]?[ ][0-9][ABD-HJLNP-UW-Z]{{2}})"
_CANADA_FIRST = "[ABCEGHJ-NPRSTVXY]"
_CANADA_LETTER = "[ABCEGHJ-NPRSTV-Z]"
# "B12 5HR" is a vitamin for five hours, "N95 3LB" no place either.
_UNIT_AHEAD = re.compile(r"[ ][0-9](?:HR|GR|LB|FR|TS|PU|SU)\Z")
_LAST_SECTOR = 83
_HOUSE_NUMBER = re.compile(
    r"(?<![\w/-])[0-9]{1,5}[A-Z]?(?:/[0-9]{1,4})?,?"
    r"(?:[ ][A-Z0-9][A-Za-z0-9'.-]{1,20}){1,4}[ ]\Z"
)


def _is_no_dose(match: re.Match[str]) -> bool:
    return not _UNIT_AHEAD.search(match[0])


def _has_house_number(match: re.Match[str]) -> bool:
    """Return whether an address begins with a number, or is a box."""
    return any(box in match[0] for box in ("Box", "Bag", "RMB")) or ends_with(
        _HOUSE_NUMBER, match.string, match.start(), within=48
    )


def _is_sector(match: re.Match[str]) -> bool:
    """Return whether the first two digits are a postal sector of Singapore."""
    return 1 <= int(match["phi"][:2]) < _LAST_SECTOR


UK_POSTCODE = Rule(
    name="zip_uk",
    label=Label.ZIP,
    pattern=LazyPattern(rf"(?<![\w.-]){_UK}(?![\w-])", re.VERBOSE),
    score=0.85,
    is_valid=_is_no_dose,
    found=(
        "London «SW1A 1AA», «M1 1AE», «EC1A 1BB», «B33 8TH»",
        "«GIR 0AA», «W1A 0AX» and «DN55 1PT»",
    ),
    not_found=(
        "vitamin B12 5ML, L4 5CM, C5 6MM",
        "B12 5HR",
        "Q4 2AB",
        "sw1a 1aa",
        "M1 1AEX",
    ),
)

UK_DISTRICT = Rule(
    name="zip_uk_district",
    label=Label.ZIP,
    pattern=LazyPattern(
        rf"""
        (?<![A-Za-z])
        (?:(?i:post[ ]?code(?:[ ](?:area|district))?)(?:[ ]is|:)?[ ]
          |London,?[ ](?=(?:E|EC|N|NW|SE|SW|W|WC)[0-9]))
        (?P<phi>{_UK_AREAS}[0-9][0-9A-Z]?)
        (?![A-Za-z0-9]|[ ][0-9][A-Z]{{2}})
        """,
        re.VERBOSE,
    ),
    score=0.85,
    found=("postcode «SW1A», Postcode area: «M1», London «SE1»",),
    not_found=("post code blue", "postcode SW1A 1AA", "code M1", "post C5"),
)

SINGAPORE_POSTCODE = Rule(
    name="zip_singapore",
    label=Label.ZIP,
    pattern=LazyPattern(
        r"""
        (?<![A-Za-z])
        (?:(?i:singapore|spore|s'pore|sg)[ ,]{0,2}[(]?|S[ ]?\([ ]?|S[ ]?(?=[0-9]{6}))
        (?P<phi>[0-9]{6})(?![0-9A-Za-z-])
        """,
        re.VERBOSE,
    ),
    score=0.9,
    is_valid=_is_sector,
    found=("Singapore «560123», S(«560123»), S«560123» and Singapore («018956»)",),
    not_found=("Singapore 990123", "S5601234", "IS560123", "SG 56012"),
)

# Glasgow's coma scale, Montreal's classes of Crohn disease, the stage of a tumour.
_SCALES = "(?:E[1-4]V[1-5]M[1-6]|A[1-3]L[1-4]B[1-3]|T[0-4]N[0-3]M[01])"

CANADIAN_POSTCODE = Rule(
    name="zip_canada",
    label=Label.ZIP,
    pattern=LazyPattern(
        rf"""
        (?<![\w.-])(?:(?<=\b[A-Z][A-Z][ ])|(?!{_SCALES}))
        {_CANADA_FIRST}[0-9]{_CANADA_LETTER}(?:[ ]|-)?
        [0-9]{_CANADA_LETTER}[0-9](?![\w-])(?!\.[0-9])
        """,
        re.VERBOSE,
    ),
    score=0.85,
    found=("Toronto, ON «M5V 3L9», «K1A 0B1» and «B0J2H0»", "Edmundston, NB «E3V4M5»"),
    not_found=(
        "GCS E4V5M6, GCS 12 E3V4M5, Montreal A2L3B2, stage T3N2M0",
        "T1W 2O1",
        "k1a 0b1",
        "K1A 0B12",
        "D1A 0B1",
        "H1N1 2A",
    ),
)

# An Post's letters: the first of a routing key, and those of an identifier.
_EIRCODE = "[0-9AC-FHKNPRTV-Y]"
IRISH_POSTCODE = Rule(
    name="zip_ireland",
    label=Label.ZIP,
    pattern=LazyPattern(
        rf"""
        (?<![\w.-])(?:D6W|[AC-FHKNPRTV-Y][0-9]{{2}})[ ]
        (?=[A-Z0-9]{{0,3}}[0-9])(?=[0-9]{{0,3}}[A-Z])(?![0-9]{{1,2}}[HF]R){_EIRCODE}{{4}}(?![\w-])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    found=("Dublin «D04 X2Y3», «D6W K8N2» and Cork «T12 W8E7».",),
    not_found=("T12 2013", "F20 100M", "C50 WITH", "D04X2Y3", "T10 R5", "H20 25HR"),
)

AUSTRALIAN_POSTCODE = Rule(
    name="zip_australia",
    label=Label.ZIP,
    pattern=LazyPattern(
        r"""
        (?<![\w-])(?i:(?:NSW|VIC|QLD|TAS|Victoria|Queensland|Tasmania
            |New[ ]South[ ]Wales|(?:South|Western)[ ]Australia)
          |(?<=,[ ])(?:SA|WA|NT|ACT))
        ,?[ ](?P<phi>[2-9][0-9]{3}|0[289][0-9]{2})(?![\w%-])(?![.,/:][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.85,
    found=("Perth, WA «6000», SOUTH VIC «3678», Hobart Tas «7000», Qld «4870»",),
    not_found=("WA 6000", "STEMI act 0211", "VIC 300", "SA 2.5", "Vic 3678.5"),
)

MALTESE_POSTCODE = Rule(
    name="zip_malta",
    label=Label.ZIP,
    pattern=LazyPattern(
        r"""
        (?:Triq|Sqaq|Vjal|Misrah|Malta|Gozo)[ ,][^\n;]{0,80}?
        (?P<phi>(?<![\w-])[A-Z]{3}[ ][0-9]{4}(?![\w.-]))
        """,
        re.VERBOSE,
    ),
    score=0.85,
    found=("12, Triq il-Kbira, Zejtun «ZTN 1234»",),
    not_found=("ZTN 1234", "Malta, seen 12 MAY 2024"),
    is_valid=lambda match: match["phi"][:3].lower() not in MONTH_WORDS,
)

_TOWN = r"[A-Z][A-Za-z'-]{1,24}"
POSTCODE_OF_ADDRESS = Rule(
    name="zip_after_address",
    label=Label.ZIP,
    # Four digits, as in Australia, New Zealand, South Africa and Bangladesh.
    pattern=LazyPattern(
        rf"""
        (?<![A-Za-z])
        (?:Street|St|Road|Rd|Drive|Dr|Avenue|Ave|Close|Cl|Crescent|Cres|Lane|Ln|Place|Pl
          |Terrace|Tce|Highway|Hwy|Parade|Pde|Court|Ct|RD[ ][0-9]{{1,2}}
          |(?:P\.?O\.?[ ]Box|Private[ ]Bag|Locked[ ]Bag|RMB)[ ][A-Z]?[0-9][0-9-]{{0,8}})
        (?:,[ ]|[ ])
        {_TOWN}(?:,?[ ]{_TOWN}){{0,3}},?[ ]
        (?P<phi>[0-9]{{4}})(?=[.,;)\n]|[ ]{{2}}|\Z)(?!\.[0-9])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    is_valid=_has_house_number,
    found=(
        "6 Corella Cl, Moe «3825». Three; 22 Bell Road, Pokeno «2472»\nPO Box 11-407, "
        "Palmerston Sth «4446»",
        "88 Rimu St Kawerau «3127», Private Bag 92-771, Auckland «1142»",
    ),
    not_found=(
        "Dr Smith 1430. St Marys 1200, on Bell Road, Seen 1430.",
        "6 Corella Cl, Seen 2.5",
    ),
)

RULES = (
    POSTCODE_OF_ADDRESS,
    UK_POSTCODE,
    UK_DISTRICT,
    SINGAPORE_POSTCODE,
    CANADIAN_POSTCODE,
    IRISH_POSTCODE,
    AUSTRALIAN_POSTCODE,
    MALTESE_POSTCODE,
)
