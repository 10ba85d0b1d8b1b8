"""Leave no process behind, however a run of the tests ends.

Brokers, services and fork servers have sessions of their own and may outlive the
process that started them, so each inherits the name of the run in its environment.
When the run ends, by itself or by a signal, its main process kills all that bear it.
"""

from __future__ import annotations

import os
import secrets
import signal
import time
from pathlib import Path

import psutil
import pytest
from xdist.workermanage import NodeManager

RUN = "PYTEST_RUN"
"""Names the run, and those around it, in the environment of all that it starts."""
SECONDS = 3.0
"""How long to look for processes that were started by those being killed."""
EXIT_SECONDS = 1.0
"""How long xdist waits for its killed processes, instead of ten seconds."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Run())


class Run:
    """The hooks of the main process."""

    def __init__(self):
        self._name = secrets.token_hex(8)
        os.environ[RUN] = f"{os.environ.get(RUN, '')} {self._name}".strip()
        # Both end the run as Ctrl-C does; a shell's background job ignores that.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)

    def pytest_keyboard_interrupt(self):
        # At once: xdist and the fixtures would wait for what they started to end.
        self._kill_all()
        # If xdist misses the end of one of them, it waits so long before it goes on.
        NodeManager.EXIT_TIMEOUT = EXIT_SECONDS

    def pytest_unconfigure(self):
        self._kill_all()

    def _kill_all(self):
        deadline = time.monotonic() + SECONDS
        while (processes := self._processes()) and time.monotonic() < deadline:
            for pid in processes:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.05)

    def _processes(self):
        """Return the processes that live, by descent or by name."""
        pids = {each.pid for each in psutil.Process().children(recursive=True)}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self._name.encode() in (folder / "environ").read_bytes():
                    pids.add(int(folder.name))
            except OSError:  # it has ended, or is another user's
                continue
        return [pid for pid in pids if pid != os.getpid() and not has_ended(pid)]


def has_ended(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
