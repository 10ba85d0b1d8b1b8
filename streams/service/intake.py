"""The processor of intake, as the settings describe it."""

from __future__ import annotations

from streams.engine.observer import Entered
from streams.formats.json_map import load_json_map
from streams.kafka.topics import MESSAGES_SEEN
from streams.operations.settings import Settings
from streams.pipeline.intake.deduplicating import DeduplicatingIntake
from streams.pipeline.intake.processor import Intake

from .assemble import TableOf, input_format


def processor(
    settings: Settings, _slot: int, table_of: TableOf, partitions: int, entered: Entered
) -> Intake:
    """Return the processor of a worker.

    Raises:
        ConfigError: A setting is wrong, or a file that it names.
    """
    max_bytes, rebuilds = settings.max_message_bytes, settings.rebuild_messages
    office = settings.office_key()
    json_map = load_json_map(settings.json_map) if settings.json_map else None
    wire_format = input_format(settings)
    if not settings.repeated_seconds:
        return Intake(
            max_bytes=max_bytes,
            office=office,
            rebuilds=rebuilds,
            json_map=json_map,
            charset=settings.charset,
            wire_format=wire_format,
            entered=entered,
        )
    return DeduplicatingIntake(
        table_of(MESSAGES_SEEN),
        settings.key_ring(),
        window_ms=settings.repeated_seconds * 1000,
        partitions=partitions,
        max_bytes=max_bytes,
        office=office,
        rebuilds=rebuilds,
        json_map=json_map,
        charset=settings.charset,
        wire_format=wire_format,
        entered=entered,
    )
