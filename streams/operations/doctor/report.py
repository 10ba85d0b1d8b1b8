"""What the doctor prints."""

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
    """Return a check's findings, each with what to do next."""
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(width=4)
    grid.add_column(width=15)
    grid.add_column(overflow="fold")
    name = examined.check
    for finding in examined.findings:
        said = Text(finding.seen)
        if finding.todo:
            said.append(f"\n→ {finding.todo}", style="italic")
        grid.add_row(Text(finding.level, style=STYLES[finding.level]), name, said)
        name = ""
    return grid


def skipped(all_examined: Sequence[CheckResult]) -> RenderableType:
    """Return a line for each failed check that others need: they were not run."""
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(width=4)
    grid.add_column(overflow="fold")
    for cause in dict.fromkeys(
        each.failed_need for each in all_examined if each.failed_need
    ):
        names = ", ".join(
            each.check for each in all_examined if each.failed_need == cause
        )
        said = Text(f"skipped, since {cause} failed: {names}")
        grid.add_row(Text("-"), said)
    return grid


def verdict(all_examined: Sequence[CheckResult]) -> RenderableType:
    """Return the last line."""
    run = [examined for examined in all_examined if not examined.failed_need]
    levels = [each.level for examined in run for each in examined.findings]
    counts = ", ".join(f"{levels.count(level)} {level}" for level in Level)
    if len(run) < len(all_examined):
        counts += f", {len(all_examined) - len(run)} skipped"
    style = STYLES[worst(_findings(all_examined))]
    return Group(Padding(Text(counts, style=style), (1, 0, 0, 0)))


def as_json(all_examined: Sequence[CheckResult]) -> dict[str, Any]:
    """Return all of it for programs."""
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
