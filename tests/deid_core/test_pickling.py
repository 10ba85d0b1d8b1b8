import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest

from deid_core import (
    Deidentifier,
    Document,
    KnownIdentifiers,
    Label,
    PersonName,
    TermFiles,
    known_policies,
    known_presets,
    load_policy,
    load_preset,
)

KEY = bytes(range(32))
NOTES = [
    Document("1", "Mr. Aldous Fenwick, MRN 4471902, was admitted on 2 March 2024."),
    Document("2", "Seen: Quelwright.", KnownIdentifiers((PersonName("Quellwright"),))),
    Document("3", "Der Patient klagt seit gestern über Schmerzen im linken Knie."),
]


@pytest.fixture
def system(tmp_path):
    """A system with a list of its own, which is in none of the repository's files."""
    (tmp_path / "words.txt").write_text("admitted\n")
    terms = TermFiles(remove={Label.PATIENT: (str(tmp_path / "words.txt"),)})
    return Deidentifier.from_names("lexical", "i2b2", terms=terms)


def sent(value):
    """Return a value as another process gets it."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - made here


def test_processes_that_are_started_anew_write_the_same(system):
    context = multiprocessing.get_context("spawn")

    with ProcessPoolExecutor(1, context) as pool:
        results = pool.submit(system.deidentify_batch, NOTES).result()

    expected = system.deidentify_batch(NOTES)
    assert expected[:2] == results[:2]
    assert "[NAME:PATIENT] on" in results[0].text
    assert [type(expected[2]), str(expected[2])] == [type(results[2]), str(results[2])]


def test_a_process_builds_it_once_however_often_it_is_sent(system):
    first, second = (sent(system.explain) for _ in range(2))

    assert first.__self__ is second.__self__ is not system


def test_a_deep_copy_works_and_a_copy_shares_the_detectors(system):
    assert copy.copy(system)._detectors is system._detectors
    assert copy.deepcopy(system).deidentify(NOTES[0]) == system.deidentify(NOTES[0])


def test_one_with_a_key_says_how_to_reach_other_processes():
    keyed = Deidentifier.from_names("lexical", "surrogate", KEY)

    with pytest.raises(TypeError, match=r"its key .*; build one in each process") as e:
        pickle.dumps(keyed.with_key(bytes(32)))
    with pytest.raises(TypeError, match="build one in each process"):
        pickle.dumps(keyed.deidentify)

    assert str(KEY)[2:-1] not in str(e.value)


def test_a_key_that_no_style_uses_is_in_no_pickle():
    content = pickle.dumps(Deidentifier.from_names("lexical", "safe-harbor", KEY))

    assert KEY not in content
    assert bytes(KEY.hex(), "ascii") not in content


def test_one_of_detectors_of_its_own_says_how_to_reach_other_processes():
    with pytest.raises(TypeError, match="no preset describes its detectors; build one"):
        pickle.dumps(Deidentifier([], load_policy("safe-harbor")))


@pytest.mark.parametrize("name", known_policies())
def test_every_policy_is_the_same_after_pickling(name):
    assert load_policy(name) == sent(load_policy(name))


@pytest.mark.parametrize("name", known_presets())
def test_every_preset_is_the_same_after_pickling(name):
    assert load_preset(name) == sent(load_preset(name))
