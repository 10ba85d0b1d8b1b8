"""Tokens and hosts."""

import pytest

from streams.engine.errors import ConfigError
from streams.engine.settings import Settings
from streams.gateway.access import Hosts, Tokens, require_tokens

ONE, TWO = "1" * 32, "2" * 40
ANY = "0.0.0.0"  # noqa: S104 (nothing listens)


def tokens(text="", file=None):
    return Tokens.of(Settings(gateway_tokens=text or None, gateway_tokens_file=file))


def test_each_token_names_its_client(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(f"# of the lake\n\nlake:{TWO}\n")
    found = tokens(f"lab:{ONE}", file)

    assert "lab" == found.client(f"Bearer {ONE}".encode())
    assert "lake" == found.client(f"bearer  {TWO} ".encode())


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", f"Basic {ONE}", ONE, f"Bearer {ONE[:-1]}",
     f"Bearer {ONE}1", f"Bearer lab:{ONE}", f"Bearer {ONE}, Bearer {ONE}"],
)  # fmt: skip
def test_anything_else_names_nobody(header):
    assert "" == tokens(f"lab:{ONE}").client(header.encode())


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

    for name in ("tokens", "absent"):
        with pytest.raises(ConfigError):
            tokens(file=tmp_path / name)


def test_tokens_are_in_no_repr():
    settings = Settings(gateway_tokens=f"lab:{ONE}")

    assert ONE not in repr(settings) + repr(Tokens.of(settings))


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "localhost", "127.0.0.9"])
def test_loopback_needs_no_token(address):
    require_tokens(Tokens(), address)


@pytest.mark.parametrize("address", [ANY, "::", "10.0.0.1", "ward.example", ""])
def test_any_other_address_needs_one(address):
    with pytest.raises(ConfigError, match="gateway_tokens"):
        require_tokens(Tokens(), address)
    require_tokens(tokens(f"lab:{ONE}"), address)


def test_hosts_are_those_that_are_named_and_the_loopback():
    hosts = Hosts.of(Settings(gateway_hosts="Deid.Example, other.example"), "10.0.0.1")

    for each in ("deid.example", "DEID.example:8443", "10.0.0.1:1", "localhost:80",
                 "[::1]:8090", "127.0.0.1"):  # fmt: skip
        assert hosts.allow(each), each
    for each in ("", "evil.example", "deid.example.evil.example", "deid.example:80:80",
                 "deid.example@evil.example", "deid.example/", "[::2]"):  # fmt: skip
        assert not hosts.allow(each), each
    assert hosts.allow_origin("https://deid.example")
    assert not hosts.allow_origin("https://evil.example")
    assert not hosts.allow_origin("null")


def test_without_names_an_address_that_stands_for_all_is_refused():
    with pytest.raises(ConfigError, match="gateway_hosts"):
        Hosts.of(Settings(), ANY)
