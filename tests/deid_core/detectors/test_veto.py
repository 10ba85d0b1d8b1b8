import pytest

from deid_core.detectors.veto import Veto
from deid_core.labels import Label
from tests.deid_core.marked import unmark


def vetoed(marked, label=Label.PATIENT, score=0.5, *, is_repeated=False):
    text, [span] = unmark(marked)
    return Veto().rejects(text, *span, label, score, is_repeated=is_repeated)


@pytest.mark.parametrize(
    "marked",
    [
        "«CHIEF COMPLAINT»\n\nBack pain",
        "«Hemostasis» was obtained using electrocautery.",
        "closed with «Dermabond» and dressed",
        "a «Bovie» cautery, «Foley»".replace("«Foley»", "Foley"),
        "seen by «XYZ» today",
        "an «18-French» catheter",
        "«Tylenol» was given",
    ],
)
def test_headings_devices_drugs_and_placeholders_are_vetoed(marked):
    assert vetoed(marked)


@pytest.mark.parametrize(
    "marked",
    [
        "«Muldin Tarvo» tolerated it well",
        "I asked Dr. «Pain» about it",
        "«Kowalski» denies chest pain",
        "spoke with «Camila» about it",
    ],
)
def test_names_titles_and_what_only_persons_do_are_not(marked):
    assert not vetoed(marked)


@pytest.mark.parametrize(
    "marked",
    [
        "Electronically signed by «Marlo Weeks», MD",
        "He was found by «Trevlin» at home",
        "Dictated by «Osk Tarvo»",
    ],
)
def test_what_people_do_by_themselves_is_no_use_of_a_thing(marked):
    assert not vetoed(marked)


def test_bleeding_is_controlled_by_no_person():
    assert vetoed("Bleeding was controlled by «Trevlin» and gauze")


def test_a_sure_model_may_name_what_no_list_of_names_holds():
    marked = "Consulted «Oksana» about the results"

    assert vetoed(marked, score=0.5)
    assert not vetoed(marked, score=0.95)


def test_inside_a_sentence_a_capital_speaks_for_a_name_that_no_list_holds():
    assert not vetoed("This is why «Severity» matters", score=0.75)
    assert vetoed("This is why «severity» matters", score=0.75)
    assert vetoed("Pain is less. «Severity» is moderate", score=0.75)
    assert vetoed("This is why «Severity» matters", score=0.5)


def test_what_the_model_says_twice_it_need_not_be_so_sure_of():
    marked = "Much less pain. «Severity» went home"

    assert vetoed(marked, score=0.75)
    assert not vetoed(marked, score=0.75, is_repeated=True)
    assert vetoed(marked, score=0.5, is_repeated=True)


def test_a_heading_is_no_name_however_sure_the_model():
    assert vetoed("Done.\n«Stress Strength»\nGood.", score=0.99)


@pytest.mark.parametrize("marked", ["«May» resume a diet", "«Will» call with results"])
def test_a_modal_verb_is_no_name(marked):
    assert vetoed(marked, score=0.95)


def test_a_modal_verb_that_does_something_is_a_name():
    assert not vetoed("«May» has been well", score=0.95)


def test_a_river_is_no_town_and_a_town_of_words_may_be_one():
    assert vetoed("rafting in the «Ohio River Valley»", Label.CITY, 0.97)
    assert not vetoed("lives in «Granite Falls»", Label.CITY, 0.97)


def test_a_list_of_stains_is_no_town():
    marked = "«Congo red and Ziehl-Neelsen stains» are negative"

    assert vetoed(marked, Label.CITY, 0.97)


@pytest.mark.parametrize(
    "marked",
    [
        "«Patient» slept",
        "«Caller ID»: none",
        "«Telephone» encounter",
        "Ross, «PA-C».",
        "«D». Ross",
        "«Briefly», a 16-year-old boy",
    ],
)
def test_words_that_stand_before_names_are_no_names(marked):
    assert vetoed(marked, score=0.99)


def test_a_house_of_generic_words_is_vetoed():
    assert vetoed("seen at «Physical Therapy»", Label.HOSPITAL)
    assert not vetoed("seen at «Halvorsen House»", Label.HOSPITAL)


