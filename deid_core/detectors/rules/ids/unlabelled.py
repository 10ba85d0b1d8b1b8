"""Rules for identifiers shown by their form alone: Safe Harbor (G) and (R)."""

from __future__ import annotations

import re

from deid_core.labels import Label
from deid_core.language.fragments import UNIT

from ..rule import Rule

_UNIT = re.compile(UNIT, re.VERBOSE | re.IGNORECASE)


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
    pattern=re.compile(
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
    pattern=re.compile(r"[xX*]{2}-(?P<phi>[0-9]{4})(?![0-9])"),
    score=0.95,
    found=("on file XXX-XX-«9999»", "***-**-«9999»"),
    not_found=("XXX-XX-XXXX", "xxx-xx-99991"),
)

ACCESSION = Rule(
    name="id_accession_shape",
    label=Label.IDNUM,
    # The usual form in pathology: service, two-digit year, running number.
    pattern=re.compile(
        r"[A-Z](?<![\w-].)[A-Z]{0,2}[0-9]{2}-[0-9]{3,7}(?![\w-])(?!\.[0-9])"
    ),
    score=0.75,
    found=("pathology «S24-12345» and «SP24-0912».",),
    not_found=("C5-6", "T12-L1", "COVID-19", "S24-12345-7", "IL17-1000.5"),
)

LONG_CODE = Rule(
    name="id_long_code",
    label=Label.IDNUM,
    # Letters, then as many digits as no dose, level or vertebra has.
    pattern=re.compile(
        r"""
        (?!(?:CPT|NCT|PMID|PMC|ICD|DSM|ISRCTN|ISBN|ISSN|HCPCS)[0-9-])
        [A-Z](?<![\w.,/-][A-Z])[A-Z]{0,3}
        (?:-[0-9]{5,10}|[0-9]{6,10}|[0-9]{3,5}-[0-9]{3,6})(?:-[A-Z0-9]{1,4})?
        (?![\w-])(?![.,][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.6,
    found=(
        "order «E88480165», («G6662432»): «RT-20584-O», «FP-123456».",
        "pump «C8613-53510»",
    ),
    not_found=(
        "NCT01234567",
        "PMID-12345678",
        "CPT-99213",
        "HbA1c 7.2",
        "T12-L1",
        "B12 1000",
        "SARS-CoV-2 12345",
        "L4-5",
    ),
)

CODE_AFTER_NOUN = Rule(
    name="id_code_after_noun",
    label=Label.IDNUM,
    pattern=re.compile(
        r"""
        (?<![a-z])
        (?i:order|accession|specimen|sample|case|claim|encounter|visit|job|ticket|report
          |requisition|confirmation|referral|authorization|study|slide|block|culture)[ ]
        (?P<phi>(?=[0-9-]{0,10}[A-Z])[A-Z0-9]{1,10}(?:-[A-Z0-9]{1,10}){0,2}(?<=[0-9]))
        (?![\w-])(?![.,/][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.7,
    is_valid=lambda match: sum(map(str.isdigit, match["phi"])) >= 5,
    found=("Order «930-C1617» was cancelled, specimen «24B-10293».",),
    not_found=(
        "order D5W 1000",
        "visit 12-03-2024",
        "case 12-YEAR-OLD",
        "order T4N12",
        "order K1000MG",
    ),
)

LONG_NUMBER = Rule(
    name="id_long_number",
    label=Label.IDNUM,
    # Measurements stay under seven digits or carry a unit; identifiers do not.
    pattern=re.compile(r"[0-9](?<![\w.,/+$-][0-9])[0-9]{6,19}(?![\w/-])(?![.,][0-9])"),
    score=0.6,
    is_valid=lambda match: not _UNIT.match(match.string, match.end()),
    found=("see «0012345678» today", "(«7788990»)"),
    not_found=(
        "platelets 250000",
        "viral load 1250000 copies",
        "$1200000",
        "1234567.5",
        "2,1234567",
        "123456",
        "id-1234567",
        "A1234567",
    ),
)

RULES = (
    SSN,
    MASKED_SSN,
    ACCESSION,
    LONG_CODE,
    CODE_AFTER_NOUN,
    LONG_NUMBER,
)
