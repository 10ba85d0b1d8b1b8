"""Shared by the tests, and tested: brokers that are lent, commands that are forked."""

from confluent_kafka.admin import AdminClient

from streams.kafka.topics import TOPICS
from tests.brokers import topics_of
from tests.commands import phistream
from tests.conftest import settings_for, with_topics
from tests.harness import produce, values


def test_a_broker_comes_back_without_what_the_last_borrower_left(brokers, tmp_path):
    name = TOPICS[0].name
    with brokers.borrow() as cluster:
        settings = with_topics(settings_for(cluster, tmp_path))
        produce(settings, name, [(b"k", b"1")])
        assert values(settings, name) == [1]
        first = cluster.bootstrap

    with brokers.borrow() as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        assert (first, []) == (cluster.bootstrap, topics_of(admin))
        settings = with_topics(settings_for(cluster, tmp_path))
        assert values(settings, name) == []


def test_a_broker_that_is_lent_is_lent_to_nobody_else(brokers):
    with brokers.borrow() as one, brokers.borrow() as other:
        assert one.bootstrap != other.bootstrap


def test_a_command_has_its_own_folder_environment_and_status(tmp_path):
    made = phistream("key", "k", cwd=tmp_path)
    again = phistream("key", "k", cwd=tmp_path)
    unset = phistream("run", "intake", cwd=tmp_path, env={}, text=True)
    wrong = phistream("run", "intake", cwd=tmp_path, env={"PHISTREAM_BATCH": "1"})

    assert [each.name for each in tmp_path.iterdir()] == ["k"]
    assert [d.returncode for d in (made, again, unset, wrong)] == [0, 78, 78, 78]
    assert "bootstrap: not set" in unset.stderr
    assert b"unknown setting" in wrong.stderr


def test_a_command_reads_what_it_is_given():
    done = phistream("scrub", "--preset=lexical", "-", stdin=b"Seen 3/14/2024.\r\n")

    assert (done.returncode, done.stdout) == (0, b"Seen [DATE].\r\n")
