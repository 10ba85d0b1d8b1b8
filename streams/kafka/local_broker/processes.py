"""Processes that outlive the command that started them, identified by their pid."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from streams.engine.private_files import MASK


class Processes:
    """Starts and ends processes, those of earlier runs as well."""

    def __init__(self) -> None:
        self._children: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, command: Sequence[str], log: IO[bytes]) -> int:
        """Start a process in a session of its own; return its pid."""
        child = subprocess.Popen(  # noqa: S603  # our own java, our own arguments
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            umask=MASK,
        )
        self._children[child.pid] = child
        return child.pid

    def is_kafka(self, pid: int, home: Path) -> bool:
        """Return whether the pid is a node of this cluster, and not reused."""
        if pid <= 0 or self._has_ended(pid):
            return False
        if pid in self._children:
            # The command line is empty while the process is being replaced by java.
            return True
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
        return f"-Dphistream.home={home}".encode() in line.split(b"\0")

    def end(self, pid: int, number: signal.Signals, *, seconds: float) -> None:
        """Send a signal, and wait until the process has ended."""
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        self.wait(pid, seconds)

    def wait(self, pid: int, seconds: float) -> None:
        """Wait until the process has ended, at most for ``seconds``."""
        deadline = time.monotonic() + seconds
        while not self._has_ended(pid) and time.monotonic() < deadline:
            time.sleep(0.05)

    def _has_ended(self, pid: int) -> bool:
        if pid in self._children:
            return self._children[pid].poll() is not None
        return not Path(f"/proc/{pid}").exists()
