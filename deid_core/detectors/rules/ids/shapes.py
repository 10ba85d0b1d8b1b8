"""Tell numbers and codes that identify somebody from results, sizes and codes.

`is_identifier` is the default of all rules for numbers: five digits or more, or letters
and digits mixed in the manner of an identifier, identify, unless the value has one of
`FORMS`, one of `CUES` precedes it or one of `UNITS` follows it.
"""

from __future__ import annotations

import re

from deid_core.language.fragments import UNIT, ends_with

from ..dates.numeric import is_date

_FLAGS = re.VERBOSE | re.IGNORECASE
_LEAST_DIGITS = 5
_LEAST_DIGITS_WITH_LETTERS = 4
_HOUR_AND_MINUTE = "(?:[01][0-9]|2[0-4])[0-5][0-9]"

FORMS: dict[str, str] = {
    "a number with a unit or suffix: 1200mg, 1980s, 600/24h": r"""
        [0-9]+(?:[./-][0-9]+)*-?(?-i:[a-z]{2,12}|[cdghklmsuxzFGHKLMUZ])
        (?:[/-](?:[a-z]+|[0-9]{1,3}[a-z]*))*
    """,
    "a number with a unit, in capitals": rf"""
        [A-Z]?[0-9]+(?:[./-][0-9]+)*{UNIT}(?:/[a-z0-9]+)*
    """,
    "sizes: 3.5x28, 7.2x5.1x2.8": r"""
        [a-z]?[0-9.]+(?:(?-i:[a-z]{0,2})x[0-9.]+)+(?-i:[a-z]{0,2})(?:/[0-9]+)?
    """,
    "values side by side: 148/91, 875/125, 7.41/38/92, 36.5-37.2": r"""
        [0-9]{1,4}(?:[./][0-9]{1,4})+(?:-[0-9.]{1,4})?
    """,
    "decimals: 35.875, 12-13.5-15, 35.875K2": (
        r"(?=[0-9-]{0,9}\.[0-9]{1,3}(?:-|K|\Z))[0-9.-]+(?:K[0-9])?"
    ),
    "ranges side by side: 122-134/78-86": (
        r"[0-9.]{1,4}-[0-9.]{1,4}/[0-9.]{1,4}(?:-[0-9.]{1,4})?"
    ),
    "a range or a result: 100-140, 15-110, 5076-52": (
        r"[0-9]{1,3}-[0-9]{1,3}|[0-9]{4}-[0-9]{1,2}"
    ),
    "two times or years: 0900-0920, 2015-2025": rf"""
        {_HOUR_AND_MINUTE}-{_HOUR_AND_MINUTE}|(?:19|20)[0-9]{{2}}-(?:19|20)[0-9]{{2}}
    """,
    "scores in a row: 2-1-2-0-1, 0-2-138, 93-86-79-72": r"""
        [0-9](?:-[0-9]{1,3}){2,8}|[0-9]{2}(?:-[0-9]{2}){3,8}|[0-9]{1,2}0(?:-[0-9]{1,2}0){2}
    """,
    "hours: 07h00, 1430h, 0020Z": r"[0-9]{2}h[0-9]{2}|[0-9]{4}(?:h|z|hrs?)",
    "pregnancies: G2P1001, P3013": r"(?:G[0-9]{1,2})?(?:T?P)[0-9]{1,4}(?:A[0-9])?",
    "ICD-10: S72.001A, E11.65": r"[A-TV-Z][0-9][0-9AB](?:\.[0-9A-Z]{1,4})",
    "HCPCS, CDT: J3380, D7140-F1": r"[A-EGHJ-MP-V][0-9]{4}(?:-[0-9A-Z]{2})?",
    "CPT with a modifier: 99214-25, 92928-LD": r"[0-9]{5}-(?:[0-9]{2}|[A-Z]{2})",
    "a variant: V600E, c.68_69del, 185delAG": r"""
        [A-Z][0-9]{1,4}[A-Z*](?:/[A-Z0-9]+)?|(?-i:[cgmnp])\.\S*
        |[0-9_]+(?:del|ins|dup)[ACGT]*|[A-Z]{3}[0-9]{1,4}(?:[A-Z]{3}|fs)
    """,
    "a chromosome's bands: 5q13q33": r"[0-9xy]{1,2}[pq][0-9.]+(?:[pq][0-9.]+)?",
    "vertebrae, blocks of tissue: T11-12, A10-A11": (
        r"[A-Z][0-9]{1,2}(?:[/-][A-Z]?[0-9]{1,2})+"
    ),
    "a value at its name: BP118/66, FEF25-75, HR83": (
        r"[A-Z]{1,6}[0-9]{1,3}(?:(?:/[0-9]{1,3}){1,2}|-[0-9]{1,3})?"
    ),
    "a coma scale: E3V4M5": r"E[1-4][VT][1-5T]?M[1-6]",
    "a model: 2008T, 6935M-62, 5086MRI": r"[0-9]{4}[A-Z]{1,3}[0-9]?(?:-[0-9]{2})?",
    "a public register: NCT01234567": r"""
        (?:NCT|PMID|PMC|ISRCTN|ISBN|ISSN|DOI|CPT|ICD|DSM|HCPCS|LOINC|CAS|ATC|COVID|SARS)
        [-0-9].*
    """,
    "a drug on trial: MK-3475, LY2835219, BMS-986165": r"""
        MK-?[0-9]{4}|PF-?0[0-9]{7}
        |(?:LY|BMS|AZD|ABBV|GSK|JNJ|ONO|SAR|REGN|MEDI|INCB|RO)-?[0-9]{4,8}
    """,
    "a trial: RTOG0539, KEYNOTE-522": (
        r"(?:RTOG|NSABP|SWOG|ECOG|CALGB|ANBL|AALL|AHEP|ACNS|NRG|EA)-?[0-9]{4}"
    ),
    "a gene: SLC26A4, C9orf72": r"[A-Z]{2,5}[0-9]{1,2}[A-Z][0-9]{1,2}",
    "a class: A2L3B2": r"A[1-3]L[1-4]B[1-3]p?",
}
"""What no identifier looks like, by an example of each form."""

