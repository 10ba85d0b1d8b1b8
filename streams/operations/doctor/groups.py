"""The consumer groups: who works, and how far behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka import ConsumerGroupState

from streams.cluster.client import translated
from streams.cluster.lag import LagReader
from streams.cluster.topics import HL7_RAW, NOTES, Topic

from .context import ANSWER_SECONDS, CheckContext
from .finding import Finding, ok, warn

STAGES = (("intake", HL7_RAW), ("scrub", NOTES))


@dataclass(frozen=True, slots=True)
class SeenGroup:
    """A group as its coordinator has it.

    Args:
        stage: Whose it is.
        state: E.g. STABLE; DEAD is a group that there is not.
        members: How many workers.
        partitions: Of its topic.
        behind: Records that are not processed yet; markers count as well.
        is_drained: Whether nothing but markers is left.
    """

    stage: str
    state: str
    members: int
    partitions: int
    behind: int
    is_drained: bool


def groups(context: CheckContext) -> Iterator[Finding]:
    """Look at the groups of intake and scrub."""
    told = context.broker.metadata.topics
    for stage, topic in STAGES:
        if topic.name in told and told[topic.name].error is None:
            yield judge_group(seen_group(context, stage, topic))


def seen_group(context: CheckContext, stage: str, topic: Topic) -> SeenGroup:
    """Return what the coordinator and the offsets tell of a stage's group."""
    name = f"{context.settings.group}-{stage}"
    with translated("describe groups"):
        [future] = context.admin.describe_consumer_groups([name]).values()
        described = future.result(ANSWER_SECONDS)
    reader = LagReader(context.settings, context.admin, topic.name, name)
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
    """Return whether somebody does the work."""
    left = (
        "nothing left to do" if seen.is_drained else f"{seen.behind:,} records behind"
    )
    workers = "1 worker" if seen.members == 1 else f"{seen.members} workers"
    said = f"{seen.stage}: {seen.state.lower()}, {workers}, {left}"
    if not seen.members:
        return warn(said, f"start it: phistream run {seen.stage}")
    if seen.state != "STABLE":
        return warn(said, "look again in a minute; then read the workers' logs")
    if seen.members > seen.partitions:
        return warn(
            f"{said}, but {seen.partitions} partitions: some workers idle",
            "run fewer workers; or make topics with more partitions",
        )
    return ok(said)
