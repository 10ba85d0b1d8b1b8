"""A snapshot as text, at most 80 columns wide."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from streams.cluster.lag import LagState, PartitionLag
from streams.cluster.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
)

from .snapshot import GroupView, Snapshot

STYLES = {
    LagState.OK: "green",
    LagState.WARN: "bold yellow",
    LagState.STALL: "bold red",
    LagState.STOP: "bold white on red",
}
MAX_PARTITIONS = 16
"""Rows of lag; of more, the worst are shown and the others counted."""
MAX_REASONS = 5


def render(
    snapshot: Snapshot, trouble: str = "", *, height: int | None = None
) -> RenderableType:
    """Return the whole snapshot, one part below the other.

    Args:
        snapshot: The latest.
        trouble: Why it is not current; "" if it is.
        height: Lines of the terminal; rows of lag are left out where they are few.
    """
    most = MAX_PARTITIONS if height is None else max(2, height - _other_lines(snapshot))
    parts = [_title(snapshot), Text(), flow(snapshot), Text()]
    parts += lag(snapshot, min(most, MAX_PARTITIONS))
    parts += [Text(), *groups(snapshot)] if snapshot.groups else []
    parts += [Text(), quarantine(snapshot)] if snapshot.quarantine else []
    parts += [Text(), held(snapshot)] if snapshot.held.notes else []
    parts += [Text(), repeated(snapshot)] if _has_repeated(snapshot) else []
    parts += [Text(), refused(snapshot)]
    if trouble:
        parts += [Text(), Text(trouble, style="bold red")]
    return Group(*parts)


def flow(snapshot: Snapshot) -> RenderableType:
    """Return the edges with their rates."""
    rate = {edge: f"{short(value):─^5}" for edge, value in snapshot.rates.items()}
    if not rate:
        return Text("no flow yet")
    over = f"records a second over {snapshot.rate_seconds:.0f} s"
    arriving = ""
    if snapshot.arriving is not None:
        arriving = f", {short(snapshot.arriving)} arrive in {HL7_RAW.name}"
    raw, notes, scrubbed = HL7_RAW.name, NOTES.name, NOTES_SCRUBBED.name
    main = (
        f"{raw} ─{rate[raw, 'intake']}▶ intake ─{rate['intake', notes]}▶ {notes} "
        f"─{rate[notes, 'scrub']}▶ scrub ─{rate['scrub', scrubbed]}▶ {scrubbed}"
    )
    left, right = main.index("intake"), main.index("scrub ")
    updates = f"├─{rate['intake', PATIENT_UPDATES.name]}▶ {PATIENT_UPDATES.name} "
    dead = f"└─{{}}▶ {DEAD_LETTERS.name}"
    first = f"{' ' * left + updates:─<{right - 2}}▶ ├─▶ {PATIENTS.name}"
    second = " " * left + dead.format(rate["intake", DEAD_LETTERS.name])
    third = dead.format(rate["scrub", DEAD_LETTERS.name])
    lines = (main, first, f"{second:<{right}}{third}")
    body = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
    return Group(Text(over + arriving, style="dim"), body)


def lag(snapshot: Snapshot, most: int) -> Iterator[RenderableType]:
    """Return a row for each partition; only the worst where there are too many."""
    grid = Grid("group", "topic", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("partition", "behind", "seconds"):
        grid.add_column(name, justify="right")
    grid.add_column("state")
    shown = chosen(snapshot.lags, most)
    for each in shown:
        seconds = "?" if each.seconds is None else short(each.seconds)
        grid.add_row(
            Text(each.group),
            Text(each.topic),
            str(each.partition),
            f"{each.records:,}",
            seconds,
            _state(each, is_judged=snapshot.is_judged),
        )
    yield grid
    rest = len(snapshot.lags) - len(shown)
    if rest:
        yield Text(f"and {rest} more partitions, none of them worse", style="dim")
    if not snapshot.is_judged:
        yield Text("states are judged after one minute", style="dim")


def chosen(lags: Iterable[PartitionLag], most: int) -> list[PartitionLag]:
    """Return the worst partitions, ordered by group, topic and number."""
    order = list(LagState)
    worst = sorted(lags, key=lambda each: (-order.index(each.state), -each.records))
    return sorted(worst[:most], key=lambda e: (e.group, e.topic, e.partition))


def groups(snapshot: Snapshot) -> Iterator[RenderableType]:
    """Return the workers and their partitions."""
    grid = Grid("group", "state", "worker", "host", box=None, padding=(0, 2, 0, 0),
                header_style="dim")  # fmt: skip
    grid.add_column("partitions", overflow="ellipsis", no_wrap=True)
    for group in snapshot.groups:
        for row in _workers(group):
            grid.add_row(*row)
    yield grid


def quarantine(snapshot: Snapshot) -> RenderableType:
    """Return the partitions whose records are processed one at a time."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for each in snapshot.quarantine:
        suspect = ""
        if each.record is not None:
            suspect = f"at offset {each.record}, which has ended {each.deaths} workers"
        place = Text(f"{each.topic}[{each.partition}]")
        grid.add_row(place, f"{each.suspects:,} suspects", suspect)
    title = "in quarantine: one record at a time, since its last owner died"
    return Group(Text(title, style="bold yellow"), grid)