CUES: dict[str, str] = {
    "a clinical vocabulary": r"""
        \b(?:CPTs?|HCPCS|ICD(?:-?(?:9|10|O|11))?(?:-?(?:CM|PCS))?|LOINC|SNOMED(?:[ ]CT)?
          |RxNorm|RxCUI|(?:MS-?)?DRG|ATC|CAS|NDC|CDT|CVX|UMLS|MeSH|OMIM|ORPHA|dbSNP|E/M
          |bill(?:ed|ing)?|(?:procedure|dx|diagnos[ei]s)[ ]codes?)
        (?:[ ](?:codes?|no\.?|id))?[^a-z;\n]{0,40}
        (?:\b(?:x|and|or|no|with)\b[^a-z;\n]{0,16}){0,3}
    """,
    "a model": r"""
        \b(?:model|mod\.?|cat(?:alog(?:ue)?)?\.?|version|ver\.?)
        (?:[ ]?(?:no\.?|number|\#))?[ ]?:?[ ]{0,2}
    """,
    "antigens, strains": r"\b(?:HLA|ATCC|strain|serotype|antigen)[- ]?",
}
"""What precedes values that identify nobody."""

RESULTS = r"""
    (?:\b(?:wbcs?|rbcs?|plts?|plat(?:elet)?s?|bnp|nt-?pro-?bnp|ck|cpk|ferritin|b?-?hcg
        |vl|viral[ ]load|ldh|lipase|amylase|alt|ast|psa|cea|afp|ca-?[0-9-]{2,5}|ige
        |d-?dimer
        |troponin|trop|myoglobin|copies|counts?|cells|anc|cfu|gluc(?:ose)?|mic|dna|rna
        |thyroglobulin|titer|epi(?:nephrine)?|heparin|units?|dose|total|score)
      (?:[ ](?:of|is|was|to|at|level|count|up|down|now|about|from|peak(?:ed)?)){0,4}
      [ ]?[:=<>~]?[ ]{0,2}(?:[0-9.,]{1,9}[ ]?(?:->|to|-|,|/)[ ]?)?
      |(?<![\w-])[0-9]{5}(?:[ ]x[0-9]{1,2})?,[ ]
      |[$\u00a3\u20ac<>~]|\b(?:rs|usd|1:|php|ksh|ngn|inr)\.?[ ]?)
"""
"""What precedes counts, results, lists of procedures ("97161, 95992") and sums."""

COUNTED = rf"""
    (?:{UNIT}
      |[ ]?(?:/|x[ ]?[0-9]|\u00b0|->)
      |,[ ][0-9]{{5}}(?![0-9])
      |[ ]?(?:k?cal|gy|cgy|kv|ma|mci|mbq|j|joules?|rpm|steps|feet|ft|meters?|people
        |patients|nuclear|platelets|cells|rbcs?|wbcs?|hpf)\b)
"""
"""What follows them."""

_FORM = re.compile("|".join(f"(?:{form})" for form in FORMS.values()), _FLAGS)
_CUE = re.compile(rf"(?:{'|'.join(CUES.values())})\Z", _FLAGS)
_RESULT = re.compile(rf"{RESULTS}\Z", _FLAGS)
_COUNTED = re.compile(COUNTED, _FLAGS)
_DATE = re.compile(r"([0-9]{1,4})([-/.])([0-9]{1,2})\2([0-9]{1,4})")
_CODE = re.compile("[0-9][A-Z]+[0-9]|[A-Z]{2}[-/][A-Z]{2,6}[-/][0-9]{3}")


def is_identifier_shaped(value: str) -> bool:
    """Return whether a value alone looks like an identifier."""
    digits = sum(map(str.isdigit, value))
    if digits < _LEAST_DIGITS_WITH_LETTERS - 1 or _FORM.fullmatch(value):
        return False
    if is_date_shaped(value) or _is_range(value):
        return False
    letters = sum(map(str.isalpha, value))
    if not letters:
        return digits >= _LEAST_DIGITS
    if digits >= _LEAST_DIGITS or (
        digits >= _LEAST_DIGITS_WITH_LETTERS and letters > 1
    ):
        return True
    return len(value) > _LEAST_DIGITS and _CODE.search(value) is not None


def is_date_shaped(value: str) -> bool:
    """Return whether a value is a date of three numbers."""
    date = _DATE.fullmatch(value)
    return date is not None and is_date(date[1], date[3], date[4])


def _is_range(value: str) -> bool:
    """Return whether a value is two numbers, the first a little less: "500-1000"."""
    first, _, last = value.partition("-")
    return (
        first.isdigit()
        and last.isdigit()
        and first[0] != "0"
        and len(last) < _LEAST_DIGITS
        and int(first) < int(last)
        and len(last) - len(first) <= 1
    )


def is_identifier(match: re.Match[str]) -> bool:
    """Return whether a value looks like an identifier in its place."""
    text, (start, end) = match.string, match.span("phi")
    if not is_identifier_shaped(match["phi"]) or ends_with(
        _CUE, text, start, within=48
    ):
        return False
    return any(map(str.isalpha, match["phi"])) or not (
        _COUNTED.match(text, end) or ends_with(_RESULT, text, start, within=48)
    )
