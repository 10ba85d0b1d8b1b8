"""A topic that was deleted and made anew is another one."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from streams.engine.errors import TopicReplaced
from streams.engine.exit_status import EX_TEMPFAIL, status_for
from streams.kafka.identities import CHECK_SECONDS, Identities


class Admin:
    def __init__(self):
        self.ids, self.asked = {"notes": "1", "patients": "2"}, 0

    def describe_topics(self, topics, **_options):
        self.asked += 1
        return {name: self.answer(name) for name in topics.topic_names}

    def answer(self, name):
        answer = Future()
        if name in self.ids:
            answer.set_result(SimpleNamespace(topic_id=self.ids[name]))
        else:
            unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
            answer.set_exception(KafkaException(unknown))
        return answer


@pytest.fixture
def admin(monkeypatch):
    def topics(names):
        return SimpleNamespace(topic_names=names)

    monkeypatch.setattr("streams.kafka.identities.TopicCollection", topics)
    return Admin()


def test_a_topic_that_was_made_anew_ends_the_worker_for_a_new_start(admin):
    now = [0.0]
    identities = Identities(admin, dict(admin.ids), clock=lambda: now[0])
    for _ in range(5):
        identities.check()
    assert admin.asked == 1
    del admin.ids["patients"]
    for _ in range(3):
        now[0] += CHECK_SECONDS
        identities.check()
    admin.ids["patients"] = "3"
    now[0] += CHECK_SECONDS
    identities.check()

    with pytest.raises(TopicReplaced, match="patients: was deleted and made") as caught:
        identities.check()
    assert status_for(caught.value) == EX_TEMPFAIL
