"""The ends of topics while their leaders change."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from streams.engine.errors import RetriableError
from streams.kafka.offsets import NOT_NOW, end_offsets, stable_ends


class Admin:
    """Answers as brokers do whose partition has another leader now.

    Args:
        answers: The offset, or the code of an error, of each call.
    """

    def __init__(self, *answers):
        self._answers = list(answers)
        self.refreshed = []

    def list_offsets(self, wanted, **_options):
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        future = Future()
        if answer >= 1000:
            future.set_result(SimpleNamespace(offset=answer))
        else:
            future.set_exception(KafkaException(KafkaError(answer)))
        return dict.fromkeys(wanted, future)

    def list_topics(self, topic, **_options):
        self.refreshed.append(topic)


@pytest.mark.parametrize("code", sorted(NOT_NOW))
def test_a_leader_that_has_moved_is_looked_up(code):
    admin = Admin(code, 1234)

    assert end_offsets(admin, "notes", [0]) == {0: 1234}
    assert admin.refreshed == ["notes"]


def test_a_leader_that_is_not_found_in_time_is_tried_again_later(monkeypatch):
    monkeypatch.setattr("streams.kafka.offsets.ASK_AGAIN_SECONDS", 0.2)

    with pytest.raises(RetriableError, match="FENCED_LEADER_EPOCH"):
        end_offsets(Admin(KafkaError.FENCED_LEADER_EPOCH), "notes", [0])


def test_ends_are_stable_when_what_is_open_has_ended(monkeypatch):
    monkeypatch.setattr("streams.kafka.offsets.CALL_SECONDS", 0)

    # The high watermark comes first, then the last stable offsets.
    assert stable_ends(Admin(1007, 1005, 1005, 1009), "notes", [0], 5) == {0: 1009}
    with pytest.raises(RetriableError, match="a transaction stays open"):
        stable_ends(Admin(1007, 1005), "notes", [0], 0.2)


def test_what_is_refused_is_not_asked_again():
    admin = Admin(KafkaError.TOPIC_AUTHORIZATION_FAILED, 1234)

    with pytest.raises(RetriableError):
        end_offsets(admin, "notes", [0])
    assert admin.refreshed == []
