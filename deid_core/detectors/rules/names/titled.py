"""Rules for names next to a title or a credential: "Dr. Smith", "Smith, MD".

Titles: NUS's anonymiser of discharge summaries, section 3.1 (mr, mrs, miss, ms, madam,
mdm, lady, sir, col, dr, doctor, a/prof, e/prof, professor, prof, general, gen, senator,
sen), and some more.  The title stays in the text; ambiguous ones ("general", "lady")
need a capitalised name.
"""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import ends_with, words
from deid_core.language.lexicons import forms_of
from deid_core.language.lexicons.word_classes import is_mere_word

from .shapes import INITIALS, LOWER_CASE_NAME, NAME, NOT_IN_WORD, WORD

_GAP = r"(?:\.[ \t]{0,3}|[ \t]{1,3})"
_DOCTOR = r"""
    (?:[AaEe]?[Pp]rof(?:essor)?|PROF(?:ESSOR)?|[Dd]rs?|DRS?
      |[Dd]octor|DOCTOR)
"""
_PATIENT = r"""
    (?:[Mm](?:rs?|s|dm|x|iss|ister|issus|adam)|M(?:RS?|S|DM|X|ISS|ISTER|ISSUS|ADAM))
"""
_OTHER = r"""
    (?:Lady|Sir|Col(?:onel)?|Gen(?:eral)?|Sen(?:ator)?|Rev(?:erend)?|Fr(?=\.)|Father
      |Sister|Brother|Nurse|Judge|Officer|Capt(?:ain)?|Lt|Sgt|Sergeant|Rabbi|Pastor
      |Bishop|Imam|Deacon|Detective|Major|REV(?:EREND)?|RABBI|PASTOR)
"""
_CREDENTIAL = r"""
    (?:M\.?D|D\.?O(?!\.?B)|R\.?N|N\.?P|P\.?A(?:-C)?|Ph\.?[ ]?D|D\.?D\.?S|D\.?M\.?D
      |D\.?P\.?M|Pharm\.?[ ]?D|F\.?A\.?C\.?[SPC]|FNP(?:-[BC]C?)?|CRNA|LPN|LVN|CNM
      |Psy\.?D|LC?SW|MSW|DPT|OTR|CNA|MBBS|MBChB|FRC[SP]|APRN|ARNP|DNP|MSN|BSN|CNP|EMT|PT|OT
      |RD|RT|OD|CCC-SLP|Esq)
    (?![A-Za-z0-9])
"""
# "Fall River, MD 21201" is a place.
_ZIP_AHEAD = r"[.,]?[ \t]{1,3}[0-9]{5}(?![0-9])"
_BEFORE_A_PERSON = re.compile(
    r"(?:^|[.;:\n][ ]{0,2}|\b(?:saw|see|seen|told|called|met|that|by)[ ])\Z",
    re.IGNORECASE,
)
_GRADE = re.compile(r"(?:[0-9]\+|\b(?:trace|mild|moderate|severe|mod|trivial))[ ]\Z")
_SHORTEST_FAMILY = 4
_AFTER_COMMA_ONLY = words("PA DO PT OT RD OD RT NP EMT")


def _is_no_disease(match: re.Match[str]) -> bool:
    """Return whether "ms roe" is used as a person, not as multiple sclerosis."""
    return match["bare"] is None or ends_with(
        _BEFORE_A_PERSON, match.string, match.start(), within=12
    )


def _is_no_image(match: re.Match[str]) -> bool:
    """Return whether more than words follow "MR" and "MDM", in mixed case.

    "Space held on MR. Complete tear of the ligament"; nor after a grade: "1+ MR. RHC".
    """
    name, title = match["phi"], match["title"]
    if title == "MR" and ends_with(_GRADE, match.string, match.start(), within=12):
        return False
    if not title.isupper() or name.isupper():
        return True
    return not is_mere_word(forms_of(name)[0])


def _is_known_credential(match: re.Match[str]) -> bool:
    name, credential = match["phi"], match["credential"].replace(".", "")
    has_comma = match["comma"] != ""
    is_ambiguous = credential in _AFTER_COMMA_ONLY
    has_two_parts = " " in name.strip()
    if has_comma:
        return has_two_parts or not is_ambiguous
    # OD is the right eye, too: "Cirrus OCT OD".
    return has_two_parts and not (is_ambiguous and is_mere_word(forms_of(name)[0]))


def _is_family_first(match: re.Match[str]) -> bool:
    """Return whether both parts are written like names, and none is a mere word.

    Unlike "Wheezing, Smith MD aware", "Cosopt OU, Alphagan BID OD", "MHT, Charge RN".
    """
    family, _, given = match["phi"].partition(",")
    if any(len(form) > 1 and is_mere_word(form) for form in forms_of(match["phi"])):
        return False
    cases = {each.isupper() for each in given.split() if len(each.strip(".")) > 1}
    if len(cases) != 1:
        return False
    # "HALVORSEN, Ingrid", but "MHT, Ingrid" is a role and a name.
    is_abbreviation = family.isupper() and len(family) < _SHORTEST_FAMILY
    return cases == {family.isupper()} or (family.isupper() and not is_abbreviation)


