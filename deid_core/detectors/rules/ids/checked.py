"""Rules for identifiers shown by their check digits: Safe Harbor (G) to (M), (R)."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.lexicons import load_list

from .check_digits import (
    is_aadhaar,
    is_card,
    is_dea,
    is_ein,
    is_gtin,
    is_iban,
    is_itin,
    is_nhs_number,
    is_npi,
    is_nric,
    is_vin,
)

_IBAN_COUNTRIES = sorted(load_list("iban_countries"))
# CMS: letters without S, L, O, I, B, Z; the form of a Medicare number since 2018.
_MBI_LETTER = "[AC-HJKMNP-RT-Y]"
_MBI_SIGN = "[0-9AC-HJKMNP-RT-Y]"

NRIC = Rule(
    name="id_nric",
    label=Label.IDNUM,
    pattern=LazyPattern(r"(?<![\w-])[STFGMstfgm][0-9]{7}[A-Za-z](?![\w-])"),
    score=0.93,
    is_valid=is_nric,
    found=("«S1234567D», NRIC «T1234567J», «g1234567x».",),
    not_found=("S1234567A", "A1234567D", "S12345678D", "xS1234567D"),
)

NINO = Rule(
    name="id_nino",
    label=Label.IDNUM,
    # HMRC, National Insurance Manual NIM39110.
    pattern=LazyPattern(
        r"""
        (?<![\w-])(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]
        [ ]?[0-9]{2}[ ]?[0-9]{2}[ ]?[0-9]{2}[ ]?[A-D](?![\w-])
        """,
        re.VERBOSE,
    ),
    score=0.85,
    found=("«AB123456C».", "NI no «AB 12 34 56 C»"),
    not_found=("GB123456A", "AB123456E", "XAB123456C", "AB 12 34 56"),
)

NHS_NUMBER = Rule(
    name="id_nhs",
    label=Label.IDNUM,
    pattern=LazyPattern(
        r"""
        [0-9](?<![\w.,/-][0-9])[0-9]{2}(?P<gap>[ -]?)[0-9]{3}(?P=gap)[0-9]{4}(?![\w-])
        """,
        re.VERBOSE,
    ),
    score=0.96,
    is_valid=is_nhs_number,
    found=("«401 023 2137» and «4010232137»",),
    not_found=("401 023 2138", "212 555 0142", "4010232138", "401-0232137"),
)

NPI = Rule(
    name="license_npi",
    label=Label.LICENSE,
    pattern=LazyPattern(r"[12](?<![\w.,/$-][12])[0-9]{9}(?![\w-])(?![.,][0-9])"),
    score=0.9,
    is_valid=is_npi,
    found=("ordered by «1234567893».",),
    not_found=("1234567890", "3234567893", "12345678931"),
)

DEA = Rule(
    name="license_dea",
    label=Label.LICENSE,
    pattern=LazyPattern(r"(?<![\w-])[ABCDEFGHJKLMPRSTUX][A-Z9][0-9]{7}(?![\w-])"),
    score=0.93,
    is_valid=is_dea,
    found=("prescriber «AB1234563», «F91234563».",),
    not_found=("AB1234567", "AB12345634", "ab1234563"),
)

MBI = Rule(
    name="health_plan_mbi",
    label=Label.HEALTHPLAN,
    pattern=LazyPattern(
        rf"""
        (?<![\w-])[1-9]{_MBI_LETTER}{_MBI_SIGN}[0-9]-?{_MBI_LETTER}{_MBI_SIGN}[0-9]-?
        {_MBI_LETTER}{{2}}[0-9]{{2}}(?![\w-])
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.95,
    found=("Medicare «1EG4-TE5-MK73», «1eg4te5mk73»",),
    not_found=("1EG4-TE5-MK7", "1SG4-TE5-MK73", "1EG4-TE5-MK734"),
)

HICN = Rule(
    name="health_plan_hicn",
    label=Label.HEALTHPLAN,
    # Medicare's number until 2019: a social security number and a code (CMS).
    pattern=LazyPattern(
        r"""
        [0-9](?<![\w-][0-9])[0-9]{2}-?[0-9]{2}-?[0-9]{4}-?(?:[ABCDTW][1-9]?|HA|WA)(?![\w-])
        """,
        re.VERBOSE,
    ),
    score=0.93,
    triggers=("000-00-0000", "000000000"),
    found=("claim «219-09-9999A», «219099999B1»",),
    not_found=("219-09-9999", "219-09-9999X", "219099999AB"),
)

