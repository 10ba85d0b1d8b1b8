"""What senders do wrong is a line a minute for each address."""

from __future__ import annotations

from streams.products.mllp import troubles
from streams.products.mllp.troubles import Troubles


def test_a_trouble_is_logged_at_once_and_then_once_a_minute_with_its_count(caplog):
    now = [0.0]
    found = Troubles(lambda: now[0])

    for now[0] in (0, 1, 2, 59, 60.5, 61):
        found.add("10.0.0.7", "message refused: bad_msh")
    found.add("10.0.0.8", "message refused: bad_msh")

    assert caplog.messages == [
        "10.0.0.7: message refused: bad_msh",
        "10.0.0.7: message refused: bad_msh (4 times)",
        "10.0.0.8: message refused: bad_msh",
    ]


def test_addresses_without_end_fill_neither_log_nor_memory(caplog, monkeypatch):
    monkeypatch.setattr(troubles, "MAX_LOGGED", 3)
    found = Troubles(lambda: 0.0)

    for n in range(100):
        found.add(f"10.0.0.{n}", "x")

    assert len(caplog.messages) == 3