def held(snapshot: Snapshot) -> RenderableType:
    """Return how many notes wait for demographics, and since when."""
    notes, since = snapshot.held.notes, snapshot.held.since
    age = "" if since is None else f", the oldest for {short(snapshot.at - since)} s"
    return Text.assemble(("held for demographics   ", "dim"), f"{notes:,}{age}")


def repeated(snapshot: Snapshot) -> RenderableType:
    """Return how many messages were sent again, and how many share a control id."""
    messages, conflicts = snapshot.repeated.messages, snapshot.repeated.conflicts
    title = f"repeated in {snapshot.refused_seconds / 60:.0f} min"
    more = f", {conflicts:,} others under a control id in use" if conflicts else ""
    return Text.assemble((f"{title:<24}", "dim"), f"{messages:,}{more}")


def refused(snapshot: Snapshot) -> RenderableType:
    """Return the latency, and dead letters by reason."""
    total = sum(each.count for each in snapshot.refused)
    minutes = f"{snapshot.refused_seconds / 60:.0f} min"
    style = "bold red" if total else ""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", min_width=6)
    for each in snapshot.refused[:MAX_REASONS]:
        grid.add_row(f"{each.count:,}", each.stage, each.code)
    return Group(
        Text.assemble((f"{'latency in 1 min':<24}", "dim"), _quantiles(snapshot)),
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
    return "many"


def _other_lines(snapshot: Snapshot) -> int:
    """Return the number of lines without the rows of lag."""
    workers = sum(max(1, len(each.members)) for each in snapshot.groups)
    reasons = min(MAX_REASONS, len(snapshot.refused))
    quarantined = len(snapshot.quarantine) + 2 if snapshot.quarantine else 0
    held = 2 if snapshot.held.notes else 0
    repeated = 2 if _has_repeated(snapshot) else 0
    return (
        14
        + quarantined
        + held
        + repeated
        + reasons
        + (workers + 2 if snapshot.groups else 0)
    )


def _has_repeated(snapshot: Snapshot) -> bool:
    return bool(snapshot.repeated.messages or snapshot.repeated.conflicts)


def _title(snapshot: Snapshot) -> Text:
    title = Text("phistream", style="bold")
    moment = datetime.fromtimestamp(snapshot.at).astimezone()
    title.append(f"  {snapshot.source}  {moment:%H:%M:%S}", style="none")
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
        yield (*first, Text("no worker", style="bold red"))
    for member in group.members:
        held = ranges(member.partitions)
        yield (*first, Text(member.name), Text(member.host), held)
        first = "", ""


def ranges(numbers: Iterable[int]) -> str:
    """Return runs of numbers, e.g. 0-3 7."""
    runs: defaultdict[int, list[int]] = defaultdict(list)
    for place, number in enumerate(sorted(numbers)):
        runs[number - place].append(number)
    return " ".join(
        str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs.values()
    )


def _quantiles(snapshot: Snapshot) -> str:
    found = snapshot.latency
    if found is None or found.p50 is None:
        return "no note"
    pairs = (("p50", found.p50), ("p90", found.p90), ("p99", found.p99))
    return ", ".join(f"{name} {value or 0:,.0f} ms" for name, value in pairs)