@pytest.mark.parametrize(
    ("marked", "left"),
    [
        ("«Formerly Kowalska», now", "Kowalska"),
        ("«Patient Jane Kowalska» came", "Jane Kowalska"),
        ("«Bliss Halloway» came", "Bliss Halloway"),
        ("«Patient»", "Patient"),
        ("«Jane Kowalska  DOB»: 3/4/1950", "Jane Kowalska"),
        ("«Jane Kowalska  Ward»: 3", "Jane Kowalska"),
        ("«Jane Kowalska  D».O.B. 3/4/1950", "Jane Kowalska"),
        ("«Jane Kowalska Dobson»: stable", "Jane Kowalska Dobson"),
        ("«Jane Kowalska, PA-C», came", "Jane Kowalska"),
        ("to «Halvorsen House tomorrow».", "Halvorsen House"),
        ("after an «H&P. Jane Kowalska» is well", "Jane Kowalska"),
        ("CRP 12 mg/«L. Jane Kowalska» is well", "Jane Kowalska"),
        ("Specimen «taken by Jane Kowalska»", "Jane Kowalska"),
        ("«Son Nguyen» came", "Son Nguyen"),
        ("«Anh To Nguyen» came", "Anh To Nguyen"),
        ("to Dr. «Kowalska.  Unfortunately», she", "Kowalska"),
        ("«Friend Jane Kowalska» called", "Jane Kowalska"),
    ],
)
def test_words_around_a_name_are_no_part_of_it(marked, left):
    text, [span] = unmark(marked)
    start, end = Veto().without_words(text, *span)

    assert left == text[start:end]


@pytest.mark.parametrize(
    ("marked", "label"),
    [
        ("2 per 10 high «power fields».", Label.CITY),
        ("marks at 12 o'clock; «inked black» and blue", Label.ORGANIZATION),
        ("marks at 12 o'clock; «inked black» and blue", Label.PATIENT),
        ("Acct 5512\n«Hospital» course:", Label.STREET),
    ],
)
def test_words_alone_name_nothing_unless_the_model_is_sure(marked, label):
    assert vetoed(marked, label, 0.6)
    assert not vetoed(marked, label, 0.95)


def test_words_in_small_letters_are_no_firm_but_where_all_letters_are_small():
    assert vetoed("He avoids the «salty foods», as advised", Label.ORGANIZATION, 0.99)
    small = "works nights at «gentle harbor foods», off on friday"
    assert not vetoed(small, Label.ORGANIZATION, 0.99)


def test_a_street_has_a_number_or_a_name():
    assert not vetoed("lives at 12 «Hospital Walk»", Label.STREET, 0.6)
    assert not vetoed("near «Halvorsen Walk»", Label.STREET, 0.7)


@pytest.mark.parametrize(
    "marked", ["able to use his «Walker» again", "well.  «Semi-» retired, smokes"]
)
def test_what_somebody_has_and_half_a_word_are_no_names(marked):
    assert vetoed(marked, score=0.6)


def test_a_user_name_is_one_word():
    assert vetoed("blood drawn: «eGFR 58».", Label.USERNAME, 0.98)
    assert not vetoed("edited by «jroe58».", Label.USERNAME, 0.98)


@pytest.mark.parametrize(
    "marked",
    [
        "hx a-fib on «warf».",
        "Pt on «Coum». and digoxin",
        "hold furos., d/c «gaba».",
        "Switched from «warf». to apixaban",
        "given «Metop» 25 mg",
        "«metop» bid",
    ],
)
def test_a_drug_for_short_where_drugs_stand_is_no_name(marked):
    assert vetoed(marked, score=0.8)


@pytest.mark.parametrize(
    "marked",
    [
        "Seen by «warf».",
        "Dr. «Warf» on call",
        "«Warf» denies pain",
        "I am waiting on «warf». He is late",
        "The plan is on «Warf». She agrees",
        "started «rosa» on insulin",
    ],
)
def test_a_name_with_which_a_drug_begins_stays_one_elsewhere(marked):
    assert not vetoed(marked, score=0.8)


@pytest.mark.parametrize(
    "marked",
    ["State: «Vermont».\nSex: F", "Home state: «Maine»", "STATE:  «Georgia»\n"],
)
def test_a_state_alone_behind_its_label_is_no_name(marked):
    assert vetoed(marked, score=0.95)


@pytest.mark.parametrize(
    "marked",
    [
        "State: «Virginia Miller»",
        "State: «Virginia» Miller",
        "Mrs. «State» came",
        "Dr. «Vermont» came",
        "Name: «Virginia»",
        "asked «Vermont», John",
    ],
)
def test_a_name_that_is_a_state_stays_one_elsewhere(marked):
    assert not vetoed(marked, score=0.95)


def test_what_is_preserved_at_a_sentences_start_is_a_finding_not_a_person():
    assert vetoed("FINDINGS:\n«Alignment» is preserved from C2", score=0.95)
    assert vetoed("No edema. «Sensation» was grossly intact", score=0.95)
    assert not vetoed("Seen today. «Virginia» is unchanged", score=0.95)
    assert not vetoed("Seen today. «Kowalski» remains intact", score=0.95)


def test_the_words_that_a_veto_keeps_are_not_shown():
    veto = Veto()
    names = [f"Quelwright{letter}" for letter in "abc"]
    before = [veto.rejects(each, 0, len(each), Label.PATIENT, 0.99) for each in names]

    assert [False] * 3 == before
    assert not any(name in repr(vars(veto)) for name in names)
