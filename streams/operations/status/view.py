"""The picture as text; made for 80 columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from streams.cluster.lag import PartitionLag
from streams.cluster.lag_status import LagState
from streams.cluster.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENTS,
)

from .snapshot import GroupView, Picture

STYLES = {
    LagState.OK: "green",
    LagState.WARN: "bold yellow",
    LagState.STALL: "bold red",
    LagState.STOP: "bold white on red",
}
MOST_PARTITIONS = 16
"""Rows of lag; of more the worst are shown, and the others counted."""
MOST_REASONS = 5


def screen(
    picture: Picture, trouble: str = "", *, height: int | None = None
) -> RenderableType:
    """Return all of it, one under the other.

    Args:
        picture: The last that could be taken.
        trouble: Why there is none newer; "" if it is of now.
        height: Lines of the terminal; the lag gives way where they are few.
    """
    most = MOST_PARTITIONS if height is None else max(2, height - _others(picture))
    parts = [_title(picture), Text(), flow(picture), Text()]
    parts += lag(picture, min(most, MOST_PARTITIONS))
    parts += [Text(), *groups(picture)] if picture.groups else []
    parts += [Text(), quarantine(picture)] if picture.quarantine else []
    parts += [Text(), refused(picture)]
    if trouble:
        parts += [Text(), Text(trouble, style="bold red")]
    return Group(*parts)


def flow(picture: Picture) -> RenderableType:
    """Return the arrows with their rates."""
    rate = {edge: f"{short(value):─^5}" for edge, value in picture.rates.items()}
    if not rate:
        return Text("no flow yet")
    over = f"records a second over {picture.rate_seconds:.0f} s"
    arriving = ""
    if picture.arriving is not None:
        arriving = f", {short(picture.arriving)} arrive in {HL7_RAW.name}"
    raw, notes, scrubbed = HL7_RAW.name, NOTES.name, NOTES_SCRUBBED.name
    main = (
        f"{raw} ─{rate[raw, 'intake']}▶ intake ─{rate['intake', notes]}▶ {notes} "
        f"─{rate[notes, 'scrub']}▶ scrub ─{rate['scrub', scrubbed]}▶ {scrubbed}"
    )
    left, right = main.index("intake"), main.index("scrub ")
    patients = f"├─{rate['intake', PATIENTS.name]}▶ {PATIENTS.name}"
    dead = f"└─{{}}▶ {DEAD_LETTERS.name}"
    first = " " * left + patients
    second = " " * left + dead.format(rate["intake", DEAD_LETTERS.name])
    beside = dead.format(rate["scrub", DEAD_LETTERS.name])
    lines = (main, first, f"{second:<{right}}{beside}")
    body = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
    return Group(Text(over + arriving, style="dim"), body)


def lag(picture: Picture, most: int) -> Iterator[RenderableType]:
    """Return a row a partition, the worst first where there are too many."""
    grid = Grid("group", "topic", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("partition", "behind", "seconds"):
        grid.add_column(name, justify="right")
    grid.add_column("state")
    shown = chosen(picture.lags, most)
    for each in shown:
        seconds = "?" if each.seconds is None else short(each.seconds)
        grid.add_row(
            Text(each.group),
            Text(each.topic),
            str(each.partition),
            f"{each.records:,}",
            seconds,
            _state(each, is_judged=picture.is_judged),
        )
    yield grid
    rest = len(picture.lags) - len(shown)
    if rest:
        yield Text(f"and {rest} partitions that are no worse", style="dim")
    if not picture.is_judged:
        yield Text("states are judged once a minute has been watched", style="dim")


def chosen(lags: Iterable[PartitionLag], most: int) -> list[PartitionLag]:
    """Return the worst partitions, in order of group, topic and number."""
    order = list(LagState)
    worst = sorted(lags, key=lambda each: (-order.index(each.state), -each.records))
    return sorted(worst[:most], key=lambda e: (e.group, e.topic, e.partition))


def groups(picture: Picture) -> Iterator[RenderableType]:
    """Return who works, and on which partitions."""
    grid = Grid("group", "state", "worker", "host", box=None, padding=(0, 2, 0, 0),
                header_style="dim")  # fmt: skip
    grid.add_column("partitions", overflow="ellipsis", no_wrap=True)
    for group in picture.groups:
        for row in _workers(group):
            grid.add_row(*row)
    yield grid


def quarantine(picture: Picture) -> RenderableType:
    """Return the partitions whose records are processed one at a time."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for each in picture.quarantine:
        hand = ""
        if each.record is not None:
            hand = f"at offset {each.record}, which has ended {each.deaths} workers"
        grid.add_row(
            Text(f"{each.topic}[{each.partition}]"), f"{each.suspects:,} suspects", hand
        )
    title = "in quarantine: one record at a time, since its last owner died"
    return Group(Text(title, style="bold yellow"), grid)


