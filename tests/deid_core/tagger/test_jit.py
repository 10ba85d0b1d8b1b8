"""Compiled functions: machine code that is kept, and where."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
KERNEL = """
from deid_core.jit import compiled, is_machine_code_kept

@compiled
def twice(number):
    return 2 * number

print(is_machine_code_kept(), twice(21))
"""


def test_machine_code_of_an_earlier_process_is_seen(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)

    said = [run(tmp_path, "kernel.py", NUMBA_CACHE_DIR=str(tmp_path)) for _ in "ab"]

    assert ["False 42", "True 42"] == said


@pytest.mark.parametrize("cache", [".", "cache"])
def test_a_relative_cache_folder_leaves_nothing_where_a_program_runs(tmp_path, cache):
    run(
        tmp_path,
        "-c",
        "import deid_core.detectors.patient_record",
        NUMBA_CACHE_DIR=cache,
    )

    assert [] == [*tmp_path.iterdir()]


def run(folder, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
