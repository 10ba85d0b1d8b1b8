"""Tokens and hosts."""

import os
from base64 import b64encode
from pathlib import Path

import pytest
from pydantic import SecretStr

from streams.engine.errors import ConfigError
from streams.operations.http_access import (
    Access,
    Hosts,
    Tokens,
    own_authorization,
)
from streams.operations.settings import Settings

ONE, TWO = "1" * 32, "2" * 40
ANY = "0.0.0.0"  # noqa: S104 (nothing listens)


def tokens(text="", file=None):
    return Tokens.of(SecretStr(text) if text else None, file, "gateway.tokens")


def test_each_token_names_its_client(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(f"# of the lake\n\nlake:{TWO}\n")
    file.chmod(0o600)
    found = tokens(f"lab:{ONE}", file)

    assert found.client(f"Bearer {ONE}".encode()) == "lab"
    assert found.client(f"bearer  {TWO} ".encode()) == "lake"


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", f"Basic {ONE}", ONE, f"Bearer {ONE[:-1]}",
     f"Bearer {ONE}1", f"Bearer lab:{ONE}", f"Bearer {ONE}, Bearer {ONE}"],
)  # fmt: skip
def test_anything_else_names_nobody(header):
    assert tokens(f"lab:{ONE}").client(header.encode()) == ""


@pytest.mark.parametrize(
    "text",
    ["lab", f":{ONE}", f"la b:{ONE}", "lab:short", f"lab:{ONE},lab:{TWO}",
     f"none:{ONE}", " , "],
)  # fmt: skip
def test_a_wrong_entry_is_refused_without_its_token(text):
    with pytest.raises(ConfigError) as caught:
        tokens(text)

    assert ONE not in str(caught.value)
    assert "short" not in str(caught.value)


def test_an_empty_or_absent_file_is_refused(tmp_path):
    (tmp_path / "tokens").write_text("# none\n")
    (tmp_path / "tokens").chmod(0o600)

    for name in ("tokens", "absent"):
        with pytest.raises(ConfigError):
            tokens(file=tmp_path / name)


def test_tokens_are_in_no_repr():
    settings = Settings(operator_tokens=f"lab:{ONE}")

    assert ONE not in repr(settings) + repr(Tokens.of_operators(settings))


def test_hosts_are_those_that_are_named_and_the_loopback():
    hosts = Hosts.of(Settings(allowed_hosts="Deid.Example, other.example"), "10.0.0.1")

    for each in ("deid.example", "DEID.example:8443", "10.0.0.1:1", "localhost:80",
                 "[::1]:8090", "127.0.0.1"):  # fmt: skip
        assert hosts.allow(each), each
    for each in ("", "evil.example", "deid.example.evil.example", "deid.example:80:80",
                 "deid.example@evil.example", "deid.example/", "[::2]"):  # fmt: skip
        assert not hosts.allow(each), each
    assert hosts.allow_origin("https://deid.example")
    assert not hosts.allow_origin("https://evil.example")
    assert not hosts.allow_origin("null")


def test_an_address_that_is_reached_is_allowed_and_no_other():
    hosts = Hosts.of(Settings(), ANY)

    assert hosts.allow("10.0.0.7:9464", "10.0.0.7")
    assert hosts.allow("10.0.0.7", "::ffff:10.0.0.7")
    assert hosts.allow("[fe80::1]:9464", "fe80::1%eth0")
    assert not hosts.allow("10.0.0.8", "10.0.0.7")
    assert not hosts.allow("evil.example", "10.0.0.7")
    assert not hosts.allow("10.0.0.7.evil.example", "10.0.0.7")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_file_of_tokens_that_others_can_read_is_refused(tmp_path, mode):
    file = tmp_path / "tokens"
    file.write_text(f"lake:{TWO}")
    file.chmod(mode)

    with pytest.raises(ConfigError, match=r"gateway\.tokens_file: others can read it"):
        tokens(file=file)


def test_a_secret_that_kubernetes_mounts_is_read(tmp_path, monkeypatch):
    file = tmp_path / "tokens"
    file.write_text(f"lake:{TWO}")
    file.chmod(0o440)
    stat = file.stat()
    root = os.stat_result((stat.st_mode, 0, 0, 1, 0, 10001, *stat[6:]))
    monkeypatch.setattr(Path, "stat", lambda _: root)
    monkeypatch.setattr(os, "geteuid", lambda: 10001)

    assert tokens(file=file).client(f"Bearer {TWO}".encode()) == "lake"


def operators(**more):
    return Access.of(Settings(operator_tokens=f"page:{ONE}", **more), "127.0.0.1")


def basic(text):
    return f"Basic {b64encode(text.encode()).decode()}"


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (f"Bearer {ONE}", None),
        (basic(f"anyone:{ONE}"), None),
        (basic(f":{ONE}"), None),
        ("", 401),
        (f"Bearer {TWO}", 401),
        (basic(f"{ONE}:"), 401),
        (basic(ONE), 401),
        ("Basic !", 401),
        ("Basic AAA", 401),
    ],
)
def test_operators_show_a_token_as_a_program_or_as_a_browser(authorization, status):
    refused = operators().refusal("/metrics", "localhost:1", authorization, "")

    assert status == (refused and refused[0])


def test_probes_need_no_token_but_a_host():
    access = operators(allowed_hosts="watch.example")

    assert access.refusal("/healthz", "watch.example", "", "") is None
    assert access.refusal("/healthz", "evil.example", "", "")[0] == 421
    assert access.refusal("/", "evil.example", f"Bearer {ONE}", "")[0] == 421


def test_without_tokens_everybody_who_can_connect_is_served():
    access = Access.of(Settings(), "127.0.0.1")

    assert access.refusal("/metrics", "localhost", "", "") is None
    assert own_authorization(Settings()) == {}


def test_a_service_asks_another_with_the_first_token():
    settings = Settings(operator_tokens=f"a:{ONE},b:{TWO}")

    assert own_authorization(settings) == {"Authorization": f"Bearer {ONE}"}
    assert ONE not in repr(settings)
