"""What the benchmark of the library reads, and that it reads it once."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from deid_core import Deidentifier, Document
from streams.demo.ward import Ward
from streams.engine.runner import MICRO_BATCH_RECORDS
from tests.benchmarks import library
from tests.benchmarks.notes import (
    DATA,
    FEW,
    KINDS,
    MANY,
    Kind,
    NotThere,
    Plan,
    batches,
    documents_of,
    new_words_in,
    notes_of,
    plan_of,
    streamed,
    words_in,
)
from tests.benchmarks.steps import REST, STEPS, steps_of

HERE = Path(__file__).parent
needs_corpora = pytest.mark.skipif(
    not DATA.is_dir(), reason="no corpora in ../shared/data"
)


def test_words_are_runs_of_nonblank_characters():
    assert words_in([Document("1", "a b-c\n\n3/4 \t."), Document("2", "")]) == 4


def test_words_are_new_once_and_only_if_no_note_before_has_them():
    before, notes = [Document("1", "a b")], [Document("2", "b c c"), Document("3", "c")]

    assert new_words_in(Plan(Kind("real"), before, notes)) == 1


@needs_corpora
def test_dense_notes_are_as_their_own_converter_writes_them():
    script = DATA / "dense-notes/to_jsonl.py"
    done = subprocess.run([sys.executable, script], capture_output=True, check=True)
    rows = list(map(json.loads, done.stdout.splitlines()))
    notes = documents_of(Kind("dense", records=True), DATA, 0, seed=1)

    assert Counter(each["text"] for each in rows) == Counter(n.text for n in notes)
    assert sum(bool(each.known) for each in notes) == sum(
        each["record"] is not None for each in rows
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.name)
def test_no_text_is_read_twice_before_and_at_first_sight(kind):
    try:
        plan = plan_of(kind, DATA, notes=90, seed=5)
    except NotThere as reason:
        pytest.skip(str(reason))
    read = [each.text for each in (*plan.before, *plan.notes)]

    assert (len(plan.before), len(plan.notes)) == (180, 90)
    assert len(set(read)) == len(read)
    assert kind.records == any(each.known for each in plan.notes)


def test_notes_that_repeat_are_left_out(tmp_path):
    for name in ("mtsamples", "aci-bench"):
        file = tmp_path / name / "notes.jsonl"
        file.parent.mkdir()
        file.write_text("".join(f'{{"text": "note {n % 3}"}}\n' for n in range(9)))

    plan = plan_of(Kind("real"), tmp_path, notes=50, seed=1)

    assert sorted(each.text for each in plan.notes) == ["note 0", "note 1", "note 2"]
    assert len(plan.before) == 180


def test_the_first_sight_is_measured_on_texts_that_the_system_has_not_read():
    class Recording:
        def __init__(self):
            self.read = []

        def deidentify_batch(self, documents):
            self.read += [each.text for each in documents]
            return [None for _ in documents]

    system = Recording()
    before = [Document(str(n), f"before {n}") for n in range(70)]
    notes = [Document(str(n), f"note {n}") for n in range(150)]

    found = library.measured(system, Plan(Kind("written"), before, notes))

    texts = [each.text for each in notes]
    assert system.read == [each.text for each in before] + texts + texts
    assert found.refused == 150


def test_batches_are_as_large_as_those_of_the_service():
    small = [Document(str(n), "note") for n in range(2 * MICRO_BATCH_RECORDS + 1)]
    large = [Document(str(n), "x" * 100_000) for n in range(5)]

    assert [len(each) for each in batches(small)] == [64, 64, 1]
    assert [len(each) for each in batches(large)] == [2, 2, 1]
    assert [each for batch in batches(small) for each in batch] == small


def test_records_change_within_the_stream_of_the_ward():
    ward = Ward(seed=1, patients=12, note_words=20)
    known: dict[str, set] = {}
    for _, document in islice(streamed(ward), 200):
        known.setdefault(document.patient, set()).add(document.known.addresses)

    assert max(map(len, known.values())) > 1


@pytest.mark.parametrize(("identifiers", "words"), [(FEW, 400), (MANY, 290)])
def test_notes_of_the_ward_have_about_the_words_that_were_asked_for(identifiers, words):
    notes = notes_of(identifiers, notes=20, seed=2)

    assert words_in(notes) / len(notes) == pytest.approx(words, rel=0.15)


def test_notes_with_few_identifiers_have_only_the_first():
    ward = Ward(seed=2, patients=400, note_words=4 * 400, split="dev")
    stream = streamed(ward)
    for note in notes_of(FEW, notes=5, seed=2):
        message, whole = next(stream)
        values = {each.value for each in message.planted}

        assert whole.known == note.known
        assert len({value for value in values if value in note.text}) <= FEW + 3


def test_notes_with_many_identifiers_have_about_so_many():
    stream = streamed(Ward(seed=2, patients=400, note_words=295, split="dev"))
    planted = [len(message.planted) for message, _ in islice(stream, 50)]

    assert sum(planted) / len(planted) == pytest.approx(MANY, abs=2)


def test_steps_are_timed_without_changing_what_is_found():
    system = Deidentifier.from_names("lexical")
    notes = notes_of(FEW, notes=3, seed=2)
    notes.append(replace(notes[0], text=notes[0].text.upper()))
    before = system.deidentify_batch(notes)
    with steps_of(system) as seconds:
        during = system.deidentify_batch(list(map(replace, notes)))

    assert during == before
    detectors = {f"detector {each.name}" for each in system._detectors}
    assert set(seconds) == {REST, *detectors, *(name for name, _, _ in STEPS)}
    assert all(each >= 0 for each in seconds.values())


def test_others_read_notes_spread_evenly_over_those_that_are_timed():
    notes = [Document(str(n), str(n)) for n in range(100)]
    plan = Plan(Kind("real"), [], notes)

    read = [int(each.text) for each in library.sample_of(plan, 40)]
    assert len(read) == 40
    assert read == sorted({*read})
    assert (min(read), max(read)) == (0, 97)
    assert library.sample_of(replace(plan, notes=notes[:3]), 40) == notes[:3]


def test_the_other_systems_are_in_no_lock_file():
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))
    needed = {
        each.partition("=")[0].rstrip("<>")
        for each in project["dependency-groups"]["benchmark"]
    }
    locks = sorted((HERE.parent / "deploy/locks").glob("*.lock"))
    assert len(locks) > 5
    for lock in locks:
        lines = lock.read_text("utf-8").splitlines()
        assert not needed & {line.partition("==")[0] for line in lines}
