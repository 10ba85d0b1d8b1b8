"""A prepared machine: notes of any kind find all machine code, and all tables, made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NOTES = """
from pathlib import Path
from deid_core import Deidentifier, Document
from deid_core.document import KnownIdentifiers, PersonName
from deid_core.runtime.machine_code import kernels
from deid_core.runtime.prepare import prepare
from deid_core.research.corpora.readers import read_corpus

def compiled():
    return {each.py_func.__qualname__: len(each.signatures) for each in kernels}

prepare("hybrid")
before = compiled()
notes = read_corpus(Path("tests/written_notes/train/mixed-services.txt")).documents
texts = [each.text for each in notes[:40]]
texts += ["", "a", "é", "Ω" * 300, "1" * 5000, "Dr. Núñez\\n" * 50, texts[0].upper()]
texts += [texts[1].lower(), "\\ud800", "\\0", "漢字 Jane Roe"]
record = KnownIdentifiers(patient_names=(PersonName("Núñez", "Ana"),))
deidentifier = Deidentifier.from_names("hybrid")
for known in (KnownIdentifiers(), record):
    documents = [Document("d", each, known=known) for each in texts]
    for each in documents[:5]:
        deidentifier.deidentify_batch([each])
    deidentifier.deidentify_batch(documents)
assert before == compiled(), (before, compiled())
print(sum(before.values()))
"""


def run(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_note_compiles_what_was_not_prepared():
    assert int(run("-c", NOTES)) >= 10


def test_a_second_run_says_that_nothing_was_to_do():
    run("-m", "deid_core.runtime.prepare")

    said = run("-m", "deid_core.runtime.prepare")

    assert said.startswith("hybrid: 0 kernels compiled, ")
    assert "made and kept" not in said


@pytest.mark.long
def test_what_hybrid_needs_is_all_that_hybrid_recall_needs():
    run("-m", "deid_core.runtime.prepare")

    said = run("-m", "deid_core.runtime.prepare", "hybrid-recall")

    assert said.startswith("hybrid-recall: 0 kernels compiled, ")
    assert "made and kept" not in said


@pytest.mark.long  # it compiles every kernel
def test_an_empty_folder_is_filled_and_then_used(tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}

    first = run("-m", "deid_core.runtime.prepare", **environment)
    second = run("-m", "deid_core.runtime.prepare", **environment)

    assert f"words: made and kept in {tmp_path / 'prepared'}\n" in first
    assert "hybrid: 0 kernels compiled" not in first
    assert second.startswith("hybrid: 0 kernels compiled, ")


def test_a_machine_that_keeps_nothing_is_told_so(monkeypatch, capsys):
    from deid_core.runtime import prepare
    from deid_core.runtime.jit import MachineCode

    monkeypatch.setattr(prepare, "prepare", lambda preset: f"{preset}: done")
    monkeypatch.setattr(
        prepare, "machine_code", lambda: MachineCode(0, 15, is_kept=False)
    )

    with pytest.raises(SystemExit, match="1"):
        prepare.main([])

    assert capsys.readouterr().out == "hybrid: done\n"
