"""Make what a machine keeps for all processes, before the first of them needs it.

    python -m deid_core.runtime.prepare [PRESET ...]

Builds each preset (`hybrid` without any named), which reads the `first_notes`: so the
kernels that notes need are compiled, and the tables of models and lists are made.
Where all of it is there, that takes as long as the start of a process.
"""

from __future__ import annotations

import logging
import sys
import time

from deid_core.pipeline import Deidentifier

from .jit import INSTALL, has_compiler, machine_code

PRESET = "hybrid"


def prepare(preset: str) -> str:
    """Make what a preset needs; return what was done."""
    if not has_compiler():
        Deidentifier.from_names(preset)
        return f"{preset}: nothing to compile; for speed: {INSTALL}"
    started = time.monotonic()
    before = machine_code()
    Deidentifier.from_names(preset)
    after = machine_code()
    loaded, compiled = after.loaded - before.loaded, after.compiled - before.compiled
    seconds = time.monotonic() - started
    return (
        f"{preset}: {compiled} kernels compiled, {loaded} loaded;"
        f" ready in {seconds:.1f} s"
    )


def main(presets: list[str]) -> None:
    """Prepare presets, and print what was done for each."""
    logging.basicConfig(level=logging.ERROR, format="%(message)s", stream=sys.stdout)
    logging.getLogger("deid_core").setLevel(logging.INFO)
    for preset in presets or [PRESET]:
        sys.stdout.write(f"{prepare(preset)}\n")
    if not machine_code().is_kept:
        sys.stderr.write(
            "machine code can't be kept: nothing can be written in this package's"
            " folder or in NUMBA_CACHE_DIR, so each process compiles its own\n"
        )
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
