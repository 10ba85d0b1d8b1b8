"""Checks of the consumer groups: their workers and lag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from confluent_kafka import ConsumerGroupState

from streams.kafka.client import translated
from streams.kafka.lag import LagReader
from streams.kafka.topics import Stage
from streams.operations.lag_poller import groups_of

from .context import TIMEOUT_SECONDS, CheckContext
from .finding import Finding, ok, warn


@dataclass(frozen=True, slots=True)
class SeenGroup:
    """A group as its coordinator reports it.

    Args:
        stage: The stage that it belongs to.
        state: E.g. STABLE; DEAD for a group that does not exist.
        members: The number of workers.
        partitions: The number of partitions of each of its topics.
        behind: Offsets not processed yet, markers included.
        is_drained: Whether only markers are left.
    """

    stage: str
    state: str
    members: int
    partitions: int
    behind: int
    is_drained: bool


def groups(context: CheckContext) -> Iterator[Finding]:
    """Check the groups of intake and scrub."""
    for stage in Stage:
        pairs = groups_of(stage, context.settings)
        if all(context.partitions(topic) for _, topic in pairs):
            yield judge_group(seen_group(context, stage, pairs))


def seen_group(
    context: CheckContext, stage: str, pairs: Sequence[tuple[str, str]]
) -> SeenGroup:
    """Return the state of a stage's group, and its lag on all topics that it reads.

    Args:
        context: Of the checks.
        stage: The stage.
        pairs: Its group, with each of these topics.
    """
    name, topic = pairs[0]
    with translated("describe groups"):
        [future] = context.admin.describe_consumer_groups([name]).values()
        described = future.result(TIMEOUT_SECONDS)
    lags = [_lag(context, *pair) for pair in pairs]
    return SeenGroup(
        stage,
        ConsumerGroupState(described.state).name,
        len(described.members),
        context.partitions(topic),
        sum(behind for behind, _ in lags),
        all(is_drained for _, is_drained in lags),
    )


def _lag(context: CheckContext, group: str, topic: str) -> tuple[int, bool]:
    """Return how many offsets are not processed, and whether they are only markers."""
    reader = LagReader(context.settings, context.admin, topic, group)
    try:
        lags = reader.read()
        return sum(lag.offsets for lag in lags.values()), reader.is_drained(lags)
    finally:
        reader.close()


def judge_group(seen: SeenGroup) -> Finding:
    """Check that a group has enough workers, and not too many."""
    left = (
        "nothing left to do" if seen.is_drained else f"{seen.behind:,} records behind"
    )
    workers = "1 worker" if seen.members == 1 else f"{seen.members} workers"
    summary = f"{seen.stage}: {seen.state.lower()}, {workers}, {left}"
    if not seen.members:
        return warn(summary, f"start it: phistream run {seen.stage}")
    if seen.state != "STABLE":
        return warn(summary, "check again in a minute; then read the workers' logs")
    if seen.members > seen.partitions:
        return warn(
            f"{summary}, but {seen.partitions} partitions: some workers idle",
            "run fewer workers, or create topics with more partitions",
        )
    return ok(summary)
