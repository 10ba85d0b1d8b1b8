"""A snapshot as text, at most 80 columns wide."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from streams.kafka.lag import LagState, PartitionLag
from streams.kafka.topics import (
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
    snapshot: Snapshot,
    trouble: str = "",
    *,
    height: int | None = None,
    by_partition: bool = False,
) -> RenderableType:
    """Return the whole snapshot, one part below the other.

    Args:
        snapshot: The latest.
        trouble: Why it is not current; "" if it is.
        height: Lines of the terminal; rows of lag are left out where they are few.
        by_partition: Show those partitions apart that are well, too.
    """
    most = MAX_PARTITIONS if height is None else max(2, height - _other_lines(snapshot))
    parts = [_title(snapshot), Text(), flow(snapshot), Text()]
    most = most if by_partition else min(most, MAX_PARTITIONS)
    parts += lag(snapshot, most, by_partition=by_partition)
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


@dataclass(frozen=True, slots=True)
class _LagRow:
    """A row of lag: one partition, or those of a topic that are well."""

    group: str
    topic: str
    partitions: tuple[int, ...]
    records: int
    seconds: float | None
    state: LagState


def lag(
    snapshot: Snapshot, most: int, *, by_partition: bool = False
) -> Iterator[RenderableType]:
    """Return a row for each topic, and for each partition that is not well.

    Args:
        snapshot: The latest.
        most: Rows; of more, the worst are shown.
        by_partition: Give each partition a row.
    """
    grid = Grid("group", "topic", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("partition", "behind", "seconds"):
        grid.add_column(name, justify="right")
    grid.add_column("state")
    rows = [*_rows(snapshot.lags, by_partition=by_partition)]
    shown = chosen(rows, most)
    idle = {group.name for group in snapshot.groups if not group.members}
    for row in shown:
        seconds = "?" if row.seconds is None else short(row.seconds)
        grid.add_row(
            Text(row.group),
            Text(row.topic),
            ranges(row.partitions),
            f"{row.records:,}",
            seconds,
            _state(row, is_judged=snapshot.is_judged, is_idle=row.group in idle),
        )
    yield grid
    rest = sum(len(row.partitions) for row in {*rows} - {*shown})
    if rest:
        yield Text(f"and {rest} more partitions, none of them worse", style="dim")
    if not snapshot.is_judged:
        yield Text("of those with workers, judged after one minute", style="dim")


def _rows(lags: Iterable[PartitionLag], *, by_partition: bool) -> Iterator[_LagRow]:
    well: defaultdict[tuple[str, str], list[PartitionLag]] = defaultdict(list)
    for lag in lags:
        if by_partition or lag.state is not LagState.OK:
            yield _row([lag])
        else:
            well[lag.group, lag.topic].append(lag)
    yield from map(_row, well.values())


def _row(lags: Sequence[PartitionLag]) -> _LagRow:
    ages = [lag.seconds for lag in lags]
    known = [age for age in ages if age is not None]
    return _LagRow(
        lags[0].group,
        lags[0].topic,
        tuple(lag.partition for lag in lags),
        sum(lag.records for lag in lags),
        max(known) if len(known) == len(ages) else None,
        lags[0].state,
    )


def chosen(rows: Iterable[_LagRow], most: int) -> list[_LagRow]:
    """Return the worst rows, ordered by group, topic and partition."""
    order = list(LagState)
    worst = sorted(rows, key=lambda row: (-order.index(row.state), -row.records))
    return sorted(worst[:most], key=lambda row: (row.group, row.topic, row.partitions))


def groups(snapshot: Snapshot) -> Iterator[RenderableType]:
    """Return the workers and their partitions."""
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("group", "state", "worker", "host"):
        grid.add_column(name, no_wrap=True)
    # The one that is cut where the terminal is narrow.
    grid.add_column("partitions")
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


def _state(row: _LagRow, *, is_judged: bool, is_idle: bool) -> Text:
    """Return the state; a group without workers needs no minute to be judged."""
    if row.state is LagState.OK and is_idle and row.records:
        return Text("no worker", style=STYLES[LagState.STOP])
    if row.state is LagState.OK and not is_judged:
        return Text("-", style="dim")
    return Text(row.state, style=STYLES[row.state])


def _workers(group: GroupView) -> Iterator[tuple[str | Text, ...]]:
    style = "green" if group.state == "stable" else "bold yellow"
    state = group.state.removeprefix("preparing_").removeprefix("completing_")
    first: tuple[str | Text, ...] = Text(group.name), Text(state, style=style)
    if not group.members:
        yield (*first, Text("no worker", style="bold red"))
    for member in group.members:
        held = ", ".join(
            f"{topic} {ranges(numbers)}" for topic, numbers in member.partitions.items()
        )
        yield (
            *first,
            Text(member.name),
            Text(member.host),
            Text(held, no_wrap=True, overflow="ellipsis"),
        )
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