def refused(picture: Picture) -> RenderableType:
    """Return dead letters by reason, and the latency."""
    total = sum(each.count for each in picture.refused)
    minutes = f"{picture.refused_seconds / 60:.0f} min"
    style = "bold red" if total else ""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", min_width=6)
    for each in picture.refused[:MOST_REASONS]:
        grid.add_row(f"{each.count:,}", each.stage, each.code)
    return Group(
        Text.assemble((f"{'latency in 1 min':<24}", "dim"), _quantiles(picture)),
        Text.assemble(
            (f"{f'dead letters in {minutes}':<24}", "dim"), (f"{total:,}", style)
        ),
        grid,
    )


def short(value: float) -> str:
    """Return a number of at most four characters, e.g. 0.04, 3.2, 412, 12k."""
    if 0 < value < 0.095:
        return f"{max(value, 0.01):.2f}"
    for limit, divisor, unit in ((1e4, 1, ""), (1e6, 1e3, "k"), (1e10, 1e6, "M")):
        if value < limit * 0.99995:
            shown = value / divisor
            decimals = 1 if shown < 99.95 and (not unit or shown < 10) else 0
            return "0" if value == 0 else f"{shown:.{decimals}f}{unit}"
    return "much"


def _others(picture: Picture) -> int:
    """Return how many lines all but the lag's rows take."""
    workers = sum(max(1, len(each.members)) for each in picture.groups)
    reasons = min(MOST_REASONS, len(picture.refused))
    held = len(picture.quarantine) + 2 if picture.quarantine else 0
    return 14 + held + reasons + (workers + 2 if picture.groups else 0)


def _title(picture: Picture) -> Text:
    title = Text("phistream", style="bold")
    moment = datetime.fromtimestamp(picture.at).astimezone()
    title.append(f"  {picture.source}  {moment:%H:%M:%S}", style="none")
    return title


def _state(lag: PartitionLag, *, is_judged: bool) -> Text:
    if lag.state is LagState.OK and not is_judged:
        return Text("-", style="dim")
    return Text(lag.state, style=STYLES[lag.state])


def _workers(group: GroupView) -> Iterator[tuple[str | Text, ...]]:
    style = "green" if group.state == "stable" else "bold yellow"
    state = group.state.removeprefix("preparing_").removeprefix("completing_")
    first: tuple[str | Text, ...] = Text(group.name), Text(state, style=style)
    if not group.members:
        yield (*first, Text("nobody works", style="bold red"))
    for member in group.members:
        held = ranges(member.partitions)
        yield (*first, Text(member.name), Text(member.host), held)
        first = "", ""


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers in short, e.g. 0-3 7."""
    runs: defaultdict[int, list[int]] = defaultdict(list)
    for place, number in enumerate(sorted(numbers)):
        runs[number - place].append(number)
    return " ".join(
        str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs.values()
    )


def _quantiles(picture: Picture) -> str:
    found = picture.latency
    if found is None or found.p50 is None:
        return "no note"
    pairs = (("p50", found.p50), ("p90", found.p90), ("p99", found.p99))
    return ", ".join(f"{name} {value or 0:,.0f} ms" for name, value in pairs)
