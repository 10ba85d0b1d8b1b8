"""Reports as files: JSON, Markdown and pictures in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from deid_core.research.scoring.tables import markdown

from .pictures import draw
from .report import Finding, Report, as_markdown, findings_table

INDEX, VALUES = "README.md", "report.json"


def write_report(report: Report, folder: Path) -> Path:
    """Write a report into a folder of its name in a folder; return the page's path."""
    place = folder / report.experiment
    place.mkdir(parents=True, exist_ok=True)
    values = orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2)
    (place / VALUES).write_bytes(values)
    for plot in report.plots:
        draw(plot, place)
    page = place / INDEX
    page.write_text(as_markdown(report), "utf-8")
    return page


def write_index(folder: Path, order: Sequence[str]) -> Path:
    """Write the page that leads to every report in a folder, with their findings.

    Args:
        folder: Where reports were written, in this run or an earlier one.
        order: Of the experiments on the page.
    """
    parts = ["# Experiments\n"]
    for name in order:
        file = folder / name / VALUES
        if not file.exists():
            continue
        report = orjson.loads(file.read_bytes())
        parts.append(f"## [{name}]({name}/{INDEX})\n\n{report['question']}\n")
        findings = [Finding(**each) for each in report["findings"]]
        if findings:
            # The heading above serves for the table's own.
            _, table = markdown([findings_table(findings)]).split("\n\n", 1)
            parts.append(table)
    page = folder / INDEX
    page.write_text("\n".join(parts), "utf-8")
    return page
