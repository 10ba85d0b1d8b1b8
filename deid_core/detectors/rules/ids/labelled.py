"""Rules for identifiers after a label: Safe Harbor (G) to (K) and (R).

The value must have digits; the label stays in the text.  The ``_BARE`` rules need no
mark after a common word ("policy no. ..."), but a value as long as an identifier.
"""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import words

from .labelled_rule import SEPARATOR, VALUE, has_digits, labelled_rule

_FLAGS = re.VERBOSE | re.IGNORECASE
_CARDS = (
    r"(?:visa|master[ ]?card|amex|american[ ]express|discover|diners|jcb|unionpay"
    r"|(?:credit|debit|bank|payment)[ ]card|card)"
)
_PLANS = r"""
    (?:insur(?:ance)?(?:[ ]plan)?|policy|medicare|medicaid|medi-cal|tricare|bcbs|hbn
      |blue[ ]cross(?:[ ](?:and[ ])?blue[ ]shield)?|aetna|cigna|humana|kaiser|anthem
      |united[ ]?health(?:care)?|uhc|beneficiary|subscriber|member(?:ship)?|payer
      |medical[ ]aid(?-i:[ ][A-Z][A-Za-z]{2,20})?|philhealth|dva(?:[ ](?:gold|white))?
      |ndis(?:[ ]plan)?|medibank|bupa)
"""


