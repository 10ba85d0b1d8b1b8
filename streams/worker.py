"""One worker process: consumer, transactional producer, processor, on one thread."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Protocol

from confluent_kafka import KafkaException

from deid_core import ConfigError as DeidConfigError
from deid_core import Deidentifier

from . import collector
from .checkpoint import Checkpoint
from .errors import BrokerUnreachable, ConfigError, FatalError, StreamError
from .intake.processor import Intake
from .kafka import KafkaConsumer, KafkaProducer
from .log import set_up_logging
from .metrics.observing import observing
from .observer import Both, Observer, PartitionState
from .offsets import admin_client
from .outputs import Stage
from .patients_table import PatientsTable
from .pseudonyms import Pseudonyms
from .runner import Processor, Runner
from .scrub.processor import Scrub
from .settings import Settings
from .topics import HL7_RAW, NOTES, OF_INTAKE, OF_SCRUB, PATIENTS, require_topics
from .watchdog import Watchdog

log = logging.getLogger(__name__)

EX_SOFTWARE, EX_UNAVAILABLE, EX_CONFIG = 70, 69, 78
INPUT = {"intake": HL7_RAW, "scrub": NOTES}
TOPICS = {"intake": OF_INTAKE, "scrub": OF_SCRUB}


class StageProcessor(Processor, PartitionState, Protocol):
    """A processor that is told of its partitions, and closed in the end."""

    def close(self) -> None:
        """Let go of files."""
        ...


def work(stage: Stage, slot: int, settings: Settings) -> None:
    """Run one worker until it is told to stop; ends the process with an exit status.

    0 after a clean drain, 78 a wrong setting, 69 no broker, 70 anything else.
    """
    set_up_logging(settings.log_level)
    stop = _Stop(os.getppid())
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    raise SystemExit(_status(lambda: run(stage, slot, settings, stop)))


def run(stage: Stage, slot: int, settings: Settings, stop: Callable[[], bool]) -> None:
    """Move records until ``stop()``; what is in hand is committed before it returns.

    Raises:
        FatalError: The process can't go on.
    """
    watchdog = Watchdog(settings.watchdog_seconds)
    watchdog.start()
    topic = INPUT[stage].name
    with observing(stage, slot, topic, settings, watchdog.silent) as observer:
        _run(stage, slot, settings, stop, watchdog, observer)


def _run(
    stage: Stage,
    slot: int,
    settings: Settings,
    stop: Callable[[], bool],
    watchdog: Watchdog,
    observer: Observer,
) -> None:
    wait_for_broker(settings, watchdog.beat)
    counts = require_topics(settings, [topic.name for topic in TOPICS[stage]])
    table = PatientsTable(settings, f"{stage}-{slot}", counts[PATIENTS.name])
    processor = _processor(stage, settings, table, counts[PATIENTS.name])
    name = f"{settings.group}-{stage}-{slot}"
    producer = KafkaProducer(settings, name)
    consumer = KafkaConsumer(
        settings,
        INPUT[stage].name,
        group=f"{settings.group}-{stage}",
        member=name,
        state=Both(processor, observer),
    )
    runner = Runner(
        consumer,
        processor,
        Checkpoint(producer),
        most=settings.batch_records,
        seconds=settings.batch_seconds,
        pause=_back_off,
        observer=observer,
    )
    collector.settle()
    log.info("%s worker %d runs", stage, slot)
    try:
        while not stop():
            runner.run_once()
            watchdog.beat()
            observer.turned(consumer.paused, table)
    finally:
        # The group learns at once that the partitions are free.
        consumer.close()
        processor.close()
        watchdog.stop()
    log.info("%s worker %d has drained", stage, slot)


def wait_for_broker(
    settings: Settings, beat: Callable[[], None] = lambda: None
) -> None:
    """Return when the cluster answers.

    Raises:
        BrokerUnreachable: It did not within ``broker_wait_seconds``.
    """
    admin = admin_client(settings)
    deadline = time.monotonic() + settings.broker_wait_seconds
    delay = 0.25
    while True:
        beat()
        left = deadline - time.monotonic()
        try:
            admin.list_topics(timeout=max(0.5, min(5.0, left)))
        except KafkaException as error:
            name = error.args[0].name()
            if left <= 0:
                raise BrokerUnreachable(
                    f"no broker answers at {settings.bootstrap} ({name}) after "
                    f"{settings.broker_wait_seconds:.0f} s: check bootstrap, network "
                    "and security settings"
                ) from None
            log.warning(
                "no broker answers at %s (%s); next try in %.1f s",
                settings.bootstrap,
                name,
                delay,
            )
            time.sleep(delay)
            delay = min(5.0, delay * 2)
        else:
            return


def _processor(
    stage: Stage, settings: Settings, table: PatientsTable, partitions: int
) -> StageProcessor:
    if stage == "intake":
        return Intake(table, partitions, max_bytes=settings.max_message_bytes)
    try:
        deidentifier = Deidentifier.from_names(
            preset=settings.preset,
            policy=settings.policy,
            key=settings.pseudonym_key(),
        )
    except DeidConfigError as error:
        raise ConfigError(str(error)) from None
    return Scrub(
        deidentifier,
        table,
        Pseudonyms(settings.pseudonym_key()),
        partitions,
        preset=Path(settings.preset).stem,
        policy=Path(settings.policy).stem,
        max_bytes=settings.max_note_bytes,
        join_wait=settings.join_wait_seconds,
    )


def _back_off(failures: int) -> None:
    time.sleep(min(5.0, 0.05 * 2**failures))


def _status(main: Callable[[], None]) -> int:
    try:
        main()
    except ConfigError as error:
        log.critical("refused to start: %s", error)
        return EX_CONFIG
    except BrokerUnreachable as error:
        log.critical("%s", error)
        return EX_UNAVAILABLE
    except (FatalError, StreamError) as error:
        log.critical("stopped: %s", error)
        return EX_SOFTWARE
    except Exception:
        # A bug of ours; the formatter shows the places, never the text.
        log.critical("stopped by a bug", exc_info=True)
        return EX_SOFTWARE
    return 0


class _Stop:
    """Set by a signal, or by the parent's death."""

    def __init__(self, parent: int) -> None:
        self._parent = parent
        self._is_set = False

    def __call__(self, *signal_and_frame: int | FrameType | None) -> bool:
        if signal_and_frame:
            self._is_set = True
        return self._is_set or os.getppid() != self._parent
