"""Compiled functions: machine code that is kept, and where."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
KERNEL = """
from deid_core.runtime.jit import compiled, machine_code

@compiled
def twice(number):
    return 2 * number

print(twice(21), machine_code().loaded)
"""
FULL = """
import sys
from deid_core.runtime import jit
def fail(*_args, **_kwargs):
    raise OSError(30, "Read-only file system")
# Root may write anywhere, so that the system refuses nothing to this test.
from numba.core.caching import IndexDataCacheFile
IndexDataCacheFile._open_for_write = fail
from kernel import twice
print([twice(21), twice(1.5)], jit.machine_code())
"""


def test_machine_code_of_an_earlier_process_is_seen(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)

    said = [run(tmp_path, "kernel.py", NUMBA_CACHE_DIR=str(tmp_path)) for _ in "ab"]

    assert said == ["42 0", "42 1"]


@pytest.mark.parametrize("cache", [".", "cache"])
def test_a_relative_cache_folder_leaves_nothing_where_a_program_runs(tmp_path, cache):
    run(
        tmp_path,
        "-c",
        "import deid_core.detectors.patient_record",
        NUMBA_CACHE_DIR=cache,
    )

    assert [*tmp_path.iterdir()] == []


def test_machine_code_is_read_from_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    cache = tmp_path / "cache"
    run(tmp_path, "kernel.py", NUMBA_CACHE_DIR=str(cache))
    before = sorted(cache.rglob("*"))

    said = run(tmp_path, "-c", FULL, NUMBA_CACHE_DIR=str(cache))

    # The kernel for integers was loaded; that for floats is compiled, and not kept.
    seen, told = said.splitlines()
    assert seen == "42 1"
    assert told == "[42, 3.0] MachineCode(loaded=1, compiled=1, is_kept=False)"
    assert before == sorted(cache.rglob("*"))


@pytest.mark.parametrize("mode", [0o777, 0o775])
@pytest.mark.parametrize("where", ["", "inner"])
def test_machine_code_is_not_read_where_others_can_write(tmp_path, mode, where):
    (tmp_path / "kernel.py").write_text(KERNEL)
    cache = tmp_path / "cache"
    run(tmp_path, "kernel.py", NUMBA_CACHE_DIR=str(cache))
    open_one = next(cache.rglob("kernel.*.nbi")).parent if where else cache
    open_one.chmod(mode)

    assert run(tmp_path, "kernel.py", NUMBA_CACHE_DIR=str(cache)) == "42 0"


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
