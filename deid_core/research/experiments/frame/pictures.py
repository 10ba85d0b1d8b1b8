"""Plots as PNG files, by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .report import Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (7.0, 4.2)
_DOTS = 150
# Okabe and Ito 2008: told apart by most eyes, and in grey.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKS = tuple("osD^vPX")
_MOST_LABELLED = 20


def draw(plot: Plot, folder: Path) -> Path:
    """Write the plot into a folder; return the file's path."""
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
    if plot.scale == "log":
        _doublings(axes, plot)
    if (count := len(plot.lines or {}) + len(plot.bars or {})) > 1:
        # Beside the axes, so that it hides no bar.
        look = {"ncols": min(4, count), "frameon": False, "fontsize": "small"}
        figure.legend(loc="outside lower center", **look)
    target = folder / plot.file_name
    figure.savefig(target)
    return target


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
