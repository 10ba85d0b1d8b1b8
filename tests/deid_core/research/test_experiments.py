"""The experiments on invented letters, and in quick runs on the corpora."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import orjson
import pytest

pytest.importorskip("matplotlib", reason="needs the extra train")
pytest.importorskip("sklearn", reason="needs the extra train")
pytest.importorskip("pycrfsuite", reason="needs the extra train")

from deid_core import Label
from deid_core.errors import ConfigError
from deid_core.research.corpora.corpus import GoldDocument
from deid_core.research.experiments import EXPERIMENTS, stat_deid, unseen, uza
from deid_core.research.experiments.feature_classes import CLASSES, feature_classes
from deid_core.research.experiments.harness.report import write_report
from deid_core.research.experiments.harness.runner import Runner
from deid_core.research.experiments.nus import nus
from deid_core.research.published.recipe import load_recipe
from tests.deid_core.research.experiment_cases import (
    corpus,
    known,
    marked,
    note,
    quick_runner,
)

DATA = Path(__file__).parents[4] / "shared/data"
SHORT = ("training-size",)
LONG = (
    *("feature-classes", "uza", "nus", "unseen", "kernels", "phi-confusion"),
    *("cross-validation", "post-rules", "recall-bias", "annotators", "medication"),
    *("missed", "wi-deid", "feature-sets", "errors", "type-confusion"),
)
NEEDED = ("meddocan/train", "aci-bench", "mtsamples", "asq-phi", "mts-dialog")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return one folder for all: what one experiment trains, another finds."""
    return tmp_path_factory.mktemp("models")


def table(report, title):
    [found] = [each for each in report.tables if each.title.startswith(title)]
    return {row[0]: row[1:] for row in found.rows}


def verdicts(report, claim):
    return [each.holds for each in report.findings if claim in each.claim]


def test_the_classes_of_features_are_those_of_the_recipe():
    groups = [group for each in CLASSES.values() for group in each]

    assert sorted(load_recipe("stat-deid-linear").features.windows) == sorted(groups)


@pytest.mark.long
def test_each_class_is_learned_alone_and_left_out(models, monkeypatch):
    english = "deid_core.research.experiments.feature_classes.english_split"
    monkeypatch.setattr(english, lambda of: of.meddocan)
    report = feature_classes(quick_runner(models))

    alone, without = (
        next(t for t in report.tables if t.title.startswith(title))
        for title in ("One feature class alone", "One feature class left out")
    )
    there = [name for name in CLASSES if name not in ("syntactic bigrams", "MeSH")]
    assert [row[0] for row in alone.rows] == ["all classes", *there]
    assert [row[0] for row in without.rows][1:] == [*there, "word, orthography"]
    rows = {row[0]: row[1:] for row in alone.rows}
    assert float(rows["all classes"][2]) > 90
    assert rows["all classes"] != rows["headings"]


def test_kernels_learn_the_same_documents(models):
    report = stat_deid.kernels(quick_runner(models))

    found = table(report, "Kernels")
    assert [*found] == ["linear", "quadratic", "gaussian"]
    assert all(float(row[2]) > 50 for row in found.values())
    assert table(report, "Table 3")["linear"][:2] == ("89.1", "79.7")


def test_a_smaller_part_of_the_training_text_is_held_by_every_larger_one(models):
    spanish = quick_runner(models).meddocan
    parts = [*stat_deid._parts(spanish, 1).values()]

    for one, other in pairwise(parts):
        assert {*map(id, one.learn)} < {*map(id, other.learn)}
    assert len(parts[-1].learn) == len(spanish.learn)


def test_more_text_is_told_with_its_figures(models):
    report = stat_deid.training_size(quick_runner(models))

    rows = table(report, "Training text")
    assert [row[-1] for row in rows.values()] == ["1", "2", "5", "10", "20", "40"]
    first, *_, last = (float(row[1]) for row in rows.values())
    [recall] = verdicts(report, "recall grows with the training text")
    assert recall in ((True, None) if last > first else (False, None))


def test_table_2_is_told_to_be_swapped_by_arithmetic(models, monkeypatch):
    english = "deid_core.research.experiments.stat_deid.english_split"
    monkeypatch.setattr(english, lambda of: of.meddocan)

    report = stat_deid.phi_confusion(quick_runner(models))

    assert verdicts(report, "two kinds of error swapped") == [True]
    read = table(report, "Their Table 2, as their figures ask for")
    assert read["taken for PHI"] == ("9,013", "243")


