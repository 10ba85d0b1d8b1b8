"""Keeps the workers of a stage running, each in a process of its own."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import time
from dataclasses import dataclass
from multiprocessing.context import ForkContext, ForkProcess, SpawnContext, SpawnProcess
from types import FrameType

from streams.engine.exit_status import (
    EX_CONFIG,
    EX_IOERR,
    EX_OSERR,
    EX_TEMPFAIL,
    EX_UNAVAILABLE,
)
from streams.engine.heartbeat import Heartbeat
from streams.kafka.topics import Stage
from streams.kafka.wire_format import SchemaIds
from streams.operations.settings import Settings

from .worker import work

log = logging.getLogger(__name__)

PROCESSES: SpawnContext | ForkContext = multiprocessing.get_context("spawn")
"""Starts workers: each with an interpreter of its own.  Tests fork them instead, from a
process that has imported and built everything."""
USELESS = frozenset({EX_CONFIG, EX_UNAVAILABLE, EX_IOERR, EX_OSERR})
"""Exit statuses of workers whom a restart would not help."""
SHORT_LIFE = 5.0
SHORT_LIFE_FENCED = 60.0
"""Of a worker that ends with EX_TEMPFAIL.  Kafka fences a static member also when the
answer to its own request to join is lost with a broker: it must start again.  Two
services with one slot fence each other again and again."""
MAX_SHORT_LIVES = 10
DRAIN_SECONDS = 60.0


@dataclass(slots=True)
class Slot:
    """The slot of a worker: its ordinal is stable, its process may change."""

    ordinal: int
    process: SpawnProcess | ForkProcess
    heartbeat: Heartbeat
    started_at: float
    short_lives: int = 0
    was_silent: bool = False


class Supervisor:
    """Runs ``workers`` processes of a stage.

    A worker that dies is restarted in its slot, where its transactional id fences the
    previous process.  A silent worker is killed first.  A worker that refuses its
    settings ends the service.
    """

    def __init__(
        self, stage: Stage, workers: int, settings: Settings, schema_ids: SchemaIds
    ) -> None:
        self._stage = stage
        self._workers = workers
        self._settings = settings
        self._schema_ids = schema_ids
        self._is_stopping = False
        self._slots: list[Slot] = []

    def run(self) -> int:
        """Run until SIGTERM or SIGINT; return the exit status."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        first = self._settings.first_slot
        for ordinal in range(first, first + self._workers):
            heartbeat = Heartbeat(PROCESSES)
            process = self._start(ordinal, heartbeat)
            self._slots.append(Slot(ordinal, process, heartbeat, time.monotonic()))
        while not self._is_stopping:
            status = self._restart_dead()
            if status is not None:
                self._drain()
                return status
            time.sleep(0.1)
        return self._drain()

    def _restart_dead(self) -> int | None:
        """Restart dead workers; return an exit status if that is useless."""
        for slot in self._slots:
            status = slot.process.exitcode
            if status is None:
                self._kill_if_silent(slot)
                continue
            if status in USELESS:
                return status
            limit = SHORT_LIFE_FENCED if status == EX_TEMPFAIL else SHORT_LIFE
            is_short = time.monotonic() - slot.started_at < limit
            slot.short_lives = slot.short_lives + 1 if is_short else 0
            if slot.short_lives > MAX_SHORT_LIVES:
                log.critical("worker %d dies repeatedly: stopped", slot.ordinal)
                return status
            log.warning("worker %d ended (%s): restarted", slot.ordinal, status)
            if status < 0 and not slot.was_silent:
                # It crashed, or lacked memory, in whatever call it was.
                slot.heartbeat.excuse(False)
            slot.was_silent = False
            slot.process = self._start(slot.ordinal, slot.heartbeat)
            slot.started_at = time.monotonic()
        return None

    def _kill_if_silent(self, slot: Slot) -> None:
        silent, phase = slot.heartbeat.silent(), slot.heartbeat.phase
        if silent > self._settings.silence(phase):
            log.critical(
                "worker %d has shown no life for %.0f s (%s): killed",
                slot.ordinal,
                silent,
                phase.name.lower(),
            )
            slot.was_silent = True
            slot.process.kill()
            slot.process.join()

    def _start(self, ordinal: int, heartbeat: Heartbeat) -> SpawnProcess | ForkProcess:
        heartbeat.begin()
        process = PROCESSES.Process(
            target=work,
            args=(
                self._stage,
                ordinal,
                self._settings,
                heartbeat,
                os.getpid(),
                self._schema_ids,
            ),
            name=f"{self._stage}-{ordinal}",
        )
        process.start()
        return process

    def _drain(self) -> int:
        """Have all workers finish their batch and end; return the worst exit status."""
        for slot in self._slots:
            slot.process.terminate()
        deadline = time.monotonic() + DRAIN_SECONDS
        for slot in self._slots:
            slot.process.join(max(0.1, deadline - time.monotonic()))
            if slot.process.exitcode is None:
                log.error("worker %d did not drain: killed", slot.ordinal)
                slot.process.kill()
                slot.process.join()
        return max(abs(slot.process.exitcode or 0) for slot in self._slots)

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._is_stopping = True