def _starts_with_a_name(match: re.Match[str]) -> bool:
    """Return whether a name in title case follows: "General LMA" is anesthesia."""
    return not match["phi"].isupper() or match[0].isupper()


PATIENT_AFTER_TITLE = Rule(
    name="name_after_title",
    label=Label.PATIENT,
    pattern=LazyPattern(
        rf"{NOT_IN_WORD}(?P<title>{_PATIENT}){_GAP}(?P<phi>{NAME}|{INITIALS})",
        re.VERBOSE,
    ),
    score=0.92,
    is_valid=_is_no_image,
    found=(
        "Mr. «Smith» and Mrs «Garcia»'s son, Ms. «O'Neil-Brown»",
        "Mr. and Mrs. «John Q. Public»",
        "MRS. «DE LA CRUZ» WAS SEEN, Madam «Tan»",
        "Mdm «Łukasz», Mr «Ğül», Miss «Nguyễn Thị Minh»",
        "Mrs. «van der Berg» and Mr.«Roe»",
        "Mr. «Will May», Mr. «J.R.»",
        "Ms «D\u2019Angelo» presents",
        "Mrs. «Roe» HGB 7.1, Mr «Doe» NG tube out, Ms. «Ann Roe» DNI",
        "Mr. «Jo NG» called, Mr. «Roe» IV infiltrated, Mr. «Roe IV» left",
    ),
    not_found=(
        "Space held on MR. Complete tear",
        "Sellers 1+ MR. RHC (Swan), moderate MR. LA dilated",
        "hx of MS with relapses, MS Contin, MR BRAIN WITHOUT CONTRAST",
        "Mr. is here",
        "symptoms Mild",
        "Mr.\nSmith",
        "MS. Patient denies",
        "Miss the dose",
        "Mr. X, Mr. T. The",
    ),
)

DOCTOR_AFTER_TITLE = Rule(
    name="name_after_doctor",
    label=Label.DOCTOR,
    pattern=LazyPattern(
        rf"{NOT_IN_WORD}{_DOCTOR}{_GAP}(?P<phi>{NAME}|{INITIALS})", re.VERBOSE
    ),
    score=0.92,
    found=(
        "Dr. «Smith» saw, Dr. «J. P. O'Neil-Brown», DR. «SMITH» WILL SEE",
        "Dr. «Ste Marie», A/Prof «Lim Wei Ming», Prof. «Müller», Doctor «Strange»",
        "Dr.«Roe» and Dr  «Poe»",
        "Dr. «bin Rashid» and Dr. «al-Rashid»",
        "Dr. «J.P. Roe, Jr».",
    ),
    not_found=(
        "Dr. will see",
        "the doctor told",
        "DOCTOR ON CALL",
        "Dr.\nSmith",
        "Doctors Hospital",
        "Doctor's Hospital",
        "HydroDr. Foo",
        "Dr. X.  All of it, Dr. ABC's",
        "Professor of Surgery",
    ),
)

SECOND_DOCTOR = Rule(
    name="name_after_doctors",
    label=Label.DOCTOR,
    pattern=LazyPattern(
        rf"{NOT_IN_WORD}(?:Drs|DRS|Doctors){_GAP}{NAME}(?:,[ ]{NAME})?"
        rf",?[ ](?:and|&|AND)[ ](?P<phi>{NAME})",
        re.VERBOSE,
    ),
    score=0.9,
    found=("Drs. Smith and «Jones», Drs Roe, Doe & «Poe»",),
    not_found=("Dr. Smith and Jones", "Doctors and Nurses"),
)

