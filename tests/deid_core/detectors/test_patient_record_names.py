from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from deid_core import Address, Document, KnownIdentifiers, Label, PersonName
from deid_core.detectors.patient_record import (
    PatientRecordDetector,
    PatientRecordOptions,
)
from deid_core.detectors.patient_record import note as note_module
from deid_core.detectors.patient_record.hashed_words import MOST_INITIALS
from deid_core.detectors.patient_record.names import fuzzy_matches
from deid_core.detectors.patient_record.note import FormCache, Note
from deid_core.detectors.patient_record.people import PROVIDER, Names, person_of
from deid_core.detectors.patient_record.prefilter import Prefilter
from deid_core.language.lexicons import normal, words_of
from deid_core.merge import merge
from tests.deid_core.marked import unmark

DETECT = PatientRecordDetector()


def patient(family, given="", middle=""):
    return KnownIdentifiers(patient_names=(PersonName(family, given, middle),))


OBRIEN = patient("O'Brien", "John", "Quincy")
KOWALSKI = patient("Kowalski", "Katherine")
MUELLER = patient("Müller", "José")
FOLEY = patient("Foley", "Dennis")
YOUNG = patient("Young", "Will")
LOW = patient("Low", "May")
PARKINS = patient("Parkins", "Ada")
WU = patient("Wu", "Li")
COOPER = patient("Cooper", "Sue")
TEST = KnownIdentifiers(
    patient_names=(PersonName("TEST", "PATIENT"), PersonName("DOE^JANE", "", "X")),
    kin_names=(PersonName("UNKNOWN", "NA"), PersonName("", ""), PersonName("12", "-")),
)
DA_PAZ = patient("da Paz", "José")
MCDONALD = patient("McDonald", "William")
BERG = patient("van der Berg", "Margaret")
CARR = KnownIdentifiers(
    patient_names=(PersonName("Carr", "Ada"),),
    kin_names=(PersonName("Carr", "Carl"),),
)
VU = patient("Vũ", "Vũ")
MATE = patient("Máté", "Edit")
HILL = patient("Hill", "Patty")
SMITH = KnownIdentifiers(
    patient_names=(PersonName("Smith", "John", "Quincy"),),
    kin_names=(PersonName("Hill", "Rose"),),
    provider_names=(PersonName("Young", "Robert"),),
)
WARD = KnownIdentifiers(
    patient_names=(PersonName("Kowalski", "Anna"),),
    kin_names=(PersonName("Kowalski", "Piotr"),),
    provider_names=(PersonName("Hernandez", "Luis"), PersonName("Kowalski", "Eva")),
)


def found(text, known, detect=DETECT):
    [proposals] = detect([Document("d1", text, known)])
    return merge(proposals)


