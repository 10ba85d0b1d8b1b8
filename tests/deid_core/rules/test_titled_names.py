from itertools import product

import pytest

from deid_core.document import Document
from deid_core.labels import Label
from deid_core.language.fragments import words
from tests.deid_core.rules.rule_examples import DETECT_ALL, covers, labels_of

# The list of the NUS paper, section 3.1.
TITLES = words(
    """
    mr mrs miss ms madam mdm lady sir col dr doctor a/prof e/prof professor prof general
    gen senator sen
    """
)
NAMES = (
    "Smith",
    "Jane Roe",
    "John Q. Public",
    "J. P. O'Neil-Brown",
    "van der Berg",
    "de la Cruz",
    "bin Rashid",
    "al-Rashid",
    "McDonald",
    "Ğül Öztürk",
    "Łukasz Żak",
    "Nguyễn Thị Minh",
    "Иванова",
    "Παπαδόπουλος",
    "José\u0301 Núñez",
    "D\u2019Angelo",
)


def test_finds_the_whole_name_after_every_title(subtests):
    for title, name, mark in product(TITLES, NAMES, ["", "."]):
        text = f"Seen with {title.title()}{mark} {name}, who agrees."
        with subtests.test(example=text):
            assert covers(text, name)


def test_finds_a_name_in_letters_without_case(subtests):
    """
    Titles that are words too ("General") need title case, which Chinese has not.
    """
    for title in words("Mr Mrs Ms Mdm Dr Prof A/Prof"):
        with subtests.test(title=title):
            assert covers(f"Seen with {title} 王小明, who agrees.", "王小明")


def test_the_title_stays(subtests):
    for title in TITLES:
        text = f"Seen with {title.title()}. Smith today."
        [annotations] = DETECT_ALL([Document("d1", text)])
        with subtests.test(title=title):
            assert {text[a.span.start : a.span.end] for a in annotations} == {"Smith"}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Mr. Smith", Label.PATIENT),
        ("MRS. SMITH", Label.PATIENT),
        ("ms. smith", Label.PATIENT),
        ("Dr. Smith", Label.DOCTOR),
        ("dr smith", Label.DOCTOR),
        ("Prof. Smith", Label.DOCTOR),
        ("Smith, MD", Label.DOCTOR),
        ("Smith, R.N.", Label.DOCTOR),
        ("Attending: Smith", Label.DOCTOR),
        ("Patient: Smith", Label.PATIENT),
    ],
)
def test_tells_patients_from_those_who_treat_them(text, label):
    name = next(part.strip(",.") for part in text.split() if "smith" in part.lower())

    assert labels_of(text, name) == {label}


@pytest.mark.parametrize(
    "title", ["Mr.", "Dr.", "DR.", "Attending:", "Patient:", "wife"]
)
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\n\n", "\x0b", "\u2028"])
def test_never_reads_a_name_across_a_line(title, line_break):
    [annotations] = DETECT_ALL([Document("d1", f"{title}{line_break}Brian White")])

    assert annotations == []


@pytest.mark.parametrize(
    "text",
    [
        "General surgery and General Medicine were consulted.",
        "general condition fair",
        "GENERAL APPEARANCE: Well developed",
        "The lady with chest pain, sir ganga ram, miss the dose",
        "Dr. will see her; the doctor said so; DOCTOR ON CALL",
        "History of MS with relapses; MS Contin",
        "seen by Infectious Disease, reviewed by Radiology",
        "Father Deceased, Mother Alive, sister with asthma",
        "Dr. X and Mr. XYZ and Dr. ABC's office",
    ],
)
def test_titles_that_are_words_stay_quiet(text):
    [annotations] = DETECT_ALL([Document("d1", text)])

    assert annotations == []


def test_a_name_ends_before_its_possessive():
    assert labels_of("Mrs. Garcia's son", "Garcia") == {Label.PATIENT}


@pytest.mark.parametrize(
    "cue", ["s/b ", "d/w ", "discussed with ", "seen by ", "dictated by: ", "cc: "]
)
@pytest.mark.parametrize("name", ["Rostova", "Ana Rostova", "A. Rostova"])
def test_finds_who_saw_and_who_was_told(cue, name):
    text = f"Seen today, {cue}{name}.\n"

    assert covers(text, name)


@pytest.mark.parametrize("closing", ["Sincerely,", "Kind regards,", "Signed:", "/s/"])
@pytest.mark.parametrize("gap", [" ", "\n", "\n\n", "\r\n"])
def test_finds_a_signature_under_its_closing(closing, gap):
    if closing in ("Signed:", "/s/"):
        gap = " "

    assert covers(f"Thank you.\n{closing}{gap}Ana M. Rostova\n", "Ana M. Rostova")


@pytest.mark.parametrize("initials", ["JS/mt", "JRS:ab", "JS/mt/12345"])
def test_finds_the_initials_of_who_typed(initials):
    assert covers(f"End of note.\n{initials}\n", initials)


@pytest.mark.parametrize("text", ["PA/lat\n", "BP: wnl\n", "CT/mri\n", "HEENT: ok"])
def test_two_abbreviations_are_no_typist(text):
    [annotations] = DETECT_ALL([Document("d1", f"Exam:\n{text}")])

    assert annotations == []
