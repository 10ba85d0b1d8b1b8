"""More rules for numbers after a label: Safe Harbor (G) to (K) and (R).

What `identifiers` asks a mark for ("policy no. ...") is found here without one, when
the value has the length and the digits of an identifier.
"""

from __future__ import annotations

import re

from deid_core.labels import Label
from deid_core.language.fragments import UNIT, words

from ..rule import Rule
from .labels import labelled_rule

_FLAGS = re.VERBOSE | re.IGNORECASE
_UNIT = re.compile(UNIT, _FLAGS)
_CARDS = (
    r"(?:visa|master[ ]?card|amex|american[ ]express|discover|diners|jcb|unionpay"
    r"|(?:credit|debit|bank|payment)[ ]card|card)"
)
_PLANS = r"""
    (?:insur(?:ance)?(?:[ ]plan)?|policy|medicare|medicaid|medi-cal|tricare|bcbs|hbn
      |blue[ ]cross(?:[ ](?:and[ ])?blue[ ]shield)?|aetna|cigna|humana|kaiser|anthem
      |united[ ]?health(?:care)?|uhc|beneficiary|subscriber|member(?:ship)?|payer)
"""


def _has_digits(least: int, match: re.Match[str]) -> bool:
    return sum(map(str.isdigit, match["phi"])) >= least and not _UNIT.match(
        match.string, match.end()
    )


SSN_LAST_FOUR = Rule(
    name="ssn_last_four",
    label=Label.SSN,
    pattern=re.compile(
        r"""
        (?<![a-z])
        (?:last[ ](?:4|four)(?:[ ]digits)?
             (?:[ ]of[ ](?:(?:his|her|their|the|a|patient'?s?|pt'?s?)[ ])?)?
             [ ]?(?:ssn|ss\#|soc(?:ial)?(?:[ ]sec(?:urity)?)?(?:[ ](?:number|no\.?))?)
          |(?:ssn|soc(?:ial)?[ ]sec(?:urity)?(?:[ ](?:number|no\.?))?)[ ](?:that[ ])?
             end(?:s|ing)(?:[ ](?:in|with))?)
        (?:[ ]?(?:is|are|was|[:=\#(-])){0,2}[ ]{0,2}
        (?P<phi>[0-9]{4})(?!\w)(?![-./][0-9])
        """,
        _FLAGS,
    ),
    score=0.97,
    found=(
        "last four of SSN «9999», last 4 of his social: «1234»",
        "SSN ending «9999», last 4 SSN is «0042»",
    ),
    not_found=("last 4 years 2020", "last four social visits", "SSN ending"),
)