@pytest.mark.parametrize(
    ("known", "marked"),
    [
        # Exact: case, order, joints, initials, possessives.
        (OBRIEN, "«John O'Brien» was seen."),
        (OBRIEN, "«JOHN OBRIEN» was seen; «O BRIEN, JOHN Q» was not."),
        (OBRIEN, "«john o\u2019brien»'s wife"),
        (OBRIEN, "Mr. «J.Q. O'Brien» and Mr. «O'Brien, JQ», ie «JohnOBrien»"),
        (OBRIEN, "saw «John».\nLater; «Brien»-Smith"),
        (OBRIEN, "«John\u00a0O'Brien», «john_obrien»1"),
        (OBRIEN, "«John» J. Smith, B. «O'Brien», a «John» A&O x3, «John» I think"),
        (MUELLER, "«Jose Muller», «JOSÉ MÜLLER», «Jose\u0301 Mu\u0308ller»"),
        (KOWALSKI, "«Kowalski»2 and «KOWALSKI»/«KATHERINE», xKowalskiego"),
        # Misspelt.
        (OBRIEN, "«Jonh Obrein» and «Johm», not Brown nor joining"),
        (KOWALSKI, "«Kowalsky», «kowalksi»; «Katharine Kovalski»"),
        (KOWALSKI, "Kowal, Walski and Katie are too far"),
        (MUELLER, "«Mueller»"),
        # Ordinary words.
        (YOUNG, "Young man, a young woman, they will. Will do, WILL, young. Will"),
        (YOUNG, "Seen with «Young» today. Mr. «Young». Dr. «Will» and ms «young»"),
        (YOUNG, "«Will Young» came. «YOUNG, WILL». the dr will call"),
        (YOUNG, "«Young» denies pain. «Young» is a 45-year-old. Young is 45"),
        (YOUNG, "Patient: «YOUNG»\nGeneral: Young appearing"),
        (LOW, "LOW and LOA for a month, low mood, may rise. May stay."),
        (LOW, "LOW BACK PAIN. Low Back Pain. May 3. Seen by Low Vision."),
        (LOW, "«May Low» and Ms. «Low» may stay"),
        (COOPER, "«Cooper» left. Dr. «COOPER». a cooper. a sue"),
        # Misspelt into a word, or a word's misspelling.
        (KOWALSKI, "the «kowalsi»"),
        (patient("Hart", "Dale"), "Date: heart sounds. HEART: normal. Heart regular."),
        (patient("Hart", "Dale"), "told by «Heart» today, and «Haart» left"),
        # A name on the line above says nothing of a line's first word.
        (CARR, "patient «Ada Carr»\nCall of May 3; «Carl»\n«Carr»"),
        (CARR, "«Ada Carr» - Call back. Re: «Carr, Call»; «Cral»\n«Carr»"),
        (CARR, "«ADA CARR»\nCALL OF MAY 3"),
        # Eponyms and devices.
        (FOLEY, "A Foley catheter, foley cath, Foley-catheter, Foley\ncatheter"),
        (FOLEY, "«Foley» was removed. «Dennis Foley»"),
        (
            patient("Parkinson"),
            "Parkinson's disease; Parkinson\u2019s disease; «Parkinson»",
        ),
        (PARKINS, "Parkinson disease, Parkinson, parkinsonism; Mr. «Parkinson»"),
        (PARKINS, "«Parkins», «Parkin»"),
        # Particles, split and joined names.
        (DA_PAZ, "«José dab Paz»; «José de Paz»; «José» and «Paz»"),
        (DA_PAZ, "«José da Paz», «DA PAZ, JOSE», Mr. «da Paz»; da capo, DA"),
        (MCDONALD, "«Mc Donald» and «William Mc Donald», a mc donald"),
        (BERG, "«Vander Berg»; «Van der Berg»; «Margaret van den Berg»; a van"),
        # Glued to other words, and to one another.
        (KOWALSKI, "«KowalskiKatherine» xKowalskiego seen«Kowalski»Today"),
        (KOWALSKI, "«KOWALSKIKatherine»; «KATHERINEkowalski»; EKG«Kowalski»; IVs"),
        (MUELLER, "seen«MüllerJosé». «JOSÉmüller»"),
        (MCDONALD, "seen«McDonald», «McDonald»Today, mmHg"),
        (patient("Donald"), "McDonald, MacDonald and FitzDonald; van«Donald»"),
        (YOUNG, "StreetYoung; byYoung; seenBy«WillYoung»; Dr. «Young»Street"),
        # With all that is no word: misspelt names, towns.
        (
            KOWALSKI,
            "reviewedBy«KowalskiKathrine» today, «Kowalski»IVs Springfield«Kowalski»IV",
        ),
        (
            replace(KOWALSKI, addresses=(Address(city="Springfield"),)),
            "«SpringfieldKowalski»IV, «KOWALSKIspringfield»",
        ),
        (
            replace(YOUNG, addresses=(Address(city="Springfield"),)),
            "by «WillSpringfield», by «SPRINGFIELDYoung», byYoung",
        ),
        (FOLEY, "«FoleyKowalskiMary»'s catheter"),
        (WU, "WuXi and LiDCO; by«LiWu»"),
        (FOLEY, "by«Foley»; seenFoley catheter"),
        # Nicknames.
        (MCDONALD, "«Bill» came. The bill. «Billy McDonald»; «WILL MCDONALD»; will"),
        (BERG, "«Peggy» and «Maggie» left. A peg."),
        (SMITH, "Bob said; Dr. «Robert» said."),
        # Common words beside what makes them names.
        (SMITH, "her daughter «Rose»; «Rose Hill»; rose. Rose bed. Hill"),
        (SMITH, "«Young», MD saw him. «Rose»'s visit. Young, mildly ill"),
        (HILL, "Reminded «Paty Hill» to call. «Patty Hill» came. «Hill» was told."),
        (HILL, "Hill was steep. A hill."),
        (HILL, "seen with «Paty Hill» today; a patty. Hill St"),
        (MATE, "«Máté» came; a mate. Edit the note."),
        (VU, "«Vũ» «Vũ» and «Vũ»"),
        # Initials alone.
        (SMITH, "patient «J.S.» and Mr. «JS»; initials «JQS», pt JS, J.S. Bach, JS"),
        # Without case.
        (SMITH, "«john smyth» and «rose hill» came with dr. «young», a young man"),
        (SMITH, "«ROSE HILL» CAME WITH DR. «YOUNG», A YOUNG MAN; MR. «SMITH»"),
        # Two letters.
        (WU, "Dr. «Wu», mr. «WU», seen by «Wu» today, «Li Wu», wu, WU, li"),
        # Records that hold nothing.
        (TEST, "Unknown patient, test of NA, none; TEST PATIENT 12. X"),
        (TEST, "«Jane Doe» and «DOE»"),
        (KnownIdentifiers(), "Jane Doe"),
    ],
)
def test_finds_names_and_leaves_words(known, marked):
    """
    What is between « and » is found, and nothing else.
    """
    text, expected = unmark(marked)

    assert expected == [(a.span.start, a.span.end) for a in found(text, known)]


