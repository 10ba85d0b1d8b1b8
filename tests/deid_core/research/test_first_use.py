"""A published system without a model: it is trained once, and then read again."""

from __future__ import annotations

import errno
import functools
import logging
import sys
from multiprocessing import get_context

import pytest

from deid_core import ConfigError, Deidentifier, Document, known_presets, load_preset
from deid_core.research.corpora.installed import TRAINING
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.published import first_use
from deid_core.research.published.classifier import ClassifierDetector
from deid_core.research.published.options import ClassifierOptions
from deid_core.research.published.recipe import load_recipe
from deid_core.research.published.training import TrainingOptions, train

pytest.importorskip("pycrfsuite", reason="python-crfsuite trains the papers' chains")

QUICK = ClassifierOptions(recipe="mcrf1", training_notes=4, training_seconds=1)
NOTE = (
    "Pt seen by Dr. Maria Delgado on 03/14/2021 at Mercy Hospital, Springfield.\n"
    "Mrs. Karen Whitfield, MRN 4410286, lives with her son Tom. Phone 555-201-4477.\n"
)

NAMES = ("Maria", "Delgado", "Karen", "Whitfield", "Tom")

read_once = functools.cache(read_corpus)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setattr(first_use, "read_corpus", read_once)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "phistream"


def kept(cache):
    return [each for each in (cache / "published").iterdir() if each.is_dir()]


def never(*_arguments):
    pytest.fail("it is trained again")


def as_arrays(model):
    arrays = model.predictor.arrays()
    return {name: array.tobytes() for name, array in arrays.items()}


def test_the_first_use_trains_a_model_and_the_second_reads_it(
    cache, monkeypatch, caplog
):
    with caplog.at_level(logging.INFO, logger=first_use.__name__):
        trained = first_use.model_of(QUICK)
    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith("mcrf1: training it once on this machine, on 4 invented")
    assert any("trained in" in line for line in said)
    [folder] = kept(cache)
    assert str(folder) in said[-1]

    monkeypatch.setattr(first_use, "_trained", never)
    read = first_use.model_of(QUICK)
    assert as_arrays(read) == as_arrays(trained)
    assert read.names == trained.names
    assert read.trained["corpus"] == "written_notes/train"
    assert read.trained["documents"] == 4


def test_the_progress_is_logged_now_and_then(caplog, monkeypatch):
    monkeypatch.setattr(first_use, "_EVERY", 0.0)
    with caplog.at_level(logging.INFO, logger=first_use.__name__):
        first_use.model_of(QUICK)
    shares = [
        int(record.getMessage().split()[1])
        for record in caplog.records
        if "% after" in record.getMessage()
    ]
    assert shares == sorted(shares)
    assert shares[0] == 0
    # The last iterations of L-BFGS may converge before the bound.
    assert shares[-1] > 50


def test_it_is_the_model_that_the_train_command_makes_of_as_many_notes():
    documents = read_once(TRAINING).documents
    again = train(load_recipe("mcrf1"), documents, TrainingOptions(documents=4))
    assert as_arrays(first_use.model_of(QUICK)) == as_arrays(again)


@pytest.mark.parametrize("file", ["model.json", "arrays.npz", "sha256"])
def test_a_damaged_model_is_not_used_but_trained_again(cache, caplog, file):
    first = first_use.model_of(QUICK)
    [folder] = kept(cache)
    damaged = folder / file
    whole = damaged.read_bytes()
    damaged.write_bytes(whole.replace(b"mcrf1", b"mcrf9") + b" ")
    if file == "sha256":
        damaged.write_text("0" * 64)
    again = first_use.model_of(QUICK)
    assert "damaged; it is trained again" in caplog.text
    assert as_arrays(again) == as_arrays(first)
    assert kept(cache) == [folder]
    assert damaged.read_bytes() == whole


def test_a_folder_to_which_others_can_write_is_not_used(cache, caplog):
    folder = cache / "published"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    first_use.model_of(QUICK)
    assert "the model is not kept" in caplog.text
    assert [*folder.iterdir()] == []


def test_a_model_that_cannot_be_kept_is_used_all_the_same(cache, caplog, monkeypatch):
    def full(*_arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(first_use, "save_model", full)
    assert first_use.model_of(QUICK).name == "mcrf1"
    assert "can't be kept: No space left on device" in caplog.text
    assert kept(cache) == []


def test_a_model_to_which_others_can_write_is_trained_again(cache, monkeypatch):
    first_use.model_of(QUICK)
    [folder] = kept(cache)
    folder.chmod(0o777)
    with monkeypatch.context() as patched:
        patched.setattr(first_use, "_trained", never)
        with pytest.raises(pytest.fail.Exception):
            first_use.model_of(QUICK)
    first_use.model_of(QUICK)
    assert kept(cache)[0].stat().st_mode & 0o077 == 0


def test_other_notes_or_features_are_another_model(cache):
    first_use.model_of(QUICK)
    fewer = QUICK.model_copy(update={"training_without": ("affix3",)})
    other = QUICK.model_copy(update={"training_notes": 3})
    assert first_use.model_of(fewer).trained["left_out"] == ["affix3"]
    assert first_use.model_of(other).trained["documents"] == 3
    assert len(kept(cache)) == 3


def test_an_unknown_recipe_is_refused_by_name():
    unknown = QUICK.model_copy(update={"recipe": "../mcrf1"})
    with pytest.raises(ConfigError, match=r"recipe '\.\./mcrf1' is unknown"):
        first_use.model_of(unknown)


@pytest.mark.parametrize("package", ["pycrfsuite", "names"])
def test_a_missing_package_is_named_with_the_extra(package, monkeypatch):
    for module in [*sys.modules]:
        if module.startswith("deid_core.research.published.features.dictionaries") or (
            module == "deid_core.research.published.training"
        ):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=r"pip install 'phistream\[train\]'"):
        first_use.model_of(QUICK)


def _use(_number: int) -> bytes:
    return b"".join(as_arrays(first_use.model_of(QUICK)).values())


def test_processes_that_start_at_the_same_time_use_one_model(cache):
    with get_context("fork").Pool(2) as pool:
        one, other = pool.map(_use, range(2), chunksize=1)
    assert one == other
    assert len(kept(cache)) == 1
    assert not [*(cache / "published").glob(".draft-*")]


def test_the_detector_finds_names_with_a_model_of_its_first_use():
    detector = ClassifierDetector(QUICK.model_copy(update={"training_notes": 30}))
    [annotations] = detector([Document("1", NOTE)])
    assert any(each.label.value.startswith("NAME") for each in annotations)


PUBLISHED = [name for name in known_presets() if load_preset(name).first_use_seconds]


def test_thirteen_presets_train_at_their_first_use_in_less_than_two_minutes():
    assert len(PUBLISHED) == 13
    assert all(load_preset(name).first_use_seconds < 120 for name in PUBLISHED)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_preset_finds_a_name_on_a_machine_without_its_model(name, cache):
    result = Deidentifier.from_names(preset=name).deidentify(Document("1", NOTE))
    assert not all(name in result.text for name in NAMES)
    assert len(kept(cache)) == 1
