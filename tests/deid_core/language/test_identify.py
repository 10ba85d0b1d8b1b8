"""Notes of languages that a preset does not read are found, and no others.

`foreign_notes` holds invented notes in telegraphic style and in prose, by language; the
English ones are those of `tests/written_notes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deid_core import ConfigError
from deid_core.language.identify import LanguageCheck, known_languages
from deid_core.language.lexicons.normal import normal
from deid_core.research.corpora.readers import read_corpus

FOREIGN = Path(__file__).parent / "foreign_notes"
WRITTEN = Path(__file__).parents[2] / "written_notes"
ENGLISH, SPANISH = LanguageCheck(["en"]), LanguageCheck(["es"])
HEADER = (
    "NORTH CLINIC, Department of Medicine. Progress note, seen today by the team with "
    "the family. Phone and fax as before.\n"
)
TELEGRAPHIC = """pt amb w/ walker x2 to BR, c/o L hip pain 6/10, tylenol 650 given 0400.
foley patent 300 cc. K 3.4 repleted. MD Ferrante aware, dtr Ilse @ bs. NPO p mn for
OR am. Plan: dc fri if PT clears"""


def foreign() -> Iterator[tuple[str, str]]:
    for file in sorted(FOREIGN.glob("*.txt")):
        for note in file.read_text("utf-8").split("\n===\n"):
            if file.stem == "others":
                tag, _, text = note.partition("] ")
                yield tag.removeprefix("["), text
            else:
                yield file.stem, note


NOTES = [pytest.param(*each, id=f"{n}-{each[0]}") for n, each in enumerate(foreign())]


@pytest.mark.parametrize(("tag", "note"), NOTES)
@pytest.mark.parametrize("case", [str, str.upper, str.lower])
def test_a_note_of_another_language_is_found_in_any_letter_case(tag, note, case):
    found = ENGLISH.other(case(note))

    assert found is not None
    assert tag == found.tag


@pytest.mark.parametrize(
    ("tag", "note"), [each for each in NOTES if each.values[0] in "de fr it pl pt tr"]
)
def test_a_note_that_was_typed_without_accents_is_found(tag, note):
    assert ENGLISH.other(" ".join(map(normal, note.split()))) is not None


@pytest.mark.parametrize(
    ("tag", "note"), [each for each in NOTES if each.values[0] != "es"]
)
def test_neighbours_of_spanish_are_not_taken_for_it(tag, note):
    assert SPANISH.other(note) is not None


@pytest.mark.parametrize("part", ["dev", "train"])
@pytest.mark.parametrize("case", [str, str.upper, str.lower])
def test_no_english_note_is_taken_for_another_language(part, case):
    notes = read_corpus(WRITTEN / part).documents

    assert not [each.id for each in notes if ENGLISH.other(case(each.text))]
    assert len(notes) > 100


def test_english_notes_are_found_where_spanish_is_read():
    notes = [each.text for each in read_corpus(WRITTEN / "dev").documents]

    found = [SPANISH.other(each) for each in notes]

    assert {each.tag for each in found if each} == {"en"}
    # Two are a line of abbreviations.
    assert found.count(None) <= len(notes) // 50


@pytest.mark.parametrize(("tag", "note"), list(foreign())[:14])
def test_a_note_under_an_english_header_is_found_by_its_greater_part(tag, note):
    found = ENGLISH.other(HEADER + 2 * f"{note}\n")

    assert found is not None
    assert tag == found.tag


@pytest.mark.parametrize(
    "line",
    [
        'Says: "me duele mucho la cabeza desde ayer y no puedo dormir por las noches".',
        "Patient told me 'anasema ana maumivu ya tumbo tangu jana', mother agrees.",
        "Son (Jan van den Berg) and Mme de la Tour live 12 Rue du Bac, Paris.",
        "c/o sakit kepala since semalam, makcik says tak boleh tidur. bà Hoa here",
        "Interpreter for Frau Müller von der Heide. Straße der Einheit 4, Erfurt.",
        "Привет, said the patient's мама; the pt answers in English. β-blocker.",
        "Rx Novalgin, Aspirine, Doliprane, Acenocumarol; allergic to Paracetamolo",
    ],
)
@pytest.mark.parametrize("case", [str, str.upper, str.lower])
def test_names_and_quotations_do_not_make_a_note_foreign(line, case):
    assert ENGLISH.other(case(f"{TELEGRAPHIC}\n{line}")) is None


def test_a_quotation_longer_than_its_note_does_not_make_it_foreign():
    quoted = '"me duele la cabeza desde ayer y no puedo dormir por las noches, gracias"'

    assert (
        ENGLISH.other(f"Pt says {quoted}. Tylenol given, will call her back.") is None
    )
    assert ENGLISH.other(quoted) is not None


@pytest.mark.parametrize("tag", ["de", "es", "fr", "it", "nl"])
def test_a_long_quotation_of_another_language_is_found_in_an_english_note(tag):
    quoted = " ".join((3 * dict(foreign())[tag].replace('"', " ").split())[:45])
    english = "\n".join(
        each.text for each in read_corpus(WRITTEN / "dev").documents[:3]
    )

    found = ENGLISH.other(f'{english}\nHer letter: "{quoted}".\n{english}')

    assert found is not None
    assert tag == found.tag


@pytest.mark.parametrize(
    ("tag", "note"),
    [
        ("de", "Pat. seit gestern Fieber bis 39,5, kein Husten. Rachen gerötet."),
        ("de", "Sturz zu Hause, Prellung Hüfte links. Kontrolle beim Hausarzt morgen"),
        (
            "fr",
            "Fièvre depuis hier, toux sèche. Repos, paracétamol, revoir dans 3 jours",
        ),
        ("fr", "Chute dans les escaliers, fracture du col, opérée hier"),
        ("es", "Fiebre desde ayer, tos seca. Alta con paracetamol y control en 3 días"),
        ("es", "Dolor en rodilla izquierda desde el lunes. Sin fiebre"),
    ],
)
@pytest.mark.parametrize("case", [str, str.upper, str.lower])
def test_a_short_note_of_another_language_is_found(tag, note, case):
    found = ENGLISH.other(case(note))

    assert found is not None
    assert tag == found.tag


@pytest.mark.parametrize(
    "note",
    [
        "Ms. Maria de la Cruz, MRN 4471, seen for cough",
        "Dr. van den Berg, Klinikum der Stadt Erfurt, tel. 4471",
        "Call La Casa de los Abuelos, 12 Calle del Sol",
        "Losartan 50 od, amlodipine 5, metformin 500 bd, aspirin 80",
        "s/p ORIF L hip POD2, c/o N/V, KCl 20 po x1, dc foley am",
    ],
)
@pytest.mark.parametrize("case", [str, str.upper, str.lower])
def test_a_short_english_note_with_foreign_names_is_read(note, case):
    assert ENGLISH.other(case(note)) is None


def test_a_note_that_an_export_quotes_is_found():
    note = dict(foreign())["de"]

    assert ENGLISH.other(f'the note of the patient is: "{note}"') is not None


@pytest.mark.parametrize(
    "text", ["", " \n", "120/80", "RR 16", "ok", "Dr. de la Cruz", "Δ β 5"]
)
def test_too_little_to_tell_is_not_refused(text):
    assert ENGLISH.other(text) is None
    assert SPANISH.other(text) is None


def test_a_language_that_is_not_known_is_not_read_either():
    basque = (
        "Gaixoa larrialdietara etorri zen bularreko minarekin, duela bi ordu hasita. "
        "Aurrekariak: hipertentsioa eta diabetesa. Miaketan ez zen ezer berezirik "
        "aurkitu, eta elektrokardiograma normala izan zen. Etxera joan zen gaixoa, "
        "egoera onean, eta astebete barru medikuarengana itzuli behar du analisien "
        "emaitzekin. Alabak lagundu zion eta sendagaiak etxean hartuko ditu."
    )
    found = ENGLISH.other(basque)

    assert found is not None
    assert found.tag == "und"


@pytest.mark.parametrize(
    "listed",
    [
        "Sodium 140 mmol/L Potassium 4.1 Chloride 101 Bicarbonate 24 Urea 5 Creatinine "
        "78 umol/L Haemoglobin 132 MCV 88 fL MCH 29 Platelets 210 Neutrophils 4 "
        "Lymphocytes 2 Monocytes Eosinophils Basophils ALT 22 AST 19 ALP GGT Bilirubin "
        "Albumin Calcium Phosphate Magnesium CRP Ferritin Transferrin TSH Cortisol",
        "Lisinopril 10 Metoprolol 25 Atorvastatin 40 Clopidogrel Furosemide Apixaban "
        "Levothyroxine Pantoprazole Metformin Gabapentin Sertraline Insulin "
        "Tamsulosin Finasteride Allopurinol Colchicine Salbutamol Lactulose "
        "Prednisolone Amlodipine Doxazosin Sitagliptin Gliclazide Ondansetron Senna",
    ],
)
def test_a_list_of_results_or_drugs_alone_is_not_refused(listed):
    assert ENGLISH.other(listed) is None
    assert ENGLISH.other(listed.upper()) is None


def test_a_language_in_other_letters_may_be_read():
    russian = "Больной поступил в отделение. Жалобы на боли за грудиной."

    assert LanguageCheck(["ru", "en"]).other(russian) is None
    assert ENGLISH.other(russian) is not None


def test_an_unknown_language_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"'english' is unknown; known: .*de.*en"):
        LanguageCheck(["english"])
    assert {"de", "en", "es", "ja", "ru"} <= {*known_languages()}


def test_what_refuses_a_note_names_both_languages_and_the_next_step():
    language = ENGLISH.other(dict(foreign())["de"])

    assert language is not None
    message = str(ENGLISH.refusal(language))
    assert "the note is in German, the preset reads English" in message
    assert 'other_languages = "mark"' in message
