"""The experiment of operating points: one sweep, both presets, other systems apart."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="needs the extra train")
pytest.importorskip("sklearn", reason="needs the extra train")
pytest.importorskip("pycrfsuite", reason="needs the extra train")

from deid_core.config import load_preset
from deid_core.errors import ConfigError
from deid_core.research.corpora.corpus import in_case, without_records
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.experiments import operating_points as experiment
from deid_core.research.experiments.harness.report import Plot, draw
from deid_core.research.experiments.harness.runner import Runner
from deid_core.research.experiments.harness.systems import (
    TaggerSweep,
    pipeline_output,
    with_tagger,
)

WRITTEN_NOTES = Path(__file__).parents[2] / "written_notes"

NOTES = """=== u1 | ward
# record: {"names": [{"family": "Zorblat", "given": "Ann"}]}
Pt [[PATIENT|Ann Zorblat]] seen by Dr. [[STAFF|Linehan]] on [[DATE|3/14/2024]], cb
[[PHONE|312-555-0147]]. d/w [[STAFF|Okafor]], son [[KIN|Bert]] at bedside. Foley out.

=== u2 | ward
Slept well, no complaints. Foley draining, Coude cath to be changed by Friday's team.

=== u3 | clinic
He was seen in the clinic by [[STAFF|Marta Quill]] and he was in no distress at all.
"""


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A data folder with the dense notes of one set alone."""
    monkeypatch.setattr(experiment, "_TESTS", tmp_path / "none")
    folder = tmp_path / "data" / "dense-notes"
    folder.mkdir(parents=True)
    (folder / "us.txt").write_text(NOTES)
    return folder.parent


@pytest.fixture
def corpus(data):
    return without_records(read_corpus(data / "dense-notes" / "us.txt"))


@pytest.fixture
def libraries(tmp_path):
    """A package that looks like deduce, and finds every word with a capital."""
    folder = tmp_path / "libraries"
    card = folder / "deduce-9.9.dist-info"
    card.mkdir(parents=True)
    (card / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: deduce\nVersion: 9.9\n"
    )
    (folder / "deduce.py").write_text(
        "import re\n"
        "class Place:\n"
        "    def __init__(self, found):\n"
        "        self.start_char, self.end_char = found.span()\n"
        "class Text: pass\n"
        "class Deduce:\n"
        "    def deidentify(self, text):\n"
        "        done = Text()\n"
        "        found = re.finditer('[A-Z][a-z]+', text)\n"
        "        done.annotations = [*map(Place, found)]\n"
        "        return done\n"
    )
    return folder


@pytest.mark.parametrize("case", ["as-is", "upper"])
def test_a_sweep_detects_what_the_whole_system_detects(corpus, case):
    documents = in_case(corpus, case).documents
    sweep = TaggerSweep("hybrid", documents)

    for bias in (0.0, 5.0, 1.0):
        alone = pipeline_output(with_tagger("hybrid", outside_bias=bias), documents)
        assert alone.predictions == sweep.output(outside_bias=bias).predictions


def test_the_other_detectors_read_each_note_once(corpus, monkeypatch):
    calls = []
    sweep = TaggerSweep("hybrid", corpus.documents)
    for each in sweep._others.values():
        detect = each._detector
        monkeypatch.setattr(
            each, "_detector", lambda batch, d=detect: calls.append(d.name) or d(batch)
        )

    for bias in (0.0, 1.0, 2.0):
        sweep.output(outside_bias=bias)

    assert sorted(calls) == ["known", "lexicon", "rules"]


@pytest.mark.long
@pytest.mark.parametrize(("step", "preset"), [*enumerate(experiment.PRESETS)])
def test_both_presets_are_points_of_the_curve(corpus, step, preset):
    sweep = TaggerSweep("hybrid", corpus.documents)

    found = sweep.output(**experiment.settings(step)).predictions

    whole = pipeline_output(load_preset(preset), corpus.documents)
    assert whole.predictions == found


@pytest.mark.long
@pytest.mark.parametrize("case", ["as-is", "upper"])
@pytest.mark.parametrize(("step", "preset"), [*enumerate(experiment.PRESETS)])
def test_quiet_notes_and_notes_in_one_case_are_those_of_the_presets(step, preset, case):
    """Of notes that the presets read otherwise than their tagger alone."""
    notes = without_records(read_corpus(WRITTEN_NOTES / "dev"))
    documents = in_case(replace(notes, documents=notes.documents[:24]), case).documents

    found = TaggerSweep("hybrid", documents).output(**experiment.settings(step))

    whole = pipeline_output(load_preset(preset), documents)
    assert whole.predictions == found.predictions


def test_settings_move_on_a_line_and_stay_in_their_range():
    outside = [experiment.settings(step)["outside_bias"] for step in (0, 0.5, 1, 100)]

    assert outside[0] < outside[1] < outside[2]
    assert outside[0] + outside[2] == pytest.approx(2 * outside[1])
    assert outside[3] == 10.0
    assert experiment.settings(100)["threshold"] == 0.0


@pytest.mark.long
def test_the_report_names_what_is_left_out_and_compares_the_rest(
    data, libraries, tmp_path
):
    runner = Runner(data, tmp_path, quick=True, libraries=libraries)

    report = experiment.operating_points(runner)

    told = "\n".join(report.set_up)
    assert "dense notes, US: 3 notes" in told
    assert "left out, as it is not there: dense-notes/intl.txt" in told
    assert "deduce: deduce 9.9, Dutch rules" in told
    if not find_spec("presidio_analyzer"):
        assert "left out: presidio: " in told
        assert f"then --libraries {libraries}" in told
    tables = {each.title: each for each in report.tables}
    rows = {row[:2]: row[2:] for row in tables["dense notes, US: systems"].rows}
    systems = [name for name, case in rows if case == "as-is"]
    assert systems[:2] == ["hybrid", "hybrid-recall"]
    assert "deduce" in systems
    # Ann Zorblat, Linehan, Okafor, Bert, Marta Quill; neither the date nor the phone.
    assert rows["deduce", "as-is"][0] == "0.7143"
    assert rows["deduce", "lower"][0] == "0.0000"
    assert rows["hybrid-recall", "as-is"][0] >= rows["hybrid", "as-is"][0]
    curve = tables["dense notes, US: our curve"].rows
    assert [r[0] for r in curve if "(" in r[0]] == ["0 (hybrid)", "1 (hybrid-recall)"]
    classes = tables["dense notes, US: recall by class"].rows
    assert classes[0][0] == "STAFF"
    [finding] = [each for each in report.findings if "deduce" in each.claim]
    assert "0.714 at" in finding.figures
    for text in ("Zorblat", "Linehan", "Okafor"):
        assert text not in repr(report)


def test_a_folder_without_any_of_the_notes_is_refused(data, tmp_path):
    with pytest.raises(ConfigError, match="no notes; needs one of written_notes/dev"):
        experiment.operating_points(Runner(tmp_path, tmp_path))


def test_a_plot_of_decades_labels_single_points(tmp_path):
    plot = Plot(
        "Points", "x", "y", lines={"ours": [(1, 0.5), (100, 0.9)]},
        scale="decades", points={"other": (20, 0.7)}, is_logit=True,
    )  # fmt: skip

    assert draw(plot, tmp_path).read_bytes().startswith(b"\x89PNG")
