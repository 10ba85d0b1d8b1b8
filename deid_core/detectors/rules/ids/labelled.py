"""Rules for numbers that identify a person: Safe Harbor (G) to (K) and (R).

A labelled value must hold digits; the label's words stay in the text.
"""

from __future__ import annotations

import re

from deid_core.labels import Label
from deid_core.language.fragments import words

from ..rule import Rule
from .labels import SEPARATOR, labelled_rule


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

LABELLED_SSN = Rule(
    name="ssn_labelled",
    label=Label.SSN,
    # No check of plausibility: what is called an SSN is treated as one.
    pattern=re.compile(
        rf"""
        (?<![a-z])
        (?:ssn|ss\#|s\.s\.n\.?|soc(?:ial)?\.?[ ]sec(?:urity)?|itin)
        {SEPARATOR}(?:last[ ](?:4|four)[ :]{{0,2}})?
        (?P<phi>[0-9]{{3}}[- ]?[0-9]{{2}}[- ]?[0-9]{{4}}
               |(?:[x*]{{3}}-?[x*]{{2}}-?)?[0-9]{{4}})
        (?![0-9])
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.98,
    found=(
        "SSN: «219099999», social security number is «666-12-3456»",
        "SSN last 4: «9999», SS# «xxx-xx-9999»",
    ),
    not_found=("SSN: none", "social 219099999", "lessn 219099999", "SSN 21909999"),
)

MASKED_SSN = Rule(
    name="ssn_masked",
    label=Label.SSN,
    pattern=re.compile(r"[xX*]{2}-(?P<phi>[0-9]{4})(?![0-9])"),
    score=0.95,
    found=("on file XXX-XX-«9999»", "***-**-«9999»"),
    not_found=("XXX-XX-XXXX", "xxx-xx-99991"),
)

MRN = labelled_rule(
    "mrn_labelled",
    Label.MEDICALRECORD,
    bare=(
        *words("mrn emrn cmrn empi m.r.n."),
        "medical record",
        "medical records",
        "med rec",
        *("med. rec.", "med.rec."),
    ),
    marked=words("mr patient pt chart hospital unit"),
    digits=3,
    score=0.97,
    found=(
        "MRN: «00123456», mrn#«12-34-567», MRN «A1234567»",
        "Medical Record Number: «7788990» and medical record no. «123 456 789»",
        "patient ID «P-10293», Pt ID: «555123», chart #«99812»",
        "MRN is «4455667». MR# «12345», patient's number «88771»",
    ),
    not_found=(
        "MRN: pending",
        "medical records 2 pages",
        "patient is 45",
        "Mr. 123",
        "MRN 12 mg",
        "patient 12345",
        "unit 5",
        "MRNX 123456",
    ),
)

HEALTHPLAN = labelled_rule(
    "health_plan_labelled",
    Label.HEALTHPLAN,
    marked=(
        *words(
            "member membership subscriber beneficiary policy policyholder insurance ins"
        ),
        *words("insured medicare medicaid group payer hic hicn mbi hmo ppo"),
        "health plan",
        "member policy",
        "insurance policy",
        "group policy",
        "group plan",
    ),
    digits=3,
    score=0.92,
    found=(
        "Member ID: «XYZ123456789», policy number «POL-88123»",
        "Medicare #: «1EG4-TE5-MK73», insurance no. «99-1234-5»",
        "Group No: «80231»; health plan id «HP10023»",
    ),
    not_found=(
        "group of 300",
        "blood group: A",
        "member of 1200",
        "insurance: none",
        "policy 2024",
    ),
)

ACCOUNT = labelled_rule(
    "account_labelled",
    Label.ACCOUNT,
    bare=words("account acct acc't billing invoice iban routing"),
    digits=4,
    score=0.92,
    found=(
        "Account number: «44556677», acct# «A-998877», Acct. «100200300»",
        "IBAN «DE89370400440532013000»",
    ),
    not_found=("on account of 3 falls", "account 1500 mg", "accounting 445566"),
)

LICENSE = labelled_rule(
    "license_labelled",
    Label.LICENSE,
    bare=(
        *words("dea npi upin license licence lic certificate registration"),
        "driver license",
        "driver's license",
        "drivers license",
    ),
    digits=4,
    score=0.92,
    found=(
        "NPI «1234567893», DEA# «AB1234563»",
        "driver's license «D123-4567-8901», License No. «A12345»",
    ),
    not_found=(
        "licensed 2019",
        "ideal 1500",
        "license pending",
        "dead 12345",
        "public 12345",
    ),
)

IDNUM = labelled_rule(
    "id_labelled",
    Label.IDNUM,
    bare=("reference number", "reference no", "ref no"),
    marked=(
        *words("accession acc accn specimen encounter visit case csn fin har order"),
        *words("requisition claim confirmation authorization auth passport"),
        *words("badge employee study subject tax national student military record"),
        *words("document job dictation id nhs nric prescription rx transaction ticket"),
        *words("tracking identification"),
    ),
    digits=4,
    score=0.9,
    found=(
        "Accession #: «S24-12345», specimen number «2024A778»",
        "reference number «AA-10023»",
        "Encounter ID «9988776», visit no. «12345678», Case #«CR-4411»",
        "ID: «E445566», job id: «77123»",
    ),
    not_found=(
        "visit 12345",
        "case: 45 year old",
        "ID: 3 days",
        "order: 1000 mg",
        "Visit #: 12/03/2024",
        "Paid: 5000",
        "reference: 135-145, ref 3500-4500",
    ),
)

RULES = (
    SSN,
    LABELLED_SSN,
    MASKED_SSN,
    MRN,
    HEALTHPLAN,
    ACCOUNT,
    LICENSE,
    IDNUM,
)
