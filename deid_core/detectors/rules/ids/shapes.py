"""Tell numbers and codes that identify somebody from results, sizes and codes.

`is_identifier` is the default of all rules for numbers: five digits or more, or letters
and digits mixed in the manner of an identifier, identify.  The exceptions are values
of `FORMS_OF_NUMBERS` and `FORMS_WITH_LETTERS`, and clinical values, which no detector
may take for an identifier (`is_clinical_value`): `CODES_BY_FORM`, what follows one of
`VOCABULARIES` or `MODELS`, and numbers that follow a drug or something measured (the
list "measures") or are `COUNTED`.
"""

from __future__ import annotations

import re

from deid_core.detectors.rules.dates.numeric import is_date
from deid_core.language.fragments import UNIT, any_of, words
from deid_core.language.lexicons import is_ordinary, load_list
from deid_core.language.lexicons.word_classes import WordClass, word_classes

_FLAGS = re.VERBOSE | re.IGNORECASE
_LEAST_DIGITS = 5
_LEAST_DIGITS_WITH_LETTERS = 4
_LEAST_OF_NO_RESULT = 7
_HOUR_AND_MINUTE = "(?:[01][0-9]|2[0-4])[0-5][0-9]"

FORMS_OF_NUMBERS: dict[str, str] = {
    "values side by side: 148/91, 875/125, 7.41/38/92, 36.5-37.2": r"""
        (?!(?:19|20)[0-9]{2}/0[0-9]{3}\Z|[0-9]{4}\.[0-9]{2}\.[0-9]{3}\Z
          |[0-9]{3}\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}\Z)
        [0-9]{1,4}(?:[./][0-9]{1,4})+(?:-[0-9.]{1,4})?
    """,
    "decimals: 35.875, 12-13.5-15": r"(?=[0-9-]{0,9}\.[0-9]{1,3}(?:-|\Z))[0-9.-]+",
    "ranges side by side: 122-134/78-86": (
        r"[0-9.]{1,4}-[0-9.]{1,4}/[0-9.]{1,4}(?:-[0-9.]{1,4})?"
    ),
    "a range or a result: 100-140, 15-110, 5076-52": (
        r"[0-9]{1,3}-[0-9]{1,3}|[0-9]{4}-[0-9]{1,2}"
    ),
    "two times or years: 0900-0920, 2015-2025": rf"""
        {_HOUR_AND_MINUTE}-{_HOUR_AND_MINUTE}|(?:19|20)[0-9]{{2}}-(?:19|20)[0-9]{{2}}
    """,
    "a visit's code with a modifier: 99214-25": r"99[0-9]{3}-[0-9]{2}",
    "scores in a row: 2-1-2-0-1, 0-2-138, 93-86-79-72": r"""
        [0-9](?:-[0-9]{1,3}){2,8}|[0-9]{2}(?:-[0-9]{2}){3,8}|[0-9]{1,2}0(?:-[0-9]{1,2}0){2}
    """,
}
"""Numbers that identify nobody, by an example of each form."""