@pytest.mark.parametrize(
    ("text", "label", "source"),
    [
        ("Anna", Label.PATIENT, "known/patient"),
        ("Anna Kowalski", Label.PATIENT, "known/patient"),
        ("Piotr", Label.PATIENT, "known/kin"),
        ("Hernandez", Label.DOCTOR, "known/provider"),
        ("Hernandes", Label.DOCTOR, "known/provider~"),
        ("Kowalsky", Label.PATIENT, "known/patient~"),
        ("Kowalski", Label.PATIENT, "known/patient"),
        ("Dr. Kowalski", Label.DOCTOR, "known/provider"),
        ("Eva Kowalski", Label.DOCTOR, "known/provider"),
        ("Piotr Kowalski", Label.PATIENT, "known/kin"),
    ],
)
def test_says_whose_name_it_is(text, label, source):
    [annotation] = found(text, WARD)

    assert (label, source) == (annotation.label, annotation.source)


def test_the_score_of_a_misspelt_name_is_one_minus_the_ratio():
    [annotation] = found("Kovalsky", KOWALSKI)

    assert annotation.score == 1 - 2 / 8


def test_threshold_zero_finds_exact_names_only():
    exact = PatientRecordDetector(PatientRecordOptions(threshold=0.0))

    assert found("Kowalsky", KOWALSKI, exact) == []
    assert len(found("kowalski", KOWALSKI, exact)) == 1


words = st.text("abcde", min_size=4, max_size=12)


@given(st.lists(words, unique=True, max_size=6), st.sets(words, max_size=12))
def test_misspelt_is_the_published_ratio_pair_by_pair(tokens, forms):
    """
    The oracle is the formula of the NUS paper, one pair at a time.
    """

    def ratio(token, form):
        return OSA.distance(token, form) / min(len(token), len(form))

    expected = {
        form: 1 - min(ratio(token, form) for token in tokens)
        for form in forms
        if any(ratio(token, form) < 0.33 for token in tokens)
    }

    actual = fuzzy_matches(dict.fromkeys(forms, tuple(tokens)), 0.33)

    assert expected == {form: score for form, (_, score) in actual.items()}


def test_batch_and_single_documents_agree():
    documents = [
        Document("1", "Jonh O'Brien", OBRIEN),
        Document("2", "Foley Young", YOUNG),
        Document("3", "", OBRIEN),
        Document("4", "Jonh"),
    ]

    assert [DETECT([each])[0] for each in documents] == DETECT(documents)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "\u00e9 " * 500_000,
        "a" * 1_000_000,
        "John" * 250_000,
        "aA" * 500_000,
        "J. " * 300_000,
        "Jonh " * 40_000,
        "'" * 10**6,
    ],
)
def test_a_huge_note_takes_seconds(text):
    found(text, OBRIEN)


