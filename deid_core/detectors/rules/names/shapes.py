"""What a person's name looks like, and the words that only look like one.

All fragments are for verbose, case-sensitive patterns: a name's first letter is upper
case, in any script.  They annotate ``Garcia`` of ``Garcia's``, and never cross a line.
"""

from __future__ import annotations

from deid_core.language.fragments import any_of, words
from deid_core.language.lexicons import load_list

# Never a name after a title or a label, in any letter case.
_NEVER = words(
    """
    a an the this that these those and or but nor as at by for from in into of off on
    onto out over per than then to up upon via with without within not no yes he she
    they we you it his her him their our your my its who whom whose which what when
    where why how is am are was were be been being has had have having do does did done
    can could would should shall might must if so because since while until after before
    during about above below between both each either every here there today tomorrow
    yesterday tonight now later again also just only still very well patient patients pt
    pts client subject male female man woman boy girl gentleman child infant baby mother
    father mom dad son daughter wife husband brother sister spouse partner family parent
    parents friend caregiver guardian doctor doctors physician physicians provider
    providers surgeon nurse nurses resident attending consultant fellow intern assistant
    practitioner office clinic department dept hospital team service services staff unit
    center centre group associates care told said says saw sees seen states stated
    reports reported denies denied notes noted presents presented complains advised
    recommended recommends ordered orders feels felt thinks thought wants wanted agrees
    agreed asked asks called calls came comes went gave gives took takes started stopped
    examined evaluated reviewed discussed performed placed prescribed referred
    discharged admitted returned continued continues remains appears appeared looks
    looked tolerated underwent received requires required needs needed use used uses
    using lives lived works worked signed dictated electronically general surgery
    surgical medicine medical clinical health history physical exam examination
    assessment plan impression diagnosis diagnoses treatment therapy therapist
    medication medications allergies allergy symptoms symptom vitals vital labs lab
    laboratory results result findings finding procedure procedures operation operative
    anesthesia anesthetic anesthesiology cardiology cardiac cardiovascular neurology
    neurological neurosurgery orthopedic orthopedics orthopaedics urology nephrology
    pulmonary pulmonology oncology hematology radiology pathology psychiatry psychology
    pediatric pediatrics obstetrics gynecology dermatology gastroenterology
    endocrinology rheumatology ophthalmology infectious disease diseases emergency icu
    er ed ent primary internal outpatient inpatient critical intensive acute chronic
    mild moderate severe normal abnormal stable unchanged improved positive negative
    unknown unremarkable none alert awake oriented condition appearance consent
    constitution practice practitioner pain head neck chest heart lung lungs abdomen
    back skin eyes ears nose throat mouth extremities extremity left right upper lower
    bilateral pre post status follow followup name names date dob age sex mrn id ssn
    address phone number room bed note notes summary report record records chart
    discharge admission admit admits submitting visit appointment consult
    consultation referral chief complaint
    reason subjective objective review systems alive deceased healthy living age aged
    old year years day days week weeks month months md do rn np pa phd dds dmd dpm facs
    od pharmd esq pa-c lpn lvn cna cnm crna rnc nnp aprn arnp lcsw msw rsw bsn msn dnp
    mbbs mbchb frcs frcp frcpc fracp fwacs facc facp rco rph rrt rdcs dpt
    mr mrs ms miss dr prof jr sr contin sulfate flare protocol all any some most
    another other same next one two three please thanks xx xxx xxxx xyz abc
    abcd hospitalist pacu additionally apparently basically briefly clearly clinically
    currently essentially eventually finally fortunately generally gradually hopefully
    immediately initially lastly mainly medically mostly obviously occasionally
    originally otherwise overall presumably previously primarily probably recently
    reportedly shortly similarly specifically subsequently therefore thereafter
    thankfully ultimately unfortunately usually arthrogram arthrography angiogram
    angiography venogram venography enterography elastography spectroscopy urography
    urogram cholangiogram imaging scan scans brain spine cervical thoracic lumbar pelvis
    knee shoulder hip ankle wrist elbow colleague colleagues niece nephew aunt uncle
    grandmother grandfather neighbor neighbour volunteer aide tech technician
    scribe chaperone sitter interpreter apt apartment suite in-charge incharge
    """
)
# Names in title case ("Dr. Will May"), ordinary words in lower and in all capitals.
_NAMES_TOO = words("will may mark grant long young hope grace art sue drew pat rob")
# Written after a name, never a part of it, though a name elsewhere.
_NOT_IN_LOWER_CASE = words(
    """
    new first last more less least many much four five six seven eight nine ten good
    better best bad poor fair great high low large small big little early late old
    recent current previous prior further thank dear re cc fax tel phone pager call page
    appt f/u fu rx hx sx dx available aware busy concerned covering familiar following
    made make makes making got get gets getting goes going gone knows known suggested
    suggests wrote writes explained offered increased decreased changed added removed
    sent spoke spoken speaks refilled prefers hasn't won't isn't wasn't didn't doesn't
    can't exacerbation relapse diagnosed diagnosis lesions patient's duration
    """
)

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
