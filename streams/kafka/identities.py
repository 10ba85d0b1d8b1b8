"""Tells topics from others of the same name: those that were deleted and made anew.

Kafka's client goes on in the new topic at the position that it had in the old one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, TopicDescription

from streams.engine.errors import TopicReplaced

from .client import CALL_SECONDS, translated

CHECK_SECONDS = 5.0


def topic_ids(admin: AdminClient, names: Iterable[str]) -> dict[str, str]:
    """Return the ids that the cluster gave to topics when they were made.

    Raises:
        RetriableError: The cluster does not answer, or a topic is missing.
    """
    with translated("describe topics"):
        answers = admin.describe_topics(TopicCollection([*names]))
        return {
            name: str(answer.result(CALL_SECONDS).topic_id)
            for name, answer in answers.items()
        }


class Identities:
    """Watches that topics stay those that they were; nothing is awaited.

    Args:
        admin: A client of the cluster.
        ids: By topic, of `topic_ids`.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        admin: AdminClient,
        ids: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._admin = admin
        self._ids = ids
        self._clock = clock
        self._ask_at = clock()
        self._answers: Mapping[str, Future[TopicDescription]] = {}

    def check(self) -> None:
        """Ask now and then; call it in each turn of the loop.

        Raises:
            TopicReplaced: A topic is another one now.
        """
        if self._answers and all(each.done() for each in self._answers.values()):
            answers, self._answers = self._answers, {}
            for name, answer in answers.items():
                # One that is missing, or not to be reached, may come back.
                with suppress(KafkaException):
                    self._compare(name, str(answer.result(0).topic_id))
        if not self._answers and self._clock() >= self._ask_at:
            self._ask_at = self._clock() + CHECK_SECONDS
            with suppress(KafkaException):
                self._answers = self._admin.describe_topics(
                    TopicCollection([*self._ids]), request_timeout=CALL_SECONDS
                )

    def _compare(self, name: str, found: str) -> None:
        if found != self._ids[name]:
            raise TopicReplaced(
                f"{name}: was deleted and made anew; the worker ends without a commit, "
                "and begins anew (runbook, Lost offsets)"
            )
