"""Rules for names in a note's margins: signatures, "s/b", "d/w", typists' initials."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.lexicons import is_ordinary, load_list, normal

from .shapes import BEHIND_A_NAME, NOT_A_NAME, NOT_IN_WORD

# `shapes.FULL_NAME` would take long to compile so often: this accepts more, and
# whether the words may be names is checked on what was found.
_WORD = rf"""
    (?:(?!(?:M\.?D|R\.?N|DO|NP|PA|PhD|DDS|RPh)\b|{BEHIND_A_NAME})
       [A-Z][A-Za-z'-]{{1,30}})
"""
_INITIAL = r"(?:[A-Z]\.[ ]?|[A-Z][ ](?=[A-Z]))"
_FULL_NAME = rf"""
    (?:{_INITIAL}{{1,2}}{_WORD}(?:[ ]{_WORD})?
      |{_WORD}(?:[ ](?:{_INITIAL})?{_WORD}){{1,3}})
"""
_NAME = rf"(?:{_INITIAL}{{0,2}}{_WORD}(?:[ ]{_WORD}){{0,3}}(?<=[A-Za-z]))"
_MAY_BE_NAME = re.compile(rf"{NOT_A_NAME}[A-Z]", re.VERBOSE)
_END_OF_NAME = rf"""
    (?=[ \t]{{0,3}}(?:[\n,;.)]|\Z|(?:and|on|at|re|who|re:|regarding)\b|{BEHIND_A_NAME}))
"""
_CLOSING = r"""
    (?:[Ss]incerely|SINCERELY|(?:[Bb]est|[Kk]ind|[Ww]arm)[ ]?[Rr]egards|[Rr]egards
      |[Rr]espectfully(?:[ ](?:submitted|yours))?|[Ww]armly|[Tt]hank[ ]you|[Tt]hanks
      |[Yy]ours[ ](?:truly|sincerely|faithfully)|[Ss]igned|SIGNED|[Cc]ordially)
"""
_ROLE_BEFORE = sorted(load_list("roles_before_names"))
_NO_INITIALS = frozenset(map(str.upper, load_list("no_initials")))
_SERVICE = re.compile(
    r"(?:ology|surgery|iatry|iatrics|ics|therapy|medicine|pathy|oma|itis|osis|emia|onc"
    r"|ortho|vascular|renal|hospital|clinic|service|team)\Z"
)


def _forms(match: re.Match[str]) -> list[str]:
    parts = re.findall("[A-Za-z']{2,}", match["phi"])
    return [normal(part) for part in parts]


def are_all_name_shaped(match: re.Match[str]) -> bool:
    """Return whether each word of a name can be part of one, by `name_shapes`."""
    parts = re.findall("[A-Za-z'-]{2,}", match["phi"])
    return all(map(_MAY_BE_NAME.match, parts))


def has_a_name(match: re.Match[str]) -> bool:
    """Return whether some word of a name is no common one, and none a service.

    "d/w Neurosurgery" and "Thanks, Physical Therapy" are services.
    """
    forms = _forms(match)
    if (
        not are_all_name_shaped(match)
        or all(map(is_ordinary, forms))
        or any(map(_SERVICE.search, forms))
    ):
        return False
    return load_list("honorifics").isdisjoint(forms)


def has_no_common_word(match: re.Match[str]) -> bool:
    """Return whether no word of a name is a common one: for cues that say little."""
    return has_a_name(match) and not any(map(is_ordinary, _forms(match)))


SEEN_OR_DISCUSSED = Rule(
    name="name_after_contact",
    label=Label.DOCTOR,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}
        (?i:[sd]/[bw]|(?:discussed|reviewed|staffed|spoke|rounded|seen)[ ]
           (?:with|by)|covering[ ]for|signed[ ]out[ ]to|paged|primary[ ]is)
        :?[ ]{{1,2}}
        (?P<phi>{_FULL_NAME}|{_WORD}){_END_OF_NAME}
        """,
        re.VERBOSE,
    ),
    score=0.8,
    is_valid=has_a_name,
    found=(
        "s/b «Rostov», d/w «Ana Rostova»; discussed with «Kowalski» and",
        "c/w pain; s/b: «J. Rostov».",
        "spoke with «Ana Rostova» LPN, d/w «Rostov» ICU",
    ),
    not_found=(
        "d/w Cardiology, s/b Neurosurgery.",
        "c/w Pneumonia.",
        "discussed with patient",
        "d/w ICU team",
    ),
)