@pytest.mark.long
def test_runs_withhold_a_tenth_of_the_same_letters(models):
    report = uza.uza(quick_runner(models))

    assert "27 of them and scores 3" in report.set_up[0]
    classes = next(t for t in report.tables if t.title.startswith("By class"))
    assert classes.columns[1:6] == ("Name", "Date", "Address", "ID", "Hospital")
    raised = table(report, "Letters of another quality")
    assert {"uza-rf10, in capitals", "uza-oosvm, letters as they are"} <= {*raised}
    assert len(verdicts(report, "Name in capitals loses recall")) == 3


WARD = (
    ("Mrs. «Ann Marlow» slept well. Her cough is gone.", "Ann", "Marlow"),
    ("«Bert Quilll» walks. Bert is well. Seen «3/4/2011».", "Bert", "Quill"),
)


def ward(count):
    notes = []
    for number in range(count):
        form, given, family = WARD[number % 2]
        labels = (Label.PATIENT, Label.DATE)[: form.count("«")]
        found = marked(form, labels, f"n{number}", ("misspelt",))
        notes.append(
            GoldDocument(found.id, found.text, found.spans, known=known(given, family))
        )
    return corpus(notes)


@pytest.mark.long
def test_names_of_the_record_are_detected_at_every_threshold(models):
    made = quick_runner(models, ward=ward)
    made.english = {n: corpus(map(note, range(3))) for n in ("aci-bench", "mtsamples")}

    report = nus(made)

    rows = table(report, "Patients' names by threshold")
    assert len(rows) == 12
    recall = {threshold: float(row[1]) for threshold, row in rows.items()}
    assert 0.0 == recall["0.00"] < recall["0.05"] < recall["0.33"] == 100.0
    assert verdicts(report, "all of the patient's own name is found") == [True]
    for claim in ("2/7 is falsely", "1/12 is falsely", "LOW is falsely"):
        assert verdicts(report, claim) == [True]
    false = table(report, "Their example of false ones")
    assert false["hybrid"] == ("left", "left", "left")


def test_without_notes_with_records_nus_is_refused(models):
    with pytest.raises(ConfigError, match="patients' records"):
        nus(quick_runner(models))


def test_a_string_is_unseen_where_no_training_document_marks_it(models, monkeypatch):
    learned, other, scored = note(0), note(1), note(2)
    monkeypatch.setattr(unseen, "known_recipes", lambda: ["uza-rf10"])
    made = quick_runner(models)
    made.meddocan = made.meddocan.learning((learned, other, scored))
    made.meddocan_sample = made.meddocan.learning((learned, scored))

    report = unseen.unseen(made)

    rows = table(report, "Tokens, blind")
    assert {"uza-rf10", "meddocan"} == {*rows}
    assert "3 documents of the training split" in report.set_up[0]


def test_seen_and_unseen_are_told_by_letters_alone():
    classify = unseen._classifier(unseen._marked, (note(0),), (note(0), note(1)))

    name = note(0).spans[0].span
    assert classify(note(0).text[name.start : name.end].upper()) == "seen"
    other = note(1).spans[0].span
    assert classify(note(1).text[other.start : other.end]) is None
    assert classify("Nobody Ever") == "unseen"


@pytest.mark.skipif(
    not all((DATA / each).exists() for each in NEEDED),
    reason="no corpora in ../shared/data",
)
# Thirteen systems are trained, which takes long on a busy machine.
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "name", [*SHORT, *(pytest.param(name, marks=pytest.mark.long) for name in LONG)]
)
def test_every_experiment_runs_quickly_on_the_corpora(name, models, tmp_path):
    from streams.demo.gold import ward_corpus

    runner = Runner(
        DATA,
        models,
        quick=True,
        ward=lambda notes: ward_corpus(notes, split="dev", seed=1),
    )
    report = EXPERIMENTS[name](runner)
    page = write_report(report, tmp_path)

    assert name == report.experiment
    assert any("quick" in line for line in report.set_up)
    for table in report.tables:
        assert table.rows or "taken" in table.title
        assert {len(table.columns)} >= {len(row) for row in table.rows}
    assert report.findings
    for finding in report.findings:
        has_digits = any(map(str.isdigit, finding.figures))
        assert has_digits or finding.holds is None or name == "nus"
    assert orjson.loads((page.parent / "report.json").read_bytes())["findings"]
    pictures = {each.name for each in page.parent.glob("*.png")}
    assert pictures == {each.file_name for each in report.plots}
