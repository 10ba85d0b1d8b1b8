"""Kafka's jars: fetched by one process at a time, and run only as they were locked."""

import fcntl
import hashlib
import ssl

import pytest

from streams.kafka.local_broker import runtime


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


def test_the_class_path_has_the_jars_in_the_order_of_the_lock(tmp_path, monkeypatch):
    jars = [runtime.Jar("org.example", f"tool-{n}", "1.0", "") for n in range(40)]
    monkeypatch.setattr(runtime, "_ready", lambda jar, cache: cache / jar.artifact)
    told = []

    path = runtime.class_path(
        tmp_path, jars=jars, progress=lambda done, of: told.append((done, of))
    )

    assert [str(tmp_path / jar.artifact) for jar in jars] == path.split(":")
    assert [(n, 40) for n in range(1, 41)] == told


@pytest.mark.parametrize(
    ("given", "trusted"),
    [
        ({}, {"REQUESTS_CA_BUNDLE": "/system/certs"}),
        ({"REQUESTS_CA_BUNDLE": "/own"}, {"REQUESTS_CA_BUNDLE": "/own"}),
        ({"CURL_CA_BUNDLE": "/own"}, {"CURL_CA_BUNDLE": "/own"}),
    ],
)
def test_certificates_of_the_system_are_trusted_unless_others_are_named(
    monkeypatch, given, trusted
):
    monkeypatch.setattr(runtime.os, "environ", dict(given))
    paths = ssl.DefaultVerifyPaths(None, "/system/certs", "", "", "", "")
    monkeypatch.setattr(runtime.ssl, "get_default_verify_paths", lambda: paths)

    runtime._trust_the_systems_certificates()

    assert trusted == runtime.os.environ
