"""What an experiment found: tables, plots, and which findings of a paper hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from deid_core.research.scoring.tables import Table, markdown

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a paper found, and whether it holds here.

    Args:
        claim: In one sentence.
        source: Paper and place: ``Deleger and others 2013, Table 3``.
        holds: None where the corpora at hand can't tell.
        figures: What was measured here, in words.
    """

    claim: str
    source: str
    holds: bool | None
    figures: str

    @property
    def verdict(self) -> str:
        """How it stands, in a word or two."""
        return {True: "holds", False: "does not hold", None: "can't be told"}[
            self.holds
        ]


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines over numbers, or bars over names.

    Args:
        title: What is seen; also the picture's file name, in lower case.
        across: What the horizontal axis is, with its unit.
        up: Likewise the vertical one.
        lines: By name, points ``(x, y)``; empty for bars.
        bars: By name of a series, the height at each of `names`; empty for lines.
        names: Under the bars.
        scale: Of the horizontal axis.
    """

    title: str
    across: str
    up: str
    lines: Mapping[str, Points] | None = None
    bars: Mapping[str, Sequence[float]] | None = None
    names: Sequence[str] = ()
    scale: Literal["linear", "log"] = "linear"

    @property
    def file_name(self) -> str:
        """The picture's, without folder."""
        words = "".join(c if c.isalnum() else " " for c in self.title.lower()).split()
        return f"{'-'.join(words)}.png"


@dataclass(frozen=True, slots=True)
class Report:
    """All that an experiment has to say; none of it is text of a corpus.

    Args:
        experiment: Its name.
        question: What was asked.
        set_up: Corpora, sizes, seed: a line each.
    """

    experiment: str
    question: str
    set_up: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    findings: tuple[Finding, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)


def as_markdown(report: Report) -> str:
    """Return a report as a Markdown page; plots are links to their files beside it."""
    parts = [f"# {report.experiment}\n\n{report.question}\n"]
    parts.append("".join(f"- {line}\n" for line in report.set_up))
    if report.findings:
        parts.append(markdown([findings_table(report.findings)]))
    parts.append(markdown(report.tables))
    parts += [f"![{each.title}]({each.file_name})\n" for each in report.plots]
    return "\n".join(parts)


def findings_table(findings: Sequence[Finding]) -> Table:
    """Return the findings, a row each."""
    rows = tuple((f.claim, f.source, f.verdict, f.figures) for f in findings)
    return Table("Findings", ("finding", "source", "here", "figures"), rows)