ITIN = Rule(
    name="ssn_itin",
    label=Label.SSN,
    pattern=LazyPattern(r"9(?<![\w.-]9)[0-9]{2}-[0-9]{2}-[0-9]{4}(?![\w-])"),
    score=0.9,
    is_valid=is_itin,
    found=("«912-70-1234»",),
    not_found=("912-10-1234", "912-70-12345"),
)

EIN = Rule(
    name="id_ein",
    label=Label.IDNUM,
    pattern=LazyPattern(r"[0-9](?<![\w.,/-][0-9])[0-9]-[0-9]{7}(?![\w-])(?!\.[0-9])"),
    score=0.75,
    is_valid=is_ein,
    found=("EIN «91-1144442».",),
    not_found=("07-1144442", "191-1144442", "91-11444421"),
)

AADHAAR = Rule(
    name="id_aadhaar",
    label=Label.IDNUM,
    pattern=LazyPattern(
        r"[2-9](?<![\w.-][2-9])[0-9]{3}(?P<gap>[ -]?)[0-9]{4}(?P=gap)[0-9]{4}(?![\w-])"
    ),
    score=0.85,
    is_valid=is_aadhaar,
    found=("«2341 2341 2346» and «234123412346»",),
    not_found=("2341 2341 2345", "1234 1234 1234", "2341 23412346"),
)

CARD = Rule(
    name="account_card",
    label=Label.ACCOUNT,
    pattern=LazyPattern(
        r"""
        (?:[2-6](?<![\w.-][2-6])[0-9]{3}(?P<gap>[ -]?)[0-9]{4}(?P=gap)[0-9]{4}(?P=gap)
             [0-9]{1,7}
          |3(?<![\w.-]3)[47][0-9]{2}(?P<space>[ -]?)[0-9]{6}(?P=space)[0-9]{5})
        (?![\w-])(?![ ][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.95,
    is_valid=is_card,
    found=(
        "«4111 1111 1111 1111», «4111-1111-1111-1111», «4111111111111111»",
        "«3782 822463 10005» and «378282246310005»",
    ),
    not_found=("4111 1111 1111 1112", "1111 1111 1111 1111", "4111 11111111 1111"),
)

IBAN = Rule(
    name="account_iban",
    label=Label.ACCOUNT,
    pattern=LazyPattern(
        rf"""
        (?<![\w-])(?:{"|".join(_IBAN_COUNTRIES).upper()})[0-9]{{2}}
        (?:[A-Z0-9]{{11,30}}|(?:[ ][A-Z0-9]{{4}}){{2,7}}(?:[ ][A-Z0-9]{{1,3}})?)
        (?![\w-])
        """,
        re.VERBOSE,
    ),
    score=0.95,
    is_valid=is_iban,
    found=(
        "«GB29NWBK60161331926819» or «DE89 3704 0044 0532 0130 00»",
        "to «FR1420041010050500013M02606».",
    ),
    not_found=("GB29NWBK60161331926818", "DE89", "GB 2024", "IT12 MILD"),
)

VIN = Rule(
    name="vehicle_vin",
    label=Label.VEHICLE,
    # The last five signs are digits (49 CFR 565.15(d): four at least).
    pattern=LazyPattern(r"(?<![\w-])[A-HJ-NPR-Z0-9]{12}[0-9]{5}(?![\w-])"),
    score=0.95,
    is_valid=is_vin,
    found=("her car, «1HGCM82633A004352»,", "«1M8GDM9AXKP042788»"),
    not_found=("1HGCM82633A004353", "12345678901234567", "1HGCM82633A00435"),
)

UDI = Rule(
    name="device_udi",
    label=Label.DEVICE,
    # 21 CFR 830, GS1: (01) the item, (11) made, (17) expires, (10) lot, (21) serial.
    pattern=LazyPattern(
        r"""
        \(01\)[ ]?(?P<gtin>[0-9]{14})
        (?:[ ]?\([0-9]{2,3}\)[ ]?[A-Z0-9/-]{1,20}){0,8}
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.97,
    is_valid=is_gtin,
    found=(
        "UDI «(01)00844588003288(17)141120(10)7654321D(21)10987654d321», implanted",
    ),
    not_found=("(01)00844588003289", "(02)00844588003288", "(01)0084458800328"),
)

RULES = (
    NRIC,
    NINO,
    NHS_NUMBER,
    NPI,
    DEA,
    MBI,
    HICN,
    ITIN,
    EIN,
    AADHAAR,
    CARD,
    IBAN,
    VIN,
    UDI,
)
