"""Reports of experiments: tables, plots and findings, as Markdown, JSON and PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from deid_core.research.scoring.tables import Table, markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Points = Sequence[tuple[float, float]]
INDEX, VALUES = "README.md", "report.json"
_SIZE = (7.0, 4.2)
_DOTS = 150
# Okabe and Ito 2008: distinguishable with colour blindness, and in grey.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKS = tuple("osD^vPX")
_MOST_LABELLED = 20
_SHARES = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7),
    *(0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, usually of a paper, and whether it holds here.

    Args:
        claim: One sentence.
        source: Paper and place: ``Deleger and others 2013, Table 3``.
        holds: None where the corpora cannot decide.
        figures: The figures that decide it, in words.
    """

    claim: str
    source: str
    holds: bool | None
    figures: str

    @property
    def verdict(self) -> str:
        """The verdict on the claim, in words."""
        return {True: "holds", False: "does not hold", None: "can't be told"}[
            self.holds
        ]


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines and points over numbers, or bars over names.

    Args:
        title: Also the name of the file, in lower case.
        across: Label of the horizontal axis, with its unit.
        up: Label of the vertical axis, with its unit.
        lines: Points ``(x, y)`` by name; None for bars.
        points: Single points by name, each labelled where it lies.
        bars: The height at each of `names`, by series; None for lines.
        names: Labels of the bars.
        scale: Of the horizontal axis: ``log`` has a tick at each point, ``decades``
            at 1, 2, 5, 10 and so on.
        is_logit: Whether the vertical axis is stretched towards 0 and 1.
    """

    title: str
    across: str
    up: str
    lines: Mapping[str, Points] | None = None
    bars: Mapping[str, Sequence[float]] | None = None
    names: Sequence[str] = ()
    scale: Literal["linear", "log", "decades"] = "linear"
    points: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    is_logit: bool = False

    @property
    def file_name(self) -> str:
        """The name of the PNG file."""
        words = "".join(c if c.isalnum() else " " for c in self.title.lower()).split()
        return f"{'-'.join(words)}.png"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an experiment, without text of a corpus.

    Args:
        experiment: Its name.
        question: What it answers.
        set_up: Corpora, sizes and seed, a line each.
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
    """Return a report as a Markdown page with links to its plots."""
    parts = [f"# {report.experiment}\n\n{report.question}\n"]
    parts.append("".join(f"- {line}\n" for line in report.set_up))
    if report.findings:
        parts.append(markdown([findings_table(report.findings)]))
    parts.append(markdown(report.tables))
    parts += [f"![{each.title}]({each.file_name})\n" for each in report.plots]
    return "\n".join(parts)


def findings_table(findings: Sequence[Finding]) -> Table:
    """Return a row for each finding."""
    rows = tuple((f.claim, f.source, f.verdict, f.figures) for f in findings)
    return Table("Findings", ("finding", "source", "here", "figures"), rows)


def write_report(report: Report, folder: Path) -> Path:
    """Write a report into a subfolder of its name; return the path of the page."""
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
    """Write a page with links to all reports in a folder, and their findings.

    Args:
        folder: With reports of this run or of earlier ones.
        order: Names of experiments in the order of the page.
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
            # The heading above replaces that of the table.
            _, table = markdown([findings_table(findings)]).split("\n\n", 1)
            parts.append(table)
    page = folder / INDEX
    page.write_text("\n".join(parts), "utf-8")
    return page


def draw(plot: Plot, folder: Path) -> Path:
    """Write a plot into a folder; return the path of the file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, dpi=_DOTS, layout="constrained")
    axes = figure.subplots()
    axes.set_prop_cycle(color=_COLOURS, marker=_MARKS)
    axes.set(title=plot.title, xlabel=plot.across, ylabel=plot.up)
    axes.grid(visible=True, axis="y" if plot.bars else "both", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if plot.bars:
        _bars(axes, plot)
    for name, points in (plot.lines or {}).items():
        axes.plot(*zip(*points, strict=True), label=name, markersize=4, linewidth=1.5)
    _label_points(axes, plot)
    if plot.scale == "log":
        _doublings(axes, plot)
    if plot.scale == "decades":
        _decades(axes)
    if plot.is_logit:
        _logit(axes)
    if (count := len(plot.lines or {}) + len(plot.bars or {})) > 1:
        # Outside the axes, so that it hides no bar.
        look = {"ncols": min(4, count), "frameon": False, "fontsize": "small"}
        figure.legend(loc="outside lower center", **look)
    target = folder / plot.file_name
    figure.savefig(target)
    return target


def _label_points(axes: Axes, plot: Plot) -> None:
    first = len(plot.lines or {})
    for number, (name, (x, y)) in enumerate(plot.points.items(), start=first):
        colour = _COLOURS[number % len(_COLOURS)]
        mark = _MARKS[number % len(_MARKS)]
        axes.plot(x, y, marker=mark, color=colour, markersize=9, linestyle="none")
        axes.annotate(
            name, (x, y), (6, -14), textcoords="offset points", color=colour,
            fontsize="small",
        )  # fmt: skip


def _decades(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()


def _logit(axes: Axes) -> None:
    axes.set_yscale("logit")
    # Room for the labels below points.
    axes.margins(y=0.1)
    low, high = axes.get_ylim()
    ticks = [each for each in _SHARES if low <= each <= high]
    axes.set_yticks(ticks, [f"{each:g}" for each in ticks])
    axes.minorticks_off()


def _doublings(axes: Axes, plot: Plot) -> None:
    axes.set_xscale("log")
    places = sorted({x for points in (plot.lines or {}).values() for x, _ in points})
    axes.set_xticks(places, [f"{each:g}" for each in places])
    axes.minorticks_off()


def _bars(axes: Axes, plot: Plot) -> None:
    bars = plot.bars or {}
    width = 0.8 / len(bars)
    for number, (name, heights) in enumerate(bars.items()):
        shift = (number - (len(bars) - 1) / 2) * width
        places = [at + shift for at in range(len(heights))]
        colour = _COLOURS[number % len(_COLOURS)]
        drawn = axes.bar(places, heights, width, label=name, color=colour)
        if len(bars) * len(heights) <= _MOST_LABELLED:
            axes.bar_label(drawn, fmt="%.3g", fontsize=7)
    tilt = 35 if max(map(len, plot.names), default=0) * len(plot.names) > 70 else 0
    axes.set_xticks(
        range(len(plot.names)),
        plot.names,
        rotation=tilt,
        ha="right" if tilt else "center",
    )
