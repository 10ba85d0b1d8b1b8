"""Checks of the consumer groups: their workers and lag."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka import ConsumerGroupState

from streams.cluster.client import translated
from streams.cluster.lag import LagReader

from ..lag import STAGES
from .context import TIMEOUT_SECONDS, CheckContext
from .finding import Finding, ok, warn


@dataclass(frozen=True, slots=True)
class SeenGroup:
    """A group as its coordinator reports it.

    Args:
        stage: The stage that it belongs to.
        state: E.g. STABLE; DEAD for a group that does not exist.
        members: The number of workers.
        partitions: The number of its topic's partitions.
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
    for topic, stage in STAGES.items():
        if context.partitions(topic):
            yield judge_group(seen_group(context, stage, topic))


def seen_group(context: CheckContext, stage: str, topic: str) -> SeenGroup:
    """Return the state and the lag of a stage's group."""
    name = f"{context.settings.group}-{stage}"
    with translated("describe groups"):
        [future] = context.admin.describe_consumer_groups([name]).values()
        described = future.result(TIMEOUT_SECONDS)
    reader = LagReader(context.settings, context.admin, topic, name)
    try:
        lags = reader.read()
        return SeenGroup(
            stage,
            ConsumerGroupState(described.state).name,
            len(described.members),
            len(lags),
            sum(lag.offsets for lag in lags.values()),
            reader.is_drained(lags),
        )
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
