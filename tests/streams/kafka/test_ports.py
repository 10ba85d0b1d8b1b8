"""Ports for servers of this host's own."""

import socket

import pytest

from streams.kafka.local_broker import ports
from streams.kafka.local_broker.ports import END, free_ports


def test_ports_are_in_a_row_below_those_of_outgoing_connections():
    found = free_ports(6)

    assert list(range(found[0], found[0] + 6)) == found
    assert found[-1] < END


def test_a_row_with_a_port_in_use_is_not_given(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        monkeypatch.setattr(ports, "FIRST", taken - 1)
        monkeypatch.setattr(ports, "END", taken + 2)

        with pytest.raises(OSError, match="no 2 free ports in a row"):
            free_ports(2)
