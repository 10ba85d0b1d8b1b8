"""Rules for identifiers shown by their form alone: Safe Harbor (G) and (R)."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label

from .shapes import is_identifier


def is_plausible_ssn(match: re.Match[str]) -> bool:
    """Return whether the SSA could have issued this number.

    Areas 000, 666 and 900-999 were never assigned, nor group 00, nor serial 0000.
    Source: SSA, Program Operations Manual RM 10201.035.
    """
    digits = re.sub("[^0-9]", "", match["phi"])
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return (
        area not in {"000", "666"}
        and area < "900"
        and group != "00"
        and serial != "0000"
    )


SSN = Rule(
    name="ssn",
    label=Label.SSN,
    pattern=LazyPattern(
        r"""
        (?P<phi>[0-9](?<![0-9][0-9])(?<![0-9][-./][0-9])[0-9]{2}
          (?P<separator>[- ])[0-9]{2}(?P=separator)[0-9]{4})
        (?![0-9])(?![-./][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.9,
    is_valid=is_plausible_ssn,
    found=("SSN «219-09-9999».", "«219 09 9999»", "«219\u201309\u20139999»"),
    not_found=(
        "219-09-99991",
        "1219-09-9999",
        "666-12-3456",
        "000-12-3456",
        "219-00-9999",
        "219-09-0000",
        "219-09 9999",
        "219099999",
    ),
)

MASKED_SSN = Rule(
    name="ssn_masked",
    label=Label.SSN,
    pattern=LazyPattern(r"[xX*]{2}-(?P<phi>[0-9]{4})(?![0-9])"),
    score=0.95,
    found=("on file XXX-XX-«9999»", "***-**-«9999»"),
    not_found=("XXX-XX-XXXX", "xxx-xx-99991"),
)

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# What holds five digits, or letters and three: times and pressures do not.
_TRIGGERS = (
    *(
        "00000",
        "000-00",
        "00-000",
        "0000-0",
        "00-00-0",
        "0000.00.000",
        "000.0000.0",
        "0-0000",
        "0-000-0",
    ),
    *(f"{letter}{digits}" for letter in _LETTERS for digits in ("000", "-000", "/000")),
    *(
        f"{letter}{digits}"
        for letter in _LETTERS
        for digits in ("-00-", "00-0", "/00/")
    ),
    *(f"0000{letter}" for letter in _LETTERS),
)

BY_DEFAULT = Rule(
    name="id_by_default",
    label=Label.IDNUM,
    pattern=LazyPattern(
        r"""
        (?<![\w.,:/+$%^~@*-])
        (?P<phi>(?=[A-Z]{0,6}[-/.]?[A-Z]{0,4}[-/.]?[0-9])
          [A-Z0-9]{1,24}(?:[-/.][A-Z0-9]{1,20}){0,6}[a-z]?
          # A donation's number (ISBT 128): "W1170 97 026153".
          (?:(?<=[A-Z][0-9]{4})[ ][0-9]{2}[ ][0-9]{6})?)
        (?![\w%^*>_-])(?!:[0-9])(?![.,/][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.6,
    is_valid=is_identifier,
    triggers=_TRIGGERS,
    lookbehind=24,
    window=40,
    found=(
        "see «0012345678» today, («7788990»), interp #«33871», no. «25-01364»",
        "order «E88480165», («G6662432»): «RT-20584-O», «FP-123456», «S24-12345»",
        "«13482/TB/0117/24», «MDC/RN/11827», «HP/0633/25», «88-11207», «99-3317»",
        "«CT2506-00417», «BTX2207», «5TXS884120», «FL0093», «4XH7-CV2-QR18», «P7Z9036»",
        "«W1170 97 026153», «19-332-0865», «1CPC-24-618», «QI-25-03», «C.10472»",
        "LICSW «3-6058», «2024-1190», LUCAS «31L-20774», plan «H77-204-118»",
        "«CAS-2024-1190» seen",
        "«SAR-204417», «RO-24-1187», «ICD-24-00318»",
        "«CPT-2024-118»",
        "Total «664412», unit «77889», «2017/0331», «44751M»",
        # Of the Netherlands, of Switzerland.
        "BSN «2189.44.703», AHV «756.4417.8203.11»",
        "«7712345G» and «BTX2207S», Bill «7788990», unit «7788990»",
    ),
    not_found=(
        "BP 148/91, Augmentin 875/125, ABG 7.31/48/71, SBP 100-140, PHQ 2-1-2-0-1",
        "CPT 97140/97110, 99213-25, J3380, NCT01234567, M75.41, LOINC 12345-6",
        "CPT 88305, 88342, 88341 x4, 88360, 77301 + 77377, 77338, 77435",
        "QC: ATCC 29213, 25923, 43300 within range",
        "0900-0920, 2015-2025, 07h00, 1430h, 1980s, 10/12/2024, 2024-01-31, 12-03-24",
        "platelets 250000, WBC 12000, $12000, viral load 1250000 copies, 40000 units",
        "V600E, c.68_69del, 185delAG, HLA-B*57:01, E3V4M5, T11-12, P3013, CD34",
        "1200mg, 600/24h, 3.5x28, 14x100, 5000UNITS, FEF25-75, BP118/66",
        "CK total 12450, ICD10-E11.65, CPT-97110, CAS 50-78-2, SAR650984, EA5163",
        "2008T, 6935M-62, 5076-52, MK-3475, LY2835219, model 12345, SARS-CoV-2",
        "97161, 95992.  Billed 99214, 20610 x2",
        "1234567.5, 2,1234567, id-1234567, 1234, F2748, K1 35.875",
    ),
)

HASH_NUMBER = Rule(
    name="id_after_hash",
    label=Label.IDNUM,
    # "#30" is what a pharmacy gives out, "#1000" perhaps, "tooth #18" a tooth.
    pattern=LazyPattern(r"\#[ ]?(?P<phi>[0-9]{4,12})(?<!00)(?![\w%-])(?![.,/:][0-9])"),
    score=0.7,
    found=("EMT-P #«1107», his # «5551» is",),
    not_found=("#30, #120, #1000, tooth #18, #12-18, #4-0 silk, #1234.5",),
)

INITIAL_AND_LAST_FOUR = Rule(
    name="id_initial_and_last_four",
    label=Label.IDNUM,
    # The Veterans Administration: initial of the surname, last four of the SSN.
    pattern=LazyPattern(
        r"""
        (?<![a-z])(?P<initial>[a-z])[a-z'-]{1,24},[ ]?[a-z][a-z. ]{1,30}[ ]
        \((?P<phi>(?P=initial)[0-9]{4})\)
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.9,
    triggers=tuple(f"({letter}0000)" for letter in _LETTERS),
    lookbehind=64,
    window=8,
    found=("Veteran MORALES,ANA LUZ («M2748») verified",),
    not_found=("Billed (J2350), ROE,JANE (J2350), (M2748)",),
)

RULES = (SSN, MASKED_SSN, BY_DEFAULT, HASH_NUMBER, INITIAL_AND_LAST_FOUR)
