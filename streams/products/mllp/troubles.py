"""Log lines of what senders do wrong, at any rate: one a minute for each address."""

from __future__ import annotations

import logging
from collections.abc import Callable

log = logging.getLogger(__name__)

PERIOD = 60.0
MAX_LOGGED = 1000
"""Pairs of address and trouble; of more, the metrics alone tell."""


class Troubles:
    """Counts what goes wrong by address, and logs it.

    Args:
        clock: Seconds, of any origin.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._logged: dict[tuple[str, str], float] = {}
        self._unsaid: dict[tuple[str, str], int] = {}

    def add(self, host: str, what: str) -> None:
        """Log a trouble, unless the last line about it is younger than a minute.

        Args:
            host: The address of the sender.
            what: A text of this program, without a value.
        """
        trouble = (host, what)
        now = self._clock()
        last = self._logged.get(trouble)
        if last is None and len(self._logged) >= MAX_LOGGED:
            return
        count = self._unsaid.pop(trouble, 0) + 1
        if last is not None and now - last < PERIOD:
            self._unsaid[trouble] = count
            return
        self._logged[trouble] = now
        log.warning("%s: %s%s", host, what, f" ({count} times)" if count > 1 else "")
