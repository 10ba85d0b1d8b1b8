import pytest

from deid_core import Document, Label
from deid_core.detectors.lexicon import LexiconDetector, LexiconOptions
from tests.deid_core.marked import unmark

DETECT = LexiconDetector(LexiconOptions())


def found_in(text):
    [annotations] = DETECT([Document("d1", text)])
    return annotations


def covered(text):
    """Return the text with all that is annotated in guillemets."""
    marks = {i for a in found_in(text) for i in range(a.span.start, a.span.end)}
    out, inside = "", False
    for at, character in enumerate(text):
        if (at in marks) != inside:
            out += "»" if inside else "«"
            inside = not inside
        out += character
    return out + "»" * inside


NAMES = [
    "I spoke with «Camila» about the results.",
    "«Camila» reports less pain, and «Priya Raghunathan» agrees.",
    "Patients like «Jane A. Doe», a 55-year-old, and «Anna S.», seen last week.",
    "The scan was read by «J. Kowalski».",
    "«MARY KOWALSKI» has no pain.",
    "for «Siobhan O'Brien-Murphy», 40 years old",
    "a letter to «Lukasz Nowak»'s wife",
    "named «Will Hernandez»",
    "pt is «John D» seen today",
    "«Priya» was at the bedside. «Reitman» gave consent.",
    "Mother, «Sophie», has diabetes; she came with «Marek».",
    "told «Ana» and «Luis Hernandez» so, and «Ana de la Cruz»",
    "asked «Camila» for the catheter, told «Priya» her test was normal",
]
PLACES = [
    "She moved here from «Tacoma» last year.",
    "an orthopedic surgeon in «Bartow».",
    "He lives in «Reading», «PA» with his son.",
    "followed at our «Chicago downtown clinic»",
    "traveled to «New York» and «Salt Lake City».",
]
HOUSES = [
    "treated at «Cedar Crest» on Monday",
    "seen at «Mayo Clinic» in «Rochester», «MN» for this",
    "admitted to «St. Mary's Hospital».",
    "transferred to «Mercy General Hospital».",
    "was seen at «Children's Hospital Boston».",
    "images from «Rushmore Surgical», letter of «Duinzicht Ziekenhuis», Noord",
    "insured by «Okafor Mutual», works at «Kowalski Freight» nights",
    "seen at «County General» on",
    "by «Steven Kowalczyk» at «St. Mary's Hospital»",
    "She works at «Walmart» and was a clerk for «Morse Chain».",
    "evaluated at «UCSF», then at «NYU Langone Health».",
]


@pytest.mark.parametrize("marked", NAMES + PLACES + HOUSES)
def test_what_only_lexicon_and_context_know_is_found(marked):
    assert marked == covered(unmark(marked)[0])


@pytest.mark.parametrize(
    "text",
    [
        "A Foley catheter was placed, then a 19-French Blake Drain.",
        "Parkinson disease, Wilson's disease and a positive Murphy sign.",
        "grasped with Allis clamps and Metzenbaum scissors; Bovie cautery",
        "Jackson-Pratt drain, Bard Parker blade, Gleason score 4+3, Moya Moya",
        "Marshall-Marchetti-Krantz procedure with a Kelly clamp",
        "takes Allegra, Depo-Provera, Camila birth control and Vera gel",
        "New York Heart Association class II, Boston brace, Norwalk virus",
        "a family history of Huntington's disease",
        "HISTORY OF PRESENT ILLNESS and REVIEW OF SYSTEMS",
        "Physical Therapy was seen at Physical Therapy and at Baseline.",
        "Past Medical and Surgical History, Post Surgical, Digestive, Drug Allergies",
        "The Pain Clinic, Day Surgery, Hospital Course, at the Emergency Department",
        "seen at ABC Hospital and by Dr. XYZ",
        "Hepatitis B, Vitamin D, Grade II, Stage III, Type A, Will follow",
        "Oral mucosa is moist. Male exam. May need surgery. Mark the site.",
        "her RNP and Smith antibodies were negative",
        "presented to Children's Hospital",
        "travel to the Ohio River Valley last summer",
        "Mother with breast CA, MA with bone cancer",
        "Foley was removed. Kerlix was applied. Bovie was used.",
        "using a Camila curette and the Priya rongeurs; on the Camila diet",
        "Appears stated age. Disc height is reduced AT T12-L1.",
        "at the Bariatric Surgical Center, her Maintenance Clinic and Middle School",
        "a student at the University majoring in biology, through State University",
    ],
)
def test_eponyms_devices_drugs_and_headings_stay(text):
    assert text == covered(text)


def test_a_degree_behind_a_name_is_no_state():
    marked = "Seen by «Lucy Ashton», MD, and signed by «Timothy M. Ashton», MD on"

    assert marked == covered(unmark(marked)[0])


def test_a_name_does_not_begin_within_an_abbreviation():
    marked = (
        "after an abnormal H&P. «Anna Kowalska» has CRP 12 mg/L. «Jane Kowalska» too"
    )

    assert marked == covered(unmark(marked)[0])


@pytest.mark.parametrize(
    ("text", "value", "label"),
    [
        ("I spoke with Camila about it", "Camila", Label.PATIENT),
        ("moved here from Tacoma last", "Tacoma", Label.CITY),
        ("She was raised in North Carolina.", "North Carolina", Label.STATE),
        ("treated at Cedar Crest on", "Cedar Crest", Label.HOSPITAL),
        ("works at Walmart, he", "Walmart", Label.ORGANIZATION),
    ],
)
def test_labels(text, value, label):
    labels = {a.label for a in found_in(text) if text[a.span.start :].startswith(value)}

    assert label in labels


def test_names_of_a_dozen_cultures_are_found():
    names = """
        Camila Reyes, Priya Sharma, Bjorn Halvorsen, Siobhan Gallagher, Yusuf Yilmaz,
        Chukwuemeka Okafor, Nguyen Minh, Fatima Ahmed, Olga Ivanova, Wei Zhang,
        Giuseppe Esposito, Agnieszka Wisniewska, Thandiwe Dlamini, Kofi Mensah
    """
    for name in " ".join(names.split()).split(", "):
        text = f"I met {name} in the clinic."

        assert covered(text) == (f"I met «{name}» in the clinic.")


def test_what_the_detector_remembers_of_a_run_changes_nothing():
    text = "The Mercy Clinic. " * 3 + "I met Anna Smith. Anna Smith left."

    assert covered(text) == covered(text)
    assert covered(text).count("«Anna Smith»") == 2


def test_a_bare_name_may_be_left_to_a_tagger():
    text = "The nurse, then Rosalind about the bag.  Rosalind was seen."
    leaves_bare = LexiconDetector(LexiconOptions(bare_names=False))
    note = Document("n", text)

    [every], [cued] = DETECT([note]), leaves_bare([note])

    assert sorted(each.span.start for each in every) == [16, 41]
    assert [each.span.start for each in cued] == [41]


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("She lives in London N1.", True),
        ("He moved from Boston 3, or so.", True),
        ("a call from the Seattle bridge clinic", True),
        ("stools, Boston 4, soft", False),
        ("gave the pump in room 3 L. Kowalski", True),
        ("needs of 2.4 L. Harris agrees", False),
    ],
)
def test_a_town_behind_a_cue_stays_one_and_an_initial_behind_a_room(text, is_found):
    assert is_found is bool(found_in(text))
