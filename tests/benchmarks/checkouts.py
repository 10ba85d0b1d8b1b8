"""Runs a part of a benchmark with the code of another checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from rich.table import Table as Grid

THIS = Path(__file__).parents[2]


def versions(other: Path | None) -> dict[str, Path]:
    """Return the checkouts to measure, by name."""
    this = {"this version": THIS}
    return this if other is None else {"other version": other.resolve()} | this


def figures_of(checkout: Path, module: str, *arguments: object) -> dict[str, float]:
    """Return what a benchmark measures in a process that runs a checkout's code.

    The process is ``python -m MODULE measure FILE ARGUMENTS``, and writes its figures
    as JSON into FILE.  Benchmarks and harness are this version's, the packages those of
    this environment.
    """
    with tempfile.TemporaryDirectory(prefix="phistream-figures-") as folder:
        (Path(folder) / "tests").symlink_to(THIS / "tests")
        result = Path(folder) / "figures.json"
        subprocess.run(
            [
                *(sys.executable, "-m", module, "measure"),
                *map(str, (result, *arguments)),
            ],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{checkout}"},
            check=True,
        )
        return json.loads(result.read_text())


class Figures:
    """The figures of all versions, and of all rounds."""

    def __init__(self, names):
        self._names = list(names)
        self._found = defaultdict(lambda: defaultdict(list))

    def add(self, name, figures):
        for figure, value in figures.items():
            self._found[figure][name].append(value)

    def grid(self):
        """Return a row for each figure: of several rounds the median, and the ratio."""
        grid = Grid("figure")
        for name in self._names:
            grid.add_column(name, justify="right")
        if len(self._names) > 1:
            grid.add_column("ratio", justify="right")
        for figure, found in self._found.items():
            values = [median(found[n]) if found[n] else None for n in self._names]
            cells = [_shown(each) for each in values]
            if len(values) > 1:
                before, after = values
                cells.append(f"{after / before:.2f}" if before and after else "")
            grid.add_row(figure, *cells)
        return grid


def _shown(value):
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"
