"""The processor of scrub, as the settings describe it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from deid_core import ConfigError as DeidConfigError
from deid_core import Deidentifier
from streams.engine.errors import ConfigError
from streams.engine.keys.ring import PseudonymKeys
from streams.engine.observer import Entered
from streams.kafka.tables.standby import Standby
from streams.kafka.tables.table import ChangelogTable
from streams.kafka.topics import INPUT, NOTES_HELD, PATIENTS, Stage
from streams.operations.settings import Settings
from streams.pipeline.scrub.held import UnknownPatients
from streams.pipeline.scrub.outputs import ScrubOutputs
from streams.pipeline.scrub.processor import Scrub

from .assemble import TableOf, input_format


def processor(
    settings: Settings, slot: int, table_of: TableOf, partitions: int, entered: Entered
) -> Scrub:
    """Return the processor of a worker.

    Raises:
        ConfigError: A setting is wrong, or a file that it names.
    """
    keys = settings.key_ring()
    table, held = table_of(PATIENTS), table_of(NOTES_HELD)
    return Scrub(
        lambda: deidentifier_of(settings, keys),
        table,
        held,
        UnknownPatients.of(settings),
        ScrubOutputs(
            keys,
            preset=Path(settings.preset).stem,
            policy=Path(settings.policy).stem,
        ),
        partitions,
        office=settings.office_key(),
        max_bytes=settings.max_note_bytes,
        # JSON escapes the ends of a message's segments.
        max_message_bytes=2 * settings.max_message_bytes,
        wire_format=input_format(settings),
        keep_copies=_standby(settings, slot, [table, held], partitions),
        entered=entered,
    )


def _standby(
    settings: Settings, slot: int, tables: Sequence[ChangelogTable], partitions: int
) -> Callable[[], None]:
    """Return what keeps the copies of other workers' partitions, called each turn."""
    if not settings.standby_copies:
        return lambda: None
    group = f"{settings.group}-{Stage.SCRUB}"
    return Standby(
        settings,
        tables,
        group=group,
        member=f"{group}-{slot}",
        topic=INPUT[Stage.SCRUB],
        partitions=partitions,
    ).turn


def deidentifier_of(settings: Settings, keys: PseudonymKeys) -> Deidentifier:
    """Return the pipeline that the settings describe, with the first key.

    Raises:
        ConfigError: Its preset, policy or terms are wrong.
    """
    first, *_others = keys
    try:
        return Deidentifier.from_names(
            preset=settings.preset,
            policy=settings.policy,
            key=first.value,
            terms=settings.terms,
        )
    except DeidConfigError as error:
        raise ConfigError(str(error)) from None
