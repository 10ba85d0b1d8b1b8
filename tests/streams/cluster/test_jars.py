"""Kafka's jars: fetched by one process at a time, and run only as they were locked."""

import fcntl
import hashlib

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


def test_a_jar_that_differs_from_the_lock_is_removed_and_refused(tmp_path):
    jar = runtime.Jar("org.example", "tool", "1.0", hashlib.sha256(b"jar").hexdigest())
    path = tmp_path / "org/example/tool/1.0/tool-1.0.jar"
    path.parent.mkdir(parents=True)

    path.write_bytes(b"jar")
    assert path == runtime._ready(jar, tmp_path)

    path.write_bytes(b"jaR")
    with pytest.raises(runtime.BrokerError, match="SHA-256 differs"):
        runtime._ready(jar, tmp_path)
    assert not path.exists()
