"""The output of `phistream doctor`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from .checks import CheckResult
from .finding import Level, worst

STYLES = {Level.OK: "green", Level.WARN: "bold yellow", Level.FAIL: "bold red"}


def rows(examined: CheckResult) -> RenderableType:
    """Return a check's findings, each with the next step."""
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(width=4)
    grid.add_column(width=15)
    grid.add_column(overflow="fold")
    name = examined.check
    for finding in examined.findings:
        text = Text(finding.seen)
        if finding.todo:
            text.append(f"\n→ {finding.todo}", style="italic")
        grid.add_row(Text(finding.level, style=STYLES[finding.level]), name, text)
        name = ""
    return grid


def skipped(all_examined: Sequence[CheckResult]) -> RenderableType:
    """Return the checks that were not run, by the failed check that they need."""
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(width=4)
    grid.add_column(overflow="fold")
    for cause in dict.fromkeys(
        each.failed_need for each in all_examined if each.failed_need
    ):
        names = ", ".join(
            each.check for each in all_examined if each.failed_need == cause
        )
        grid.add_row(Text("-"), Text(f"skipped, since {cause} failed: {names}"))
    return grid


def verdict(all_examined: Sequence[CheckResult]) -> RenderableType:
    """Return the last line: the number of findings by level."""
    run = [examined for examined in all_examined if not examined.failed_need]
    levels = [each.level for examined in run for each in examined.findings]
    counts = ", ".join(f"{levels.count(level)} {level}" for level in Level)
    if len(run) < len(all_examined):
        counts += f", {len(all_examined) - len(run)} skipped"
    style = STYLES[worst(_findings(all_examined))]
    return Group(Padding(Text(counts, style=style), (1, 0, 0, 0)))


def report(all_examined: Sequence[CheckResult]) -> dict[str, Any]:
    """Return everything for `--json`."""
    return {
        "level": worst(_findings(all_examined)),
        "findings": [
            {
                "check": examined.check,
                "level": each.level,
                "seen": each.seen,
                "todo": each.todo,
            }
            for examined in all_examined
            for each in examined.findings
        ],
    }


def _findings(all_examined: Iterable[CheckResult]) -> list[Any]:
    return [each for examined in all_examined for each in examined.findings]
