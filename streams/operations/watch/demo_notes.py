"""Notes before and after scrubbing, for the demo's page; only ever invented notes.

They are read from the loopback broker that `phistream demo` started.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Any

import orjson
from confluent_kafka import Consumer, Message, TopicPartition

from streams.engine.errors import ConfigError, StreamError
from streams.kafka.client import (
    CONSUMER,
    consumer_client,
    header_pairs,
    translated,
    value_of,
)
from streams.kafka.local_broker import Cluster
from streams.kafka.topic_admin import require_topics
from streams.kafka.topics import NOTES, NOTES_SCRUBBED, PHI_AUDIT
from streams.model.outputs import SOURCE
from streams.operations.settings import Settings

log = logging.getLogger(__name__)

KEPT = 5
PERIOD = 4.0
MAX_LENGTH = 1600
MAX_MESSAGES = 2000


def require_own_broker(settings: Settings) -> None:
    """Reject a cluster that `phistream demo` or `broker up` did not start here.

    Raises:
        ConfigError: It may hold the notes of real patients.
    """
    cluster = Cluster(settings.broker_dir.absolute(), cache=settings.cache_dir)
    own = {node.address for node in cluster.nodes}
    named = set(settings.client()["bootstrap.servers"].split(","))
    if not own or not named <= own:
        raise ConfigError(
            "--demo shows notes before they are scrubbed: only for a broker that "
            "phistream demo started on this machine"
        )


class DemoNotes:
    """Follow the outputs, and keep an instructive note every few seconds."""

    def __init__(self, settings: Settings) -> None:
        require_own_broker(settings)
        self._settings = settings
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="demo-notes", daemon=True
        )
        self._kept: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._audits: dict[str, list[dict[str, Any]]] = {}
        self._notes: dict[str, dict[str, Any]] = {}

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._stopping.set()
        self._thread.join(5)

    def json(self) -> list[dict[str, Any]]:
        """Return the notes, the latest first."""
        return list(reversed(self._kept))

    def _run(self) -> None:
        try:
            counts = require_topics(
                self._settings, [PHI_AUDIT.name, NOTES_SCRUBBED.name]
            )
            outputs, originals = self._consumer(), self._consumer()
            outputs.assign(
                [TopicPartition(t, p) for t, n in counts.items() for p in range(n)]
            )
            while not self._stopping.is_set():
                self._gather(outputs)
                self._keep_one(originals)
            outputs.close()
            originals.close()
        except StreamError as error:
            log.warning("demo notes: %s", error)

    def _gather(self, consumer: Consumer) -> None:
        self._audits.clear()
        self._notes.clear()
        with translated("demo notes"):
            messages = consumer.consume(MAX_MESSAGES, timeout=PERIOD)
        for message in messages:
            if message.error() is None:
                self._sort(message)

    def _sort(self, message: Message) -> None:
        source = dict(header_pairs(message)).get(SOURCE)
        value = orjson.loads(value_of(message) or b"{}")
        if not isinstance(source, bytes) or value.get("stage") == "intake":
            return
        if message.topic() == PHI_AUDIT.name:
            self._audits[source.decode()] = value.get("annotations", [])
        elif len(value["text"]) <= MAX_LENGTH:
            self._notes[source.decode()] = value

    def _keep_one(self, consumer: Consumer) -> None:
        sources = sorted(self._notes.keys() & self._audits.keys())
        if not sources:
            return
        source = max(sources, key=self._variety)
        before = self._original(consumer, source)
        if before is not None:
            note, audit = self._notes[source], self._audits[source]
            self._kept.append(_example(before, note, audit))

    def _variety(self, source: str) -> tuple[int, int]:
        labels = {each["label"] for each in self._audits[source]}
        fuzzy = sum(each["detector"].endswith("~") for each in self._audits[source])
        return len(labels) + 3 * min(fuzzy, 1), len(self._audits[source])

    def _original(self, consumer: Consumer, source: str) -> str | None:
        topic, partition, offset = source.split("/")
        if topic != NOTES.name:
            return None
        consumer.assign([TopicPartition(topic, int(partition), int(offset))])
        with translated("demo notes"):
            message = consumer.poll(5)
        if message is None or message.error() is not None:
            return None
        return str(orjson.loads(message.value() or b"{}").get("text", ""))

    def _consumer(self) -> Consumer:
        return consumer_client(
            self._settings,
            **(CONSUMER | {"auto.offset.reset": "latest"}),
            **{"group.id": f"{self._settings.group}-examples"},
        )


def _example(
    before: str, note: dict[str, Any], audit: list[dict[str, Any]]
) -> dict[str, Any]:
    rows = zip(audit, note["offsets"], strict=True)
    return {
        "before": before,
        "after": note["text"],
        "join": note["join"],
        "replacements": [
            {"label": each["label"], "detector": each["detector"], "offsets": offsets}
            for each, offsets in rows
        ],
    }