FORMS_WITH_LETTERS: dict[str, str] = {
    "a number with a unit or suffix: 1200mg, 1980s, 600/24h": r"""
        (?:[0-9]{1,6}(?:[./-][0-9]{1,6})*-?(?-i:[a-z]{2,12}|[cdghklmsuxzUK])
          |[0-9]{1,4}(?:[./-][0-9]{1,4})*-?(?-i:[FGHLMZ]))
        (?:[/-](?:[a-z]+|[0-9]{1,3}[a-z]*))*
    """,
    "a number with a unit, in capitals": rf"""
        [A-Z]?[0-9]+(?:[./-][0-9]+)*{UNIT}(?:/[a-z0-9]+)*
    """,
    "sizes: 3.5x28, 7.2x5.1x2.8": r"""
        [a-z]?[0-9.]+(?:(?-i:[a-z]{0,2})x[0-9.]+)+(?-i:[a-z]{0,2})(?:/[0-9]+)?
    """,
    "keratometry: 35.875K2": r"[0-9.]+K[12]?",
    "hours: 07h00, 1430h, 0020Z": r"[0-9]{2}h[0-9]{2}|[0-9]{4}(?:h|z|hrs?)",
    "pregnancies: G2P1001, P3013": r"(?:G[0-9]{1,2})?(?:T?P)[0-9]{1,4}(?:A[0-9])?",
    "ICD-10: S72.001A, E11.65": r"[A-TV-Z][0-9][0-9AB](?:\.[0-9A-Z]{1,4})",
    "HCPCS, CDT: J3380, D7140-F1": r"[A-EGHJ-MP-V][0-9]{4}(?:-[0-9A-Z]{2})?",
    "CPT with a modifier: 92928-LD": r"[0-9]{5}-[A-Z]{2}",
    "a variant: V600E, JAK2V617F, c.68_69del, 185delAG": r"""
        [A-Z][0-9]{1,4}[A-Z*](?:/[A-Z0-9]+)?|(?-i:[cgmnp])\.\S*
        |[0-9_]+(?:del|ins|dup)[ACGT]*|[A-Z]{3}[0-9]{1,4}(?:[A-Z]{3}|fs)
        |[A-Z]{2,5}[0-9]{0,2}[A-Z][0-9]{1,3}[A-Z]
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
    # A case or an accession ("CAS-2024-1190", "ICD-24-00318") has a form of its own.
    "a public register: NCT01234567": r"""
        (?:NCT|ISRCTN|PMID|PMC)-?[0-9]{5,8}|IS[BS]N-?[0-9-]{7,17}X?|DOI-?10\..*
        |CAS-?[0-9]{2,7}-[0-9]{2}-[0-9]|LOINC-?[0-9]{4,5}-[0-9]|ATC-?[A-Z][0-9]{2}.*
        |(?:CPT|HCPCS)-?[A-Z]?[0-9]{4,5}[FTU]?(?:-[0-9A-Z]{2})?
    """,
    "a classification's edition, with a code: ICD-10-CM, ICD10-E11.65, DSM-5-TR": r"""
        (?:ICD|DSM|COVID|SARS)-?(?:O-?)?[0-9]{1,2}(?:-?[A-Z]{1,3})?
        (?:[-:][A-Z][0-9][0-9A-Z](?:\.[0-9A-Z]{1,4})?|-?[0-9]{3}\.[0-9]{1,2})?
        |SARS-?CoV-?[0-9].*
    """,
    "a drug on trial: MK-3475, LY2835219, BMS-986165": r"""
        MK-?[0-9]{4}|PF-?0[0-9]{7}|(?:AZD|ABBV|ONO|REGN|MEDI)-?[0-9]{3,4}
        |(?:LY|GSK)-?[0-9]{6,7}|(?:BMS|INCB)-?[0-9]{5,6}|JNJ-?[0-9]{8}
        |SAR[0-9]{6}|RO[0-9]{7}
    """,
    "a trial: RTOG0539, KEYNOTE-522": (
        r"(?:RTOG|NSABP|SWOG|ECOG|CALGB|ANBL|AALL|AHEP|ACNS|NRG)-?[0-9]{4}|EA[0-9]{4}"
    ),
    "a gene: SLC26A4, C9orf72": r"[A-Z]{2,5}[0-9]{1,2}[A-Z][0-9]{1,2}",
    "a value glued to the next test: 102CO2": (
        r"[0-9]{1,3}(?:\.[0-9])?(?:CO2|HCO3|PCO2|PO2|SPO2|O2|FT4|T3|T4|B12)"
    ),
    "a class: A2L3B2": r"A[1-3]L[1-4]B[1-3]p?",
}
"""Codes, results and names that identify nobody, by an example of each form."""

CODES_BY_FORM: dict[str, str] = {
    "a tumour's stage: T3N2M0, pT1cN0M0": r"""
        (?-i:[acmpry]{0,3}T(?:[0-4][a-d]?|is|[xX])N(?:[0-3][a-c]?|[xX])M(?:[01][a-c]?|[xX]))
    """,
    "a sequence: NM_000492.4, ENST00000357654": r"""
        (?-i:[NX][CGMPRW]_[0-9]{6,9}|ENS[EGPRT][0-9]{11})(?:\.[0-9]{1,2}(?::\S*)?)?
    """,
    "a virus: SARS-CoV-2": (
        r"(?:SARS-?CoV|COVID|HHV|HIV|HPV|HSV|HTLV|EV|PIV)-?[0-9]{1,2}|H[0-9]{1,2}N[0-9]"
    ),
    "a marker, a screening's year: Ki-67, CD34, PD-L1, NRS-2002": (
        r"Ki-?67|CD[0-9]{1,3}|PD-?L[12]|HER-?2|NRS-?2002"
    ),
    "a variant: rs113993960, chr7:117559590": (
        r"(?-i:rs[0-9]{4,11}|chr(?:[0-9]{1,2}|[MXY])(?::[0-9-]+)?)"
    ),
}
"""Codes that nothing else looks like, by an example of each form."""

PLATES: dict[str, str] = {
    "United Kingdom: LR71 KQP": r"[A-Z]{2}[0-9]{2}[ ]?[A-Z]{3}",
    "East Africa: UEP 447T": r"[A-Z]{3}[ ]?[0-9]{3}[A-Z]",
    "Nigeria: KJA-812XR": r"[A-Z]{3}[- ]?[0-9]{3}[A-Z]{2}",
    "aircraft of the United States: N72SH": r"N[0-9]{2,4}[A-Z]{2}",
}
"""Plates of vehicles that resemble nothing else, in capitals, by country."""

VOCABULARIES = load_list("code_systems")
"""Clinical vocabularies: codes and lists of codes follow."""
MODELS = load_list("model_cues")
"""What is no single thing's: its model's number follows."""
_SHORT_CODE = re.compile(r"[A-Z]?[0-9][0-9A-Z.-]{1,7}", re.IGNORECASE)
_FORMS_OF_CODES = {
    **dict.fromkeys(
        words("cpt cpts hcpcs icd drg cdt cvx billed billing e/m"), _SHORT_CODE
    ),
    "cas": re.compile(r"[0-9]{2,7}-[0-9]{2}-[0-9]"),
}
"""The forms of codes, where other numbers may follow the word: "CAS 88/04/2022"."""
# At each place at most one of them matches, so nothing is tried twice.
_BETWEEN_CODES = r"""
    [0-9]{0,2}
    (?:[-\s:#=,+&/*"']|[.](?=[0-9A-Z])|\([^()\n]{1,80}\)
      |(?:and|or|no|with|codes?|ct|cm|pcs|id|number)\b
      |(?<![0-9A-Z])(?=[A-Z]{0,3}[0-9])[0-9A-Z]{1,16}(?![0-9A-Z])){0,60}
"""
_BEFORE_RESULT = r"""
    (?:[ ](?:of|is|was|to|at|level|count|total|up|down|now|about|from|peak(?:ed)?|today
      |(?:per|a)[ ](?:day|week|month))){0,4}
    [ ]?[:=<>~]?[ ]{0,2}
    (?:[0-9.,]{1,9}[ ]?(?:->|to|-|,|/|\(?(?:was|from|prev(?:ious(?:ly)?)?|prior))[ ]?)?
"""

COUNTED = rf"""
    (?:{UNIT}
      |[ ]?(?:[dfkmnu\u00b5]?(?:g|l|mol|iu|u|eq|osm|kat)|copies|cells|steps|cfu)
        /(?:[dfmnu\u00b5]?l|[km]?g|m?mol|min|hr?|24h|day|d|hpf
          |lpf|mm3|cm2|m2|sec|s)(?![a-z0-9])
      |[ ]?[dfkmnu\u00b5]?(?:mol|iu|eq|osm|gy|sv|bq)(?![a-z0-9])
      |[ ](?:(?:a|an|per|each|every)[ ](?:minute|hour|day|night|week|month|year)
          |hourly|daily|nightly|weekly|monthly|anti-?xa)\b
      |[ ]?(?:k?cal|[cm]?gy|kv|ma|mci|mbq|j|joules?|rpm|steps|feet|ft|meters?|people
        |patients|nuclear|platelets|cells|rbcs?|wbcs?|hpf)\b)
"""
"""What follows what is counted or measured."""
_IN_A_ROW = re.compile(
    r"[ ]?(?:/|x[ ]?[0-9]|\u00b0|->)|,[ ]9[0-9]{4}(?![0-9])", re.IGNORECASE
)
"""What follows a number in a row of them."""


def _any_form(forms: dict[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{form})" for form in forms.values()), _FLAGS)


_NUMBER, _WITH_LETTERS = _any_form(FORMS_OF_NUMBERS), _any_form(FORMS_WITH_LETTERS)
_CODE_BY_FORM = _any_form(CODES_BY_FORM)
_PLATE = re.compile("|".join(PLATES.values()))
_CODE_CUE = re.compile(
    rf"\b(?P<vocabulary>{any_of(VOCABULARIES)}){_BETWEEN_CODES}\Z"
    rf"|\b(?:{any_of(MODELS)})\.?(?:[ ]?(?:no\.?|number|\#))?[ ]?[:*-]?[ ]{{0,2}}\Z",
    _FLAGS,
)
_RESULT_CUE = re.compile(
    rf"\b{any_of(load_list('measures'))}\b\.?{_BEFORE_RESULT}\Z|(?:[$\u00a3\u20ac<>~]|\b1:)\Z"
    # Procedures' codes in a list: most begin with a nine, or are counted.
    r"|(?<![\w-])(?:9[0-9]{4}|[0-9]{5}[ ]x[0-9]{1,2}),[ ]\Z",
    _FLAGS,
)
_WORD = re.compile("[a-z]+|[$\u00a3\u20ac<>~]|1:|[0-9]{5}")
_CUES = frozenset(
    word
    for cue in (*VOCABULARIES, *MODELS, *load_list("measures"))
    for word in _WORD.findall(cue)
)
_DRUG_CUE = re.compile(r"\b([a-z]{4,}|[a-z]+(?:-[a-z]+)+)[ ]?[:=]?[ ]\Z", re.IGNORECASE)
_REACH, _RESULT_REACH = 160, 64
_ROUND = "000"
"""A longer number that ends so is a count."""
_LONGEST_LIST = 200
_PARTS_CODES = (", ", "+ ")
_CODES = re.compile(
    r"(?<![\w-])(?:[0-9]{5}(?:-[0-9A-Z]{2})?(?:[ ]?x[ ]?[0-9]{1,2})?(?:,|[ ]\+)[ ])+\Z"
)
_COUNTED = re.compile(COUNTED, _FLAGS)
_CODED = re.compile(
    r"[ ]?[(\[-]?[ ]?(?:snomed|loinc|rxnorm|rxcui|ndc|cpt|icd-?(?:9|10))\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"([0-9]{1,4})([-/.])([0-9]{1,2})\2([0-9]{1,4})")
_CODE = re.compile("[0-9][A-Z]+[0-9]|[A-Z]{2}[-/][A-Z]{2,6}[-/][0-9]{3}")


def is_identifier_shaped(value: str) -> bool:
    """Return whether a value alone looks like an identifier."""
    digits = sum(map(str.isdigit, value))
    letters = sum(map(str.isalpha, value))
    if not letters:
        return digits >= _LEAST_DIGITS and (
            value.isdigit()
            or not (
                _NUMBER.fullmatch(value) or is_date_shaped(value) or _is_range(value)
            )
        )
    if digits < _LEAST_DIGITS_WITH_LETTERS - 1 or _WITH_LETTERS.fullmatch(value):
        return False
    if digits >= _LEAST_DIGITS or (
        digits >= _LEAST_DIGITS_WITH_LETTERS and letters > 1
    ):
        return True
    return len(value) > _LEAST_DIGITS and _CODE.search(value) is not None


def is_plate_shaped(value: str) -> bool:
    """Return whether a value alone looks like the plate of a vehicle."""
    return _PLATE.fullmatch(value) is not None


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


def _start_of_list(text: str, start: int) -> int:
    """Return where a list of codes begins whose next one starts here: its cue decides.

    "CPT 88305, 88342 x4, 88360": the last one is a code like the first.
    """
    if text[start - 2 : start] not in _PARTS_CODES:
        return start
    codes = _CODES.search(text, max(0, start - _LONGEST_LIST), start)
    return start if codes is None else codes.start()


def is_identifier(match: re.Match[str]) -> bool:
    """Return whether a value looks like an identifier in its place."""
    text, (start, end) = match.string, match.span("phi")
    if not is_identifier_shaped(text[start:end]):
        return False
    is_number = not any(map(str.isalpha, text[start:end]))
    if is_number and _IN_A_ROW.match(text, end):
        return False
    return not is_clinical_value(text, start, end)


def is_code_by_form(value: str) -> bool:
    """Return whether a value alone is a stage, a sequence or a variant."""
    return _CODE_BY_FORM.fullmatch(value) is not None


def follows_vocabulary(text: str, start: int, value: str) -> bool:
    """Return whether a value has the form of a code of the system before it.

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the value.
        value: As it is written.
    """
    before = text[max(0, start - _REACH) : start].rpartition("\n")[2]
    found = _CODE_CUE.search(before)
    if found is None:
        return False
    form = _FORMS_OF_CODES.get((found["vocabulary"] or "").lower())
    return form is None or form.fullmatch(value) is not None


def is_clinical_value(text: str, start: int, end: int) -> bool:
    """Return whether a value is a result, a dose or a code in its place.

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the value.
        end: Of the value.
    """
    value = text[start:end]
    if is_code_by_form(value):
        return True
    is_number = not any(map(str.isalpha, value))
    if is_number and (_COUNTED.match(text, end) or _CODED.match(text, end)):
        return True
    return any(
        _has_cue(text, place, value) for place in {start, _start_of_list(text, start)}
    )


def _has_cue(text: str, start: int, value: str) -> bool:
    """Return whether what is before a value says that it identifies nobody."""
    before = text[max(0, start - _REACH) : start].rpartition("\n")[2]
    is_result = not any(map(str.isalpha, value)) and (
        len(value) < _LEAST_OF_NO_RESULT or value.endswith(_ROUND)
    )
    if is_result and _is_dose(before):
        return True
    # Most have no cue before them, which a set tells faster than a pattern.
    if all(
        word.isalpha() and word not in _CUES for word in _WORD.findall(before.lower())
    ):
        return False
    if follows_vocabulary(text, start, value):
        return True
    return is_result and _RESULT_CUE.search(before[-_RESULT_REACH:]) is not None


def _is_dose(before: str) -> bool:
    """Return whether a drug is before a number: "penicillin", but not "Total"."""
    found = _DRUG_CUE.search(before)
    if found is None:
        return False
    word = found[1].lower()
    return bool(word_classes(word) & WordClass.DRUG) and not is_ordinary(word)
