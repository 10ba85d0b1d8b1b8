"""End a worker that hangs: a call of the client can block past its own timeout.

Source: librdkafka issue 5456, ``send_offsets_to_transaction``.
"""

from __future__ import annotations

import logging
import os
import threading
import time

log = logging.getLogger(__name__)

EX_TEMPFAIL = 75


class Watchdog:
    """Ends the process when nobody has called `beat` for ``seconds``."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last = time.monotonic()
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, name="watchdog", daemon=True
        )

    def start(self) -> None:
        """Begin to watch."""
        self.beat()
        self._thread.start()

    def beat(self) -> None:
        """Say that the loop is alive."""
        self._last = time.monotonic()

    def silent(self) -> float:
        """Return the seconds since the last beat."""
        return time.monotonic() - self._last

    def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(min(1.0, self._seconds / 4)):
            silent = self.silent()
            if silent > self._seconds:
                log.critical("no progress for %.0f s: the process ends itself", silent)
                logging.shutdown()
                # Not sys.exit: the main thread is the one that hangs.
                os._exit(EX_TEMPFAIL)
