"""Processes that start brokers at the same time fetch Kafka's jars one by one."""

import fcntl

import pytest

from streams.cluster.local_broker import runtime


def lock(file):
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_no_other_process_fetches_jars_meanwhile(tmp_path):
    path = tmp_path / "maven" / ".lock"
    with (
        runtime._locked(path.parent),
        path.open("ab") as other,
        pytest.raises(BlockingIOError),
    ):
        lock(other)

    with path.open("ab") as other:
        lock(other)