MRN_BARE = Rule(
    name="mrn_abbreviated",
    label=Label.MEDICALRECORD,
    pattern=re.compile(
        r"""
        (?<![A-Za-z.])
        (?:MR|UHID|HN|HRN|URN|MPI|NHI|NHN|PHN|(?i:hosp(?:ital)?[ ](?:no|num|id)\b\.?)
          |(?:PID|PIN|CHI|HCN|PMI)(?=[ ]?[:\#]))(?![A-Za-z])
        [ ]?(?:[:\#]|[Nn]o\.?|[Nn]umber)?[ ]{0,2}
        (?P<phi>(?:[A-Z]{1,3}-?)?[0-9]{2,10}(?:-[0-9]{1,6}){0,3})(?![\w%])(?![.,/][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.9,
    is_valid=lambda match: _has_digits(5, match),
    found=(
        "MR «1234567», UHID «123456», HN: «12345-67»",
        "URN «A1234567», PID# «445566», Hosp no. «A123456»",
    ),
    not_found=("Mr 1234567", "MR 12 weeks", "PID 12345", "HN 1234", "MR 2.5 12345 mL"),
)

HEALTHPLAN_BARE = Rule(
    name="health_plan_bare",
    label=Label.HEALTHPLAN,
    pattern=re.compile(
        rf"""
        (?<![a-z]){_PLANS}(?![a-z])
        (?:[ ](?:id|number|no|card|policy|plan|member|is)\b\.?){{0,3}}
        [ ]?[:\#]?[ ]{{0,2}}\#?
        (?P<phi>(?=[A-Z0-9-]{{0,12}}[0-9])[A-Z0-9]{{2,20}}(?:-[A-Z0-9]{{1,12}}){{0,4}})
        (?![\w%])(?![.,/][0-9])
        """,
        _FLAGS,
    ),
    score=0.9,
    is_valid=lambda match: _has_digits(5, match),
    found=(
        "policy «XYZ-1234567», insurance plan #«DB-2345678», Member «123456789»",
        "insurance is «QX-789012», insur ID «WX-987654», HBN: «789-456-123»",
        "BCBS ID «XYZ123456789», Medicaid «AB12345C»",
    ),
    not_found=(
        "policy 2024",
        "insurance is pending",
        "member of 12345",
        "Medicare 65 years",
        "insurance in 2020",
    ),
)

CARD_ENDING = Rule(
    name="account_card_ending",
    label=Label.ACCOUNT,
    pattern=re.compile(
        rf"""
        (?<![a-z])(?:{_CARDS}|account|acct)(?:[ ](?:number|no\.?|\#))?
        (?:[ ]on[ ]file)?,?[ ](?:that[ ])?end(?:s|ing)[ ](?:in|with)[ ]
        (?P<phi>[0-9]{{3,6}})(?!\w)
        """,
        _FLAGS,
    ),
    score=0.92,
    found=("MasterCard ending in «4444», account ending in «9912»",),
    not_found=("ending in 2024", "nerve ending in 4444", "discard ending in 4444"),
)

DRIVING_LICENSE = Rule(
    name="license_driving",
    label=Label.LICENSE,
    # "mg/dL: 14000" is a concentration.
    pattern=re.compile(
        r"""
        (?<![\w/.])(?:DL|D/L|OLN|CDL)(?:[ ]?(?:\#|:|[Nn]o\.?|[Nn]umber|ID)){1,2}[ ]{0,2}
        (?P<phi>[A-Z]{0,3}[0-9][A-Z0-9-]{4,18})(?![\w%])(?![.,/][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.9,
    is_valid=lambda match: _has_digits(5, match),
    found=("DL# «D1234567», DL: «S530-4601-2345», CDL no. «123456789»",),
    not_found=("mg/dL: 14000", "dl: 123456", "DL 1234567", "DL: 12 mg"),
)

NATIONAL_ID = labelled_rule(
    "id_national",
    Label.IDNUM,
    bare=(
        *words("nhs nric aadhaar aadhar hkid mykad passport ein tin nino curp"),
        "national insurance",
        "social insurance",
        "identity card",
        "national id",
        "nric/fin",
    ),
    digits=5,
    # Above the phone rules: ten digits in 3-3-4 are what the label says.
    score=0.97,
    found=(
        "NHS «943 476 5919», NRIC «S1234567A», passport «E12345678»",
        "Passport no: «123456789», Aadhaar «234123412345»",
        "social insurance number «046 454 286», EIN «12-3456789»",
    ),
    not_found=("NHS trust", "passport expires 2024", "tin of 12345", "NHS 24 hours"),
)

SITE_AND_STUDY = labelled_rule(
    "id_study",
    Label.IDNUM,
    bare=("study id", "subject id", "participant id", "enrollment id"),
    marked=(
        *words("site trial participant enrollment registry donor recipient sample"),
        *words("barcode voucher contract device student employee staff personnel"),
    ),
    digits=3,
    score=0.85,
    found=("Site ID: «98765», donor #«D-4471», sample no. «77123»",),
    not_found=("site 12345", "sample: 12 mL", "donor: 45 year old", "device 3"),
)

RULES = (
    SSN_LAST_FOUR,
    MRN_BARE,
    HEALTHPLAN_BARE,
    CARD_ENDING,
    DRIVING_LICENSE,
    NATIONAL_ID,
    SITE_AND_STUDY,
)
