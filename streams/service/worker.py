"""One worker process: consumer, transactional producer, processor, on one thread."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from types import FrameType

from streams.engine import gc_tuning
from streams.engine.checkpoint import Checkpoint
from streams.engine.custody import Custody
from streams.engine.deadline import Deadline
from streams.engine.errors import (
    BrokerUnreachable,
    ConfigError,
    GivenUp,
    RegistryUnreachable,
    SlotTaken,
    StateUnusable,
)
from streams.engine.exit_status import status_of
from streams.engine.heartbeat import ORPHAN_SECONDS, Heartbeat, Parent, Phase, Pulse
from streams.engine.log import set_up_logging
from streams.engine.observer import (
    CompositeListener,
)
from streams.engine.runner import Runner
from streams.kafka.client import admin_client, wait_for_broker
from streams.kafka.consumer import KafkaConsumer, require_assignor
from streams.kafka.identities import Identities, topic_ids
from streams.kafka.producer import KafkaProducer
from streams.kafka.topic_admin import require_topics
from streams.kafka.topics import (
    INPUT,
    READ_ALONG,
    Stage,
)
from streams.kafka.wire_format import SchemaIds
from streams.model.seals import Seals, audit_key
from streams.operations.metrics.observing import observing
from streams.operations.settings import Settings
from streams.operations.traces.tracing import Tracing, tracing

from .assemble import back_off, limits_of, processor_of, topics_of
from .lost_offsets import identities_of, restore_offsets, watched_topics
from .processed import Processed

log = logging.getLogger(__name__)


def work(
    stage: Stage,
    slot: int,
    settings: Settings,
    heartbeat: Heartbeat,
    parent: int,
    schema_ids: SchemaIds | None = None,
) -> None:
    """Run one worker until it is stopped; ends the process with an exit status.

    0 after a clean drain, 78 a wrong setting, 69 no broker or schema registry, 74 no
    space for the tables or an unusable state folder, 71 tables that another process
    keeps, 75 a broker that did not answer in time or a slot that is taken, 70 anything
    else.

    Args:
        stage: What the worker does.
        slot: Its ordinal.
        settings: Of the service.
        heartbeat: Read by the supervisor.
        parent: The supervisor's process id.
        schema_ids: Of the topics that get the wire format of a schema registry.
    """
    set_up_logging(settings.log_level)
    pulse = Pulse(heartbeat, settings.silence)
    stop = Stop(Parent(parent), pulse)
    raise SystemExit(
        status_of(lambda: run(stage, slot, settings, stop, pulse, schema_ids))
    )


def run(
    stage: Stage,
    slot: int,
    settings: Settings,
    stop: Callable[[], bool],
    pulse: Pulse,
    schema_ids: SchemaIds | None = None,
) -> None:
    """Process records until ``stop()``; the batch in progress is still committed.

    Raises:
        FatalError: The process can't go on.
    """
    with (
        observing(stage, slot, settings, pulse.silent, pulse.limit) as observer,
        tracing(f"phistream-{stage}", settings, observer) as traced,
    ):
        _run(stage, slot, settings, stop, pulse, traced, schema_ids)


def _run(
    stage: Stage,
    slot: int,
    settings: Settings,
    stop: Callable[[], bool],
    pulse: Pulse,
    traced: Tracing,
    schema_ids: SchemaIds | None,
) -> None:
    observer, with_headers = traced.observer, traced.with_headers
    seals = Seals(audit_key(settings.pseudonym_key()))
    wait_for_broker(settings)
    counts = require_topics(settings, topics_of(stage, settings))
    topic, updates = INPUT[stage].name, READ_ALONG.get(stage)
    group = f"{settings.group}-{stage}"
    if updates:
        require_assignor(settings, group)
    # First: what changes from here on is noticed.
    admin = admin_client(settings)
    ids = topic_ids(admin, watched_topics(stage))
    processor = processor_of(stage, slot, settings, counts[topic], observer)
    restore_offsets(settings, stage, ids, beat=pulse.beat)
    identities = Identities(admin, ids)
    name = f"{group}-{slot}"
    checkpoint = Checkpoint(
        KafkaProducer(settings, name, schema_ids, within=pulse.within)
    )
    custody = Custody(
        [updates.name, topic] if updates else [topic],
        checkpoint,
        batch=settings.batch_records,
        identities=identities_of(stage, ids),
        processed=Processed(settings, admin, group, topic, pulse.beat),
        life=pulse.life,
        accused=pulse.accuse,
        died=observer.died,
    )
    consumer = KafkaConsumer(
        settings,
        topic,
        updates=updates.name if updates else "",
        group=group,
        member=name,
        listener=CompositeListener(custody, processor, observer),
        release=custody.release,
    )
    custody.follow(consumer)
    runner = Runner(
        consumer,
        processor,
        checkpoint,
        custody,
        limits_of(settings),
        limited=Deadline(),
        back_off=back_off,
        beat=pulse.beat,
        seal=lambda outputs: seals.sealed(with_headers(outputs)),
        observer=observer,
    )
    gc_tuning.settle()
    log.info("%s worker %d runs", stage, slot)
    pulse.enter(Phase.RUNNING)
    try:
        while not stop():
            identities.check()
            runner.run_once()
            observer.turned(consumer.paused, processor, custody.quarantined)
        # The last batch may have failed: its records, too, are released in order.
        runner.release()
    except (
        BrokerUnreachable,
        ConfigError,
        GivenUp,
        RegistryUnreachable,
        StateUnusable,
    ):
        # These are never caused by a record.
        pulse.excuse()
        runner.release()
        raise
    except SlotTaken:
        pulse.excuse()
        raise
    finally:
        # A claim that is not released by now shows that its owner died.
        custody.abandon()
        # Closing tells the group at once that the partitions are free.
        consumer.close()
        processor.close()
        pulse.backstop.stop()
    log.info("%s worker %d has drained", stage, slot)


class Stop:
    """Becomes true after SIGTERM or SIGINT, and after the supervisor's death.

    Args:
        parent: The supervisor.
        pulse: Ends the process if it does not drain without its supervisor.
    """

    def __init__(self, parent: Parent, pulse: Pulse) -> None:
        self._parent = parent
        self._pulse = pulse
        self._is_set = False
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        parent.bind(signal.SIGTERM)
        # The supervisor may have died before the signal was bound.
        self()

    def __call__(self) -> bool:
        """Return whether to stop."""
        if self._parent.is_gone:
            self._is_set = True
            self._pulse.backstop.end_within(ORPHAN_SECONDS)
        return self._is_set

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._is_set = True
        self()