SIGNATURE = Rule(
    name="name_in_signature",
    label=Label.DOCTOR,
    # The one rule that may cross a line: a name follows its closing words.
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}{_CLOSING}[,.!]?[ \t]{{0,3}}(?:\r?\n[ \t]{{0,8}}){{0,4}}
        (?P<phi>{_FULL_NAME})(?=[ \t]{{0,3}}(?:[\n\r,(]|\Z))
        """,
        re.VERBOSE,
    ),
    score=0.85,
    is_valid=has_a_name,
    found=(
        "Sincerely,\n\n«Ana Rostova», MD",
        "Signed, «Ana Rostova»\nThank you,\n«J. Rostov»",
        "Kind regards\r\n«Ana M. Rostova»\r\n",
    ),
    not_found=(
        "Thank you.\nHISTORY OF PRESENT ILLNESS\n",
        "Signed consent",
        "Thanks, Physical Therapy\n",
        "Regards,\nRostova",
    ),
)

SIGNED_WITH_MARK = Rule(
    name="name_after_signature_mark",
    label=Label.DOCTOR,
    pattern=LazyPattern(
        rf"""
        (?:(?<![\w/])/s/|(?<![\w-])(?i:e-?signed|esign(?:ed|ature)?|signature))
        [ ]?(?:by\b)?[ ]?:?[ ]{{0,3}}
        (?P<phi>{_FULL_NAME}|{_WORD}(?=[ \t]{{0,3}}(?:[\n,;]|\Z)))
        """,
        re.VERBOSE,
    ),
    score=0.88,
    is_valid=are_all_name_shaped,
    found=("/s/ «Ana Rostova», E-signed: «Ana Rostova»", "Signature: «Rostova»\n"),
    not_found=("Signature:\nAna", "signature on file", "and/s/or"),
)

ROLE_BEFORE_NAME = Rule(
    name="name_after_credential",
    label=Label.DOCTOR,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}(?:{"|".join(_ROLE_BEFORE)}),?[ ]
        (?P<phi>{_FULL_NAME})(?![A-Za-z'-])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    is_valid=has_no_common_word,
    found=(
        "by RN «Ana Rostova», her cardiologist «Ana M. Rostova» and",
        "interpreter «Ana Rostova» was present",
    ),
    not_found=(
        "RN Case Manager",
        "PT Home Health",
        "therapist Mary",
        "PA Chest Film",
    ),
)

NAME_OF_SPEAKER = Rule(
    name="name_told",
    label=Label.PATIENT,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}
        (?i:(?:my|his|her|their|whose|patient's|pt's)[ ]
            (?:(?:first|last|full|maiden|former|married|given|family|birth|legal
                 |preferred)[ ])?name[ ](?:is|was)
          |goes[ ]by|nicknamed|nee|maiden[ ]name:?|formerly[ ]known[ ]as|a\.?k\.?a\.?
          |(?:likes|prefers|wishes|asks)[ ]to[ ]be[ ]called|preferred[ ]name:?)
        [ ]{{1,2}}["(]?(?P<phi>{_NAME})(?![A-Za-z'-])
        (?![ ](?:[Dd]isease|[Ss]yndrome|[Ss]ign|[Pp]alsy|[Dd]isorder|[Aa]nemia))
        """,
        re.VERBOSE,
    ),
    score=0.88,
    is_valid=are_all_name_shaped,
    found=(
        "My name is «Ana Rostova». She goes by «Annie», née «Rostova»",
        "aka «Ana Rostova», maiden name «Rostova», prefers to be called «Bo»",
        "her maiden name was «Rostova»",
    ),
    not_found=(
        "aka Bell palsy",
        "his name is unknown",
        "knee Rostova",
        "goes by bus",
    ),
)

TYPIST = Rule(
    name="name_initials_of_typist",
    label=Label.DOCTOR,
    # At the foot of a dictation: who spoke, in capitals, and who typed.
    pattern=LazyPattern(
        r"""
        [A-Z](?<![^\n][A-Z])(?:[A-Z]{1,3}|\.[A-Z]\.)[/:\\](?:[A-Z]{2,3}|[a-z]{2,4})
        (?:[/: ]?[0-9]{3,9}|[/:\\][a-z]{2,3})?(?=[ \t]{0,4}(?:\r?\n|\Z|[DT]:))
        """,
        re.VERBOSE,
    ),
    score=0.8,
    is_valid=lambda match: (
        not any(
            part.upper() in _NO_INITIALS for part in re.split(r"[^A-Za-z]", match[0])
        )
    ),
    max_column=4,
    found=("Thank you.\n«JS/mt»\n", "\n«JRS:ab/1234»  D: 01/02/2024", "«AB\\cd»"),
    not_found=("seen by JS/mt\n", "PA/lat\n", "AP/PA\n", "HEENT: ok", "\nBP: wnl\n"),
)

INITIALS_OF_STAFF = Rule(
    name="name_initials_of_staff",
    label=Label.DOCTOR,
    pattern=LazyPattern(
        r"""
        (?<![A-Za-z])
        (?i:technician|technologist|tech|sonographer|author|editor|phlebotomist|scribe
          |operator|observer|recorder|circulator|typist|transcriptionist|initials
          |(?:read|performed|verified|dictated|transcribed|typed|entered|drawn|collected
             |reviewed|signed|cosigned|recorded|administered|witnessed|checked
             |prepared|resulted|approved|acquired|scanned)[ ]by)
        [ ]?:[ ]{0,3}
        (?P<phi>[A-Z](?:[A-Z]{1,3}|\.[ ]?[A-Z]\.(?:[ ]?[A-Z]\.)?)|[a-z]{2,3})
        (?![A-Za-z0-9'-])(?!\.[A-Za-z])(?![ ]?:)(?![ ][A-Z][a-z])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    is_valid=lambda match: match["phi"].upper() not in _NO_INITIALS,
    found=(
        "Technician: «JDW». Sinus, Read by: «ABR»  KVP 80. Dictated by: «TRK». ",
        "Transcribed by: «jlm». Author: «KMV»; Editor: «RTS». Initials: «J.D.»",
    ),
    not_found=(
        "Tech: RN, Performed by: PCR, Author: none, Reviewed by: MD",
        "Technique: MRI, Operator: AP: lateral, Method: EIA",
    ),
)

RULES = (
    INITIALS_OF_STAFF,
    SEEN_OR_DISCUSSED,
    SIGNATURE,
    SIGNED_WITH_MARK,
    ROLE_BEFORE_NAME,
    NAME_OF_SPEAKER,
    TYPIST,
)