LOWER_CASE_AFTER_TITLE = Rule(
    name="name_in_lower_case",
    label=Label.PATIENT,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}(?:mrs?\.?|mdm\.?|ms\.|(?P<bare>ms))[ \t]{{1,2}}
        (?P<phi>{LOWER_CASE_NAME})
        """,
        re.VERBOSE,
    ),
    score=0.8,
    is_valid=_is_no_disease,
    found=("mr «smith» and mrs. «o'brien», ms. «roe»", "saw ms «roe» today"),
    not_found=("mr is", "hx of ms with", "ms flare", "20 ms. then", "mrs. will"),
)

LOWER_CASE_DOCTOR = Rule(
    name="name_of_doctor_in_lower_case",
    label=Label.DOCTOR,
    pattern=LazyPattern(
        rf"{NOT_IN_WORD}(?:[Dd]r\.?|prof\.?)[ \t]{{1,2}}(?P<phi>{LOWER_CASE_NAME})",
        re.VERBOSE,
    ),
    score=0.8,
    found=("seen by dr «smith» and dr. «müller», prof «roe»",),
    not_found=("Dr. will see", "dr on call", "dr's orders", "dr. recommended rest"),
)

OTHER_TITLE = Rule(
    name="name_after_other_title",
    label=Label.PATIENT,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}{_OTHER}{_GAP}
        (?P<phi>(?!(?:Ganga|Hardinge|Surg|Med|Rounds|Manager|Call
                     |Depressi(?:on|ve)|Neurocognitive|Bleeding|Mary[ ]Joseph)\b)
                {NAME})
        """,
        re.VERBOSE,
    ),
    score=0.8,
    is_valid=_starts_with_a_name,
    found=(
        "General «Roe», Sir «John Doe», Senator «Poe», Sen. «Poe»",
        "Rev. «Jane Roe» and Fr. «Martin», Nurse «Kelly»",
        "Lady «Roe», Col. «Doe», Sister «Agnes»",
    ),
    not_found=(
        "General Surgery, General Appearance: well",
        "general condition good, sir ganga ram",
        "Sir Ganga Ram Hospital",
        "lady with, GENERAL: Well",
        "Major Depressive Disorder, Sister Mary Joseph nodule",
        "16 Fr Foley",
        "Nurse Practitioner",
        "Father Deceased",
        "Sister with asthma",
    ),
)

SPANISH_TITLE = Rule(
    name="name_after_spanish_title",
    label=Label.PATIENT,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}(?:[Ee]l|[Ll]a|[Ll]os|[Ll]as|[Aa]l|[Dd]el)[ ]
        (?:senor(?:a|es|as|ita)?|doctor(?:a|es|as)?|enfermer[oa]|licenciad[oa]|sra?\.?
          |dra?\.?)[ ]
        (?P<phi>{NAME})
        """,
        re.VERBOSE,
    ),
    score=0.85,
    found=(
        "con la doctora «Bermúdez» el 14, la señora «Xiomara Villaseñor» debe",
        "El doctor «Echeverría», el señor «Cuauhtémoc», la enfermera «Yolotzin»",
    ),
    not_found=("la doctora dice", "el señor no", "la enfermera"),
)

NAME_BEFORE_CREDENTIAL = Rule(
    name="name_before_credential",
    label=Label.DOCTOR,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}(?P<phi>{NAME})(?P<comma>,?)[ \t]{{1,2}}
        (?P<credential>{_CREDENTIAL})(?!{_ZIP_AHEAD})
        """,
        re.VERBOSE,
    ),
    score=0.9,
    is_valid=_is_known_credential,
    lookbehind=69,
    window=13,
    found=(
        "«Smith», MD and «John Smith», M.D.",
        "«Jane Roe» PT saw him",
        "«Jane Roe» RN, «A. B. Poe» M.D., «Mary Ann Doe», PA-C",
        "«JOHN SMITH», MD",
        "«Müller», PhD",
    ),
    not_found=(
        "Chest, PA and lateral",
        "Attending, MD",
        "Primary Care MD",
        "the MD, RN",
        "Tylenol PT",
        "Cirrus OCT OD, Grade Two RT2",
        "Niece, CNA",
        "Anderson MD",
        "Fall River, PA 19101",
        "JANE ROE  D.O.B: 01/02/1990",
    ),
)

FAMILY_FIRST_BEFORE_CREDENTIAL = Rule(
    name="name_family_first_before_credential",
    label=Label.DOCTOR,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}(?P<phi>{WORD},[ ](?:{WORD})(?:[ ](?:{WORD}|[A-Z]\.?)){{0,2}})
        (?:,?[ \t]{{1,2}})(?!PA[ ]|DO[ ]){_CREDENTIAL}(?!{_ZIP_AHEAD})
        """,
        re.VERBOSE,
    ),
    score=0.9,
    is_valid=_is_family_first,
    lookbehind=109,
    window=13,
    must_contain=re.compile(",[ ]"),
    found=(
        "read by «HALVORSEN, INGRID» MD; «Halvorsen, Ingrid A.», M.D.",
        "«Roe, Jane Mary» RN, «DOE, JANE» PA-C; «HALVORSEN, Ingrid» NP",
    ),
    not_found=(
        "Nausea, Vomiting MD aware",
        "Alphagan OU, Cosopt BID OD",
        "MHT, Charge RN; NNP Gwen, RD Paolo, PharmD",
        "Chest, PA and lateral",
        "Fall River, Towson MD 21201",
        "Cardiology, Attending MD",
    ),
)

RULES = (
    PATIENT_AFTER_TITLE,
    DOCTOR_AFTER_TITLE,
    SECOND_DOCTOR,
    LOWER_CASE_AFTER_TITLE,
    LOWER_CASE_DOCTOR,
    OTHER_TITLE,
    SPANISH_TITLE,
    NAME_BEFORE_CREDENTIAL,
    FAMILY_FIRST_BEFORE_CREDENTIAL,
)
