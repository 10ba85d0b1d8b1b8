"""Reports as files: JSON, Markdown and pictures in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from ..evaluation.tables import markdown
from .pictures import draw
from .report import Report, as_markdown, findings_table

INDEX = "README.md"


def write_report(report: Report, folder: Path) -> Path:
    """Write a report into a folder of its name in a folder; return the page's path."""
    place = folder / report.experiment
    place.mkdir(parents=True, exist_ok=True)
    values = orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2)
    (place / "report.json").write_bytes(values)
    for plot in report.plots:
        draw(plot, place)
    page = place / INDEX
    page.write_text(as_markdown(report), "utf-8")
    return page


def write_index(reports: Sequence[Report], folder: Path) -> Path:
    """Write the page that leads to all reports, with every finding."""
    links = (
        f"- [{r.experiment}]({r.experiment}/{INDEX}): {r.question}" for r in reports
    )
    findings = [each for report in reports for each in report.findings]
    page = folder / INDEX
    parts = ["# Experiments\n", *links, ""]
    if findings:
        parts.append(markdown([findings_table(findings)]))
    page.write_text("\n".join(parts) + "\n", "utf-8")
    return page