LABELLED_SSN = Rule(
    name="ssn_labelled",
    label=Label.SSN,
    # No check of plausibility: what is called an SSN is treated as one.
    pattern=LazyPattern(
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

MRN = labelled_rule(
    "mrn_labelled",
    Label.MEDICALRECORD,
    bare=(
        *words("mrn emrn cmrn empi m.r.n. medrec uhid h&c bht b.h.t. docket ohip emis"),
        "medical record",
        "medical records",
        "med rec",
        *("med. rec.", "med.rec."),
        *("ip no", "op no", "opd no", "mr no", "hosp no", "hospital no", "folder no"),
        *("opd ticket", "0pd ticket", "clinic no", "tb reg", "anc no", "file no"),
    ),
    marked=(
        *words("mr patient pt chart hospital hosp unit folder file card clinic temp"),
        *words("ur nhi phn chi hn hrn mpi urn rn ip hcn fcn nhn pmi pid anc"),
    ),
    digits=3,
    score=0.97,
    found=(
        "MRN: «00123456», mrn#«12-34-567», MRN «A1234567»",
        "Medical Record Number: «7788990» and medical record no. «123 456 789»",
        "patient ID «P-10293», Pt ID: «555123», chart #«99812»",
        "MRN is «4455667». MR# «12345», patient's number «88771»",
        "MedRec# «CM-30771», MRN «771-20-84-K», TB Reg. No. «13482/TB/0117/24»",
        "HOSP NO «GRH 55-20-71», IP No  «SDH/IP/24/09117», UHID: «20-118842»",
        "NHI «KTM4816», PHN «9071 448 206», CHI «230591 6248», UR «700418-9»",
        "Folder «0092-4471», chart «NS-2088», OHIP «5530 118 447 VK», ANC «0041/25»",
        "our RN «JHI 00442-25», B.H.T. No. «2l8/O7», FILE «MFC-2025-33108»",
        "OPD TICKET NO «88147», docket «BHC-1147», MR No «KTH-ll82O4», PID# «445566»",
    ),
    not_found=(
        "MRN: pending",
        "medical records 2 pages",
        "patient is 45",
        "Mr. 123, Mr. Roe 3/4/2024",
        "Seen in clinic. CPT 99214. Seen in clinic. MRC 48/60",
        "MRN 12 mg",
        "patient 1234, chart 0930, file 2024, unit 300, card 12/2024",
        "PT: L-test 28.1, hospital: one 9/10",
        "ANC 1200, ANC 0.4, RN 1855, UR 1500, IP 2, CHI 120-130, MR 12 weeks",
        "MRN 12/03/2024, chart reviewed 3/4, patient 120/80",
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
        *words("insured medicare medicaid group payer payor hic hicn mbi hmo ppo plan"),
        *words("enrollee secondary"),
        *("medical aid", "health card", "ins card", "copay card"),
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
        "Group No: «80231»; health plan id «HP10023», plan «4XH7-CV2-QR18»",
        "policy «SK/HLT/5538/0071», ENROLLEE «CCH/OSG/22841/B»",
        "member «DDO 774 11 902»",
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
    bare=words("account acct acc't invoice iban routing"),
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
        *words(
            "dea npi upin license licence lic certificate registration gmc ahpra mdcn"
        ),
        *("cdl", "oln", "nmc pin", "hcpc", "mdcn folio", "reg no", "prc no", "ptr no"),
        "driver license",
        "driver's license",
        "drivers license",
    ),
    digits=4,
    score=0.92,
    found=(
        "NPI «1234567893», DEA# «AB1234563»",
        "driver's license «D123-4567-8901», License No. «A12345», GMC «7041188»",
        "lic «KY 1842DT», CDL «MS 801-56-2093», MDCN FOLIO «33871», Reg No «C.10472»",
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
    bare=(
        *("reference number", "reference no", "ref no", "badge", "tag", "permit"),
        *("key safe", "incident", "lab no", "case no", "claim no", "charge no"),
        *("unos", "grievance no", "form no", "cert no", "facility no", "slide no"),
    ),
    marked=(
        *words("acc accn csn fin har id sis din unos ref fsn"),
        *words("accession acc accn specimen encounter visit case csn fin har order"),
        *words("requisition claim confirmation authorization auth passport"),
        *words("badge employee study subject tax national student military record"),
        *words("document job dictation id nhs nric prescription rx transaction ticket"),
        *words("tracking identification run trip form seal slide token doc"),
        *words("courier cert fsn docket grievance referral report voucher facility"),
        *words("block culture sticker band bag donor unos din incident payroll job"),
    ),
    digits=3,
    score=0.9,
    found=(
        "Accession #: «S24-12345», specimen number «2024A778»",
        "reference number «AA-10023»",
        "Encounter ID «9988776», visit no. «12345678», Case #«CR-4411»",
        "ID: «E445566», job id: «77123», Order «930-C1617», specimen «24B-10293»",
        "badge «3046», tag «0917», acc «19-332-0865», form «DA 2291»",
        "(REF «PVD 7718»), slide no «42/25», key safe «4471»",
        "indigency cert. «2024-1190»",
        "ID «830417 0482 08 5», Health ID «MHB 5163 9027 03», UNOS «AGKB263»",
    ),
    not_found=(
        "visit 1234, case 0730, block 2023, ref 4500, skin tag 3 mm, report 2024",
        "ID 120/80, form 12/2024, order D5W 1000, case 12-YEAR-OLD, order T4N12",
        "order K1000MG, Rx: LR 500 over 1 hr, RX: O2 15 LPM, NS 1000, visit 12-03-2024",
        "case: 45 year old",
        "ID: 3 days",
        "order: 1000 mg",
        "Visit #: 12/03/2024",
        "Paid: 5000",
        "reference: 135-145, ref 3500-4500",
    ),
)

SSN_LAST_FOUR = Rule(
    name="ssn_last_four",
    label=Label.SSN,
    pattern=LazyPattern(
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

HEALTHPLAN_BARE = Rule(
    name="health_plan_bare",
    label=Label.HEALTHPLAN,
    pattern=LazyPattern(
        rf"""
        (?<![a-z]){_PLANS}(?![a-z])
        (?:[ ](?:id|number|no|card|policy|plan|member|is)\b\.?){{0,3}}
        [ ]?[:\#]?[ ]{{0,2}}\#?
        {VALUE}
        """,
        _FLAGS,
    ),
    score=0.9,
    is_valid=lambda match: has_digits(match, 5),
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
    pattern=LazyPattern(
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
    pattern=LazyPattern(
        r"""
        (?<![\w/.])(?:DL|D/L|OLN|CDL)(?:[ ]?(?:\#|:|[Nn]o\.?|[Nn]umber|ID)){1,2}[ ]{0,2}
        (?P<phi>[A-Z]{0,3}[0-9][A-Z0-9-]{4,18})(?![\w%])(?![.,/][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.9,
    is_valid=lambda match: has_digits(match, 5),
    found=("DL# «D1234567», DL: «S530-4601-2345», CDL no. «123456789»",),
    not_found=("mg/dL: 14000", "dl: 123456", "DL 1234567", "DL: 12 mg"),
)

NATIONAL_ID = labelled_rule(
    "id_national",
    Label.IDNUM,
    bare=(
        *words("nhs nric aadhaar aadhar hkid mykad mykid passport ein tin nino curp"),
        *words("cnic cnlc bvn ppsn philhealth trn kvnr rfc"),
        "national insurance",
        "social insurance",
        "identity card",
        "national id",
        "nric/fin",
    ),
    marked=words("ic nic nin pps ni eid sss"),
    digits=5,
    # Above the phone rules: ten digits in 3-3-4 are what the label says.
    score=0.97,
    found=(
        "NHS «943 476 5919», NRIC «S1234567A», passport «E12345678»",
        "Passport no: «123456789», Aadhaar «234123412345»",
        "social insurance number «046 454 286», EIN «12-3456789»",
        "HKID «K482917(4)», NI «TN 48 21 93 B», NIC «667341182V», IC «341208-08-5144»",
        "CNIC «36601-7718204-3», NHS No. «999 850 6174», Aadhaar: «7318 9462 0518»",
    ),
    not_found=(
        "IC 120 80",
        "NHS trust",
        "passport expires 2024",
        "tin of 12345",
        "NHS 24 hours",
    ),
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
    not_found=("site 1234", "sample: 12 mL", "donor: 45 year old", "device 3"),
)

RULES = (
    LABELLED_SSN,
    MRN,
    HEALTHPLAN,
    ACCOUNT,
    LICENSE,
    IDNUM,
    SSN_LAST_FOUR,
    HEALTHPLAN_BARE,
    CARD_ENDING,
    DRIVING_LICENSE,
    NATIONAL_ID,
    SITE_AND_STUDY,
)