CLOSE = st.text(st.sampled_from("aB9 -.\u00e9\u0301\u00b2\u0663\u4e2d\0"))


@given(st.text() | CLOSE)
def test_the_words_of_a_note_are_those_of_the_pattern_and_the_gaps_all_else(text):
    note = Note(text, FormCache())
    surfaces = [note.surface(at) for at in range(len(note))]
    assert surfaces == words_of(text)
    words = note.words(range(len(note)))
    assert [text[each.start : each.end] for each in words] == surfaces
    assert [each.normal for each in words] == [normal(each) for each in surfaces]
    ends = [0, *(each.end for each in words)]
    starts = [*(each.start for each in words), len(text)]
    gaps = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    assert [note.gap(at) for at in range(len(note) + 1)] == gaps
    assert note.initials() == {each for each in surfaces if may_be_initials(each)}


def may_be_initials(word):
    return len(word) <= 3 and (not word.isascii() or word[0].isupper())


WORDS = st.lists(
    st.sampled_from(
        ["Jon", "JOHN", "jonh", "Jo", "hn", "J\u00f6hn", "smyth", "Smi", "th"]
    )
    | st.text("hijonmsty\u00f6\u0301", min_size=1, max_size=8)
)
NAMES = Names.of(
    (
        person_of("patient", PersonName("Smith", "John")),
        person_of("patient", PersonName("J\u00f6nsson", "Timo")),
        person_of(PROVIDER, PersonName("Monty-Tomson", "Sij\u0142")),
    )
)
PREFILTER = Prefilter.of(NAMES.keys, NAMES)


@given(WORDS, st.sampled_from([0.0, 0.2, 0.33, 0.6]))
def test_the_prefilter_misses_no_word_of_the_record(words, threshold):
    """
    The oracle compares every word of the note as a string.
    """
    note = Note(" ".join(words), FormCache())
    positions = PREFILTER.positions(note, threshold)
    forms = note.forms(0, len(note))
    near = fuzzy_matches(dict.fromkeys(forms, NAMES.fuzzy), threshold)
    resembled = map(PREFILTER.tokens_of, positions.tokens.tolist())
    tokens = dict(zip(positions.near, resembled, strict=True))

    assert {at for at, form in enumerate(forms) if form in NAMES.keys} <= {
        *positions.keys
    }
    for at, form in enumerate(forms):
        assert form not in near or near[form][0] in tokens[at]
    pairs = enumerate(map("".join, pairwise(forms)))
    assert {at for at, pair in pairs if pair in NAMES.parts} <= {*positions.pairs}


@given(st.text(), st.text(), st.text())
def test_initials_are_three_capitals_at_the_most(family, given_name, middle):
    person = person_of("patient", PersonName(family, given_name, middle))

    for letters in person.monograms:
        assert len(letters) <= MOST_INITIALS
        assert not (letters[0].isascii() and letters[0].islower())


def test_of_more_than_64_names_none_is_left_out():
    family = [PersonName(f"Kowal{a}{b}i") for a in "abcdefghij" for b in "klmnopqrst"]
    names = Names.of(tuple(person_of(PROVIDER, each) for each in family))
    prefilter = Prefilter.of(names.keys, names)
    note = Note("Kowajti", FormCache())

    [bits] = prefilter.positions(note, 0.33).tokens.tolist()

    tokens = prefilter.tokens_of(bits)
    assert "kowaljti" in tokens
    assert sorted(tokens) == tokens


def test_few_words_that_are_not_of_the_record_are_candidates():
    note = Note("The patient was seen in clinic and is well today.", FormCache())
    positions = PREFILTER.positions(note, 0.33)

    assert [] == positions.keys == positions.near == positions.pairs


def test_a_full_cache_forgets_no_candidate_of_the_note(monkeypatch):
    monkeypatch.setattr(note_module, "_CACHE_SIZE", 2)
    cache = FormCache()
    words = dict.fromkeys(("Brzezynsky", "Kowajti", "Quelwright", "Tolemach"), 1)

    assert len(cache.candidates(words)) == 4
    assert len(cache.candidates(words)) == 4
    assert "Brzezynsky" not in repr(cache)
