"""Adaptation to a site: labels by records, exchanged values, what a model may hold."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from random import Random

import numpy as np
import pytest

from deid_core import ConfigError, Document, Label
from deid_core.config import load_preset
from deid_core.document import KnownId, KnownIdentifiers, PersonName
from deid_core.research.adaptation.adapting import Adaptation, adapt
from deid_core.research.adaptation.card import card_of
from deid_core.research.adaptation.comparison import (
    SITE,
    Compared,
    Criterion,
    Figures,
    by_record,
)
from deid_core.research.adaptation.distant import (
    codes_in,
    codes_of,
    number_shapes,
    numbers_in,
)
from deid_core.research.adaptation.exchange import Exchange
from deid_core.research.adaptation.kept_features import (
    FeatureRule,
    PublicWords,
    spells_nothing,
)
from deid_core.research.corpora.conventions import Rows
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.training.encoding import Line, encode
from deid_core.research.training.recipe import load_recipe
from deid_core.tagger.codec import Bio, TagSpan
from deid_core.tagger.digests import renew
from deid_core.tagger.features import FeatureSet, WordLists
from deid_core.tagger.model_files import load_model, save_model
from streams.demo.site import SiteHospital

FOLDER = Path(__file__).parents[2] / "written_notes" / "train"
STONE = PersonName("Stone", "Karin")
RECIPE = """
name = "english"
language = "en"
[options]
epochs = 3
[learned_as]
"ID:MEDICALRECORD" = "ID:IDNUM"
"ID:ACCOUNT" = "ID:IDNUM"
[features]
word = [-2, 2]
exact = [0, 0]
affix3 = [0, 0]
trigrams = [0, 0]
collapsed = [-1, 1]
number = [-1, 1]
lists = [-1, 1]
conjunctions = [
  "word:-1 word:0", "word:1 word:0", "shape:-1 shape:0", "header:0 word:0",
]
[lists]
given = ["kind:GIVEN"]
"""


def test_codes_are_made_of_a_providers_name():
    assert {"ks", "kst", "stk", "kast"[:3], "sto"} <= codes_of(STONE)
    assert not codes_of(PersonName("Stone"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("settled kst/0412", ["kst/0412"]),
        ("settled [KST 0412]", ["KST 0412"]),
        ("amb x2 w/ KS", ["KS"]),
        ("amb x2 c ks, steady", ["ks"]),
        ("kst in a word: kstx", ["kst"]),
        ("Kst is no code", []),
    ],
)
def test_codes_of_the_records_people_are_found_with_their_number(text, found):
    known = KnownIdentifiers(provider_names=(STONE,))
    places = list(codes_in(text, known, frozenset()))
    assert [text[each.start : each.end] for each in places] == found


def test_what_is_written_as_a_word_elsewhere_is_nobodys_code():
    known = KnownIdentifiers(provider_names=(PersonName("Pine", "Bo"),))
    assert not list(codes_in("BP 120/80", known, frozenset({"BP"})))
    assert list(codes_in("w/ BP", known, frozenset({"bp"})))


def test_a_shape_of_numbers_needs_the_records_of_enough_patients():
    values = [("40-A-1234", 1), ("41-B-9876", 2), ("12345678", 1), ("87654321", 2)]
    assert number_shapes(values, 2) == {"00-A-0000"}
    assert number_shapes(values[:1], 2) == frozenset()


def test_numbers_of_a_shape_are_found_whole():
    text = "old 77-K-2040 new 177-K-20405, 3/4"
    places = list(numbers_in(text, {"00-A-0000"}))
    assert [text[each.start : each.end] for each in places] == ["77-K-2040"]


def _line(text, *marks):
    spans = [
        TagSpan(text.index(value), text.index(value) + len(value), label.value)
        for value, label in marks
    ]
    return Line(text, tuple(spans))


def test_an_exchanged_line_keeps_its_frame_and_the_form_of_its_values():
    line = _line(
        "MRN 40-A-1234 KOWALSKI at Larch House kst/0412 on 3/14",
        ("40-A-1234", Label.MEDICALRECORD),
        ("KOWALSKI", Label.PATIENT),
        ("Larch House", Label.HOSPITAL),
        ("kst/0412", Label.USERNAME),
        ("3/14", Label.DATE),
    )
    changed = Exchange(Random(2)).line(line)
    values = [changed.text[s.start : s.end] for s in changed.spans]
    assert [s.tag for s in changed.spans] == [s.tag for s in line.spans]
    number, name, house, code, day = values
    assert (number[2], number[4]) == ("-", "-")
    assert number[3].isupper()
    assert name.isupper()
    assert name != "KOWALSKI"
    assert house.endswith(" House")
    assert not house.startswith("Larch")
    assert code[3] == "/"
    assert code[:3].islower()
    assert code != "kst/0412"
    month, _, dayno = day.partition("/")
    assert 1 <= int(month) <= 12
    assert 1 <= int(dayno) <= 31
    for old in ("40-A-1234", "KOWALSKI", "Larch", "kst", "0412"):
        assert old not in changed.text


def test_one_word_becomes_one_other_within_a_line():
    line = Line(
        "Stone d/w Stone",
        (TagSpan(0, 5, "NAME:DOCTOR"), TagSpan(10, 15, "NAME:DOCTOR")),
    )
    first, _, second = Exchange(Random(1)).line(line).text.partition(" d/w ")
    assert first == second != "Stone"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("word[0]=settled", True),
        ("word[0]=kowalska", False),
        ("word[-1]=smith", False),
        ("exact[0]=0412", False),
        ("word[1]=12", True),
        ("trigrams[0]=<se", False),
        ("affix3[0]=set*", False),
        ("parts_of_words[0]=settl", False),
        ("collapsed[0]=A+", True),
        ("word:-1 word:0=settled\tkowalska", False),
        ("word:-1 word:0=<pad>\tsettled", True),
        ("shape:-1 shape:0=A+\t0+", True),
        ("header:0 word:0=seen by kowalska\tsettled", False),
    ],
)
def test_a_new_feature_spells_only_public_words(name, kept):
    public = PublicWords.of([Line("settled and seen by smith", ())], [])
    assert spells_nothing(name, public) is kept


def test_a_word_of_a_value_that_was_found_is_not_public():
    base = [Line("annexe", ())]
    site = [_line("seen at Annexe", ("Annexe", Label.HOSPITAL))]
    assert "annexe" in PublicWords.of(base, [])
    assert "annexe" not in PublicWords.of(base, site)


def test_a_new_feature_needs_the_notes_of_enough_patients():
    base = [Line("fever", ())]
    site = [Line("cough", ()), Line("cough", ()), Line("rash", ()), Line("rash", ())]
    features = FeatureSet({"word": (0, 0)})
    rule = FeatureRule(PublicWords.of(base, []), 2)
    encoded = encode([*base, *site], features, WordLists(), Bio(("X",)))
    kept = rule.applied(encoded, 1, [1, 1, 2, 3])
    assert set(kept.names) == {"word[0]=<pad>", "word[0]=fever", "word[0]=rash"}
    names = [kept.names_of(line) for line in range(5)]
    assert names == [
        [["word[0]=fever"]],
        [[]],
        [[]],
        [["word[0]=rash"]],
        [["word[0]=rash"]],
    ]


def _figures(name=SITE, found=90, false=3):
    return Figures(name, found, 100, 400, false, 5000, 0)


@pytest.mark.parametrize(
    ("name", "after", "is_worse"),
    [
        (SITE, {}, False),
        (SITE, {"found": 89}, True),
        (SITE, {"false": 9}, True),
        (SITE, {"false": 8}, False),
        (SITE, {"refused": 1}, True),
        ("dev", {"found": 88}, True),
        ("dev", {"found": 89}, False),
        ("dev", {"false": 5}, True),
        ("dev", {"false": 4}, False),
        ("dev", {"found": 91, "false": 3}, False),
    ],
)
def test_a_model_is_worse_by_the_criterion(name, after, is_worse):
    before = _figures(name)
    compared = Compared(before, replace(before, **after))
    assert bool(compared.worse(Criterion())) is is_worse


def test_false_words_of_a_development_set_may_rise_by_a_tenth():
    before = _figures("dev", false=100)
    assert not Compared(before, replace(before, false=110)).worse(Criterion())
    assert Compared(before, replace(before, false=111)).worse(Criterion())


def test_held_out_notes_are_marked_by_their_records():
    known = KnownIdentifiers(
        provider_names=(STONE,), ids=(KnownId("4410286", Label.IDNUM),)
    )
    note = Document("1", "Dr. Karin Stone, no 4410286, Dr. Hill", known)
    [document] = by_record([note]).documents
    values = [note.text[s.span.start : s.span.end] for s in document.spans]
    assert values == ["Karin Stone", "4410286"]


MARKERS = ("Qzwxmarkov", "8675309421", "vqxz", "Jqkzhaven")
"""A name that no list holds, a number, a code, and a clinic's own word."""


