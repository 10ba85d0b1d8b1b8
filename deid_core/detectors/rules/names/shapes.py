"""Fragments of patterns for a person's name, and the words that only look like one.

All fragments are for verbose, case-sensitive patterns: a name's first letter is upper
case, in any script.  They annotate ``Garcia`` of ``Garcia's``, and never cross a line.
"""

from __future__ import annotations

from deid_core.language.fragments import any_of, words
from deid_core.language.lexicons import load_list

_NEVER = load_list("never_names")
# Names in title case ("Dr. Will May"), ordinary words in lower and in all capitals.
_NAMES_TOO = words("will may mark grant long young hope grace art sue drew pat rob")
_NOT_IN_LOWER_CASE = load_list("no_names_in_lower_case")

# "ABC's" ends a word as "ABC" does; "D'Angelo" does not end at its D.
_END = r"(?![A-Za-z-]|'(?!s(?![A-Za-z]))[A-Za-z])"
NOT_A_NAME = rf"""
    (?!(?:(?i:{any_of(_NEVER)})
         |{any_of((*_NAMES_TOO, *(word.upper() for word in _NAMES_TOO)))}){_END})
"""
NOT_IN_LOWER_CASE = rf"(?!{any_of((*_NEVER, *_NAMES_TOO, *_NOT_IN_LOWER_CASE))}{_END})"

_INNER = r"(?:[A-Za-z]|'(?!s(?![A-Za-z]))(?=[A-Za-z])|-(?=[A-Za-z]))"
_PARTICLES = r"""
    (?:(?:van|von|der|den|ter|ten|de|del|della|da|di|do|dos|das|du|la|las|le|los|el|al
      |bin|binti|bint|ibn|ben|abu|af|zu|y)[ ]){0,3}(?:al-|el-|d'|')?
"""
# One word of a name, two letters or more, with its particles; generators of patients
# put digits behind ("Adolfo777").
WORD = rf"""
    (?:{_PARTICLES}(?=[A-Z]){NOT_A_NAME}[A-Z]{_INNER}{{1,60}}(?!{_INNER})[0-9]{{0,4}}+)
"""
# As many as there are, up to four, and in one way only, so that failing is quick.
# "A.Ph. de Vosse"; alone, "Ph." may be of "Ph.D.".
_DOTTED = r"(?:-?[A-Z](?:h|hr)?\.)"
INITIAL = rf"(?:[A-Z]\.(?:{_DOTTED}{{3}}|{_DOTTED}{{0,2}}(?!{_DOTTED})))"
_SPACE = "[ ]{1,2}"
_LEAD = rf"(?:(?:{INITIAL}[ ]{{0,2}}+|[A-Z][ ](?=[A-Z])){{0,3}})"
# "Jane Roe Ward: 3": the word before a colon is the next field's label.
_NO_LABEL = r"(?![ ]?:)"
_TESTS = any_of(
    [
        *map(str.upper, load_list("abbreviations_behind_names")),
        *map(str.capitalize, load_list("tests_behind_names")),
    ]
)
# "Roe HGB 7.1", "Roe NG tube out".
BEHIND_A_NAME = rf"""
    (?:(?:{_TESTS}|NG(?=[ ](?:tube|suction|feed)))
       (?![A-Za-z]))
"""
_MORE = rf"""
    (?:{_SPACE}(?!{BEHIND_A_NAME})
       (?:{INITIAL}(?=[ ]{{1,2}}[A-Z])|[A-Z](?=[ ][A-Z][A-Za-z])|{WORD}{_NO_LABEL}))
"""
# "Roe IV infiltrated" is Roe's line.
_SUFFIX = r"""
    (?:,?[ ](?:Jr|Sr|II|III|IV(?![ ](?:access|site|line|fluid|antib|abx|infiltrat|infus
        |started|placed|removed|out|patent|pulled|push|drip|meds|heparin)))\b)?
"""
# One to four words, initials anywhere but at the end.
NAME = rf"(?:{_LEAD}{WORD}{_MORE}{{0,3}}{_SUFFIX})"
# At least two parts: a single capitalised word is too little without a title.
FULL_NAME = rf"""
    (?:(?:{INITIAL}[ ]{{0,2}}+){{1,3}}{WORD}{_MORE}{{0,2}}{_SUFFIX}
      |{WORD}{_MORE}{{1,3}}{_SUFFIX})
"""
FAMILY_FIRST = rf"""
    (?:{WORD}(?:[ ]{WORD})?,[ ]{{0,2}}{NAME}(?:[ ]{INITIAL}|[ ][A-Z]{_END})?
       (?![ ]?:))
"""
# "Mr. J.R."; one letter alone ("Dr. X") is a placeholder and identifies nobody.
INITIALS = r"(?:[A-Z]\.[ ]?[A-Z]\.?(?![A-Za-z0-9'-]))"
LOWER_CASE_NAME = rf"(?:{NOT_IN_LOWER_CASE}[a-z]{_INNER}{{2,30}}{_END})"
NOT_IN_WORD = r"(?<![A-Za-z0-9'-])(?!(?<=&)[A-Z][.])"
