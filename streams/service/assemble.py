"""Puts a stage's parts together, as the settings say."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Protocol

from streams.engine.observer import Observer, PartitionListener, TableView
from streams.engine.runner import Limits, Processor
from streams.kafka.registry import KnownIds
from streams.kafka.tables.table import ChangelogTable
from streams.kafka.topics import MESSAGES_SEEN, TOPICS_OF, Stage, Topic
from streams.kafka.wire_format import InputFormat
from streams.operations.settings import Settings


class StageProcessor(Processor, PartitionListener, TableView, Protocol):
    """A processor whose state follows the assignment of partitions."""

    def close(self) -> None:
        """Release the files of its state."""


TableOf = Callable[[Topic], ChangelogTable]
_MODULES = {
    Stage.INTAKE: "streams.service.intake",
    Stage.SCRUB: "streams.service.scrub",
}
"""Where the function `processor` of a stage is; a worker needs that of its own."""


def processor_of(
    stage: Stage, slot: int, settings: Settings, partitions: int, observer: Observer
) -> StageProcessor:
    """Return the processor of a stage.

    Args:
        stage: What the worker does.
        slot: Its ordinal.
        settings: Of the service.
        partitions: Of the stage's topics.
        observer: Told what is restored and entered.

    Raises:
        ConfigError: A setting of the stage is wrong.
    """

    def table_of(topic: Topic) -> ChangelogTable:
        owner = f"{stage}-{slot}"
        return ChangelogTable(
            settings, topic, owner, partitions, damaged=observer.damaged
        )

    processor: StageProcessor = import_module(_MODULES[stage]).processor(
        settings, slot, table_of, partitions, observer.entered
    )
    return processor


def limits_of(settings: Settings) -> Limits:
    """Return the limits of the main loop."""
    return Limits(
        max_records=settings.batch_records,
        batch_seconds=settings.batch_seconds,
        micro_batch_bytes=settings.portion_bytes,
        note_seconds=settings.note_seconds,
        note_seconds_per_mb=settings.note_seconds_per_mb,
        # The group takes the worker for dead after poll_seconds, the broker its
        # transaction after transaction_seconds: a batch must end well before both.
        micro_batch_seconds=settings.poll_seconds / 3,
        commit_seconds=min(settings.poll_seconds / 4, settings.transaction_seconds / 2),
    )


def topics_of(stage: Stage, settings: Settings) -> list[str]:
    """Return the topics that a worker needs."""
    unused = () if settings.repeated_seconds else (MESSAGES_SEEN,)
    return [topic.name for topic in TOPICS_OF[stage] if topic not in unused]


def input_format(settings: Settings) -> InputFormat:
    """Return how the values of input topics are read."""
    return InputFormat(KnownIds(settings) if settings.schema_registry.url else None)


def back_off(failures: int) -> None:
    """Wait before the next try."""
    time.sleep(min(5.0, 0.05 * 2**failures))