def _notes(count):
    hospital = SiteHospital(seed=3, patients=count // 4)
    for at, note in enumerate(hospital.notes(count)):
        person, number, code, place = MARKERS
        text = (
            f"{person}: {note.document.text}"
            f"d/w {person} re {number}, {code}/{number[:4]} at {place}\n"
        )
        known = note.document.known
        # Half of the records hold the markers.
        if at % 2:
            providers = (*known.provider_names, PersonName(person, "Ilse"))
            ids = (*known.ids, KnownId(number, Label.IDNUM))
            known = replace(known, provider_names=providers, ids=ids)
        known = replace(known, birth_dates=(date(1961, 2, 3),))
        yield Document(note.document.id, text, known, note.patient)


@pytest.fixture(scope="module")
def adaptation(tmp_path_factory):
    file = tmp_path_factory.mktemp("recipe") / "tiny.toml"
    file.write_text(RECIPE)
    return Adaptation(
        load_preset("hybrid"),
        load_recipe(str(file)),
        [read_corpus(FOLDER, rows=Rows(1, 100))],
        [read_corpus(FOLDER, rows=Rows(101, 115))],
        patients=3,
    )


@pytest.fixture(scope="module")
def adapted(adaptation):
    return adapt(adaptation, _notes(80))


def _texts_in(folder):
    """Yield all that the files of a model hold, as text."""
    for file in folder.iterdir():
        content = file.read_bytes()
        yield content.decode("latin-1")
        if file.suffix == ".npz":
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                for array in arrays.values():
                    yield array.tobytes().decode("latin-1")
                    yield json.dumps(array.tolist())


@pytest.mark.long
def test_no_file_of_the_model_holds_a_marker_of_the_notes(
    adapted, adaptation, tmp_path
):
    save_model(adapted.model, tmp_path)
    (tmp_path / "README.md").write_text(card_of(adaptation, adapted))
    renew(tmp_path)
    texts = [text.lower() for text in _texts_in(tmp_path)]
    assert any("word[0]=" in text for text in texts)
    for marker in MARKERS:
        assert not any(marker.lower() in text for text in texts)
        # Nor can a marker be put together of parts that it alone has.
    names = load_model(f"{tmp_path}/").weights.names
    base = {
        word.lower()
        for corpus in adaptation.corpora
        for document in corpus.documents
        for word in document.text.split()
    }
    parts = {each.split("=", 1)[1] for each in names if each.startswith("trigrams")}
    foreign = {p for p in parts if not any(p.strip("<>") in word for word in base)}
    assert not foreign - {"<pad>"}


@pytest.mark.long
def test_a_site_is_learned_and_the_card_says_what_was_counted(adapted, adaptation):
    first, second = adapted.counted
    assert first.by_record > 100
    assert min(first.lines, second.lines, second.by_record) > 100
    site = adapted.compared[0]
    assert site.before.name == SITE
    assert site.before.required == site.after.required > 0
    card = card_of(adaptation, adapted)
    assert f"{adapted.notes[0]:,} notes of {adapted.patients[0]:,} patients" in card
    assert "at least 3 patients" in card


@pytest.mark.long
def test_patients_are_learned_from_or_held_out(adapted):
    assert sum(adapted.patients) == 20
    assert sum(adapted.notes) == 80


def test_too_few_patients_are_refused(adaptation):
    with pytest.raises(ConfigError, match="too few"):
        adapt(adaptation, _notes(8))


def test_a_recipe_whose_model_would_hold_values_is_refused(adaptation):
    recipe = load_recipe("meddocan")
    with pytest.raises(ConfigError, match="learn our labels"):
        replace(adaptation, recipe=recipe)
