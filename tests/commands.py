"""Commands as a person runs them, forked from a process that has imported everything.

A new interpreter spends seconds on imports, patterns and word lists before a command
says its first word.  The server pays for that once a session.  Services are commands as
well: their workers are forked once more.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.warm"])


class Forked:
    """A running ``phistream ARGUMENTS``, with what tests use of `subprocess.Popen`.

    Args:
        arguments: What follows ``phistream``.
        stdin, stdout, stderr: Files; what it writes is appended.
        cwd: Its working directory.
        env: Its whole environment; without, ours.
        is_service: Give it a session of its own.
    """

    def __init__(
        self,
        *arguments,
        stdin=os.devnull,
        stdout=os.devnull,
        stderr=os.devnull,
        cwd=None,
        env=None,
        is_service=False,
    ):
        self.args = ["phistream", *map(str, arguments)]
        files = [str(path) for path in (stdin, stdout, stderr)]
        environment = dict(os.environ if env is None else env)
        self._process = _context.Process(
            target=_main,
            args=(self.args, files, cwd or Path.cwd(), environment, is_service),
        )
        self._process.start()
        self.pid = self._process.pid

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self._process.exitcode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def phistream(
    *arguments, stdin=b"", cwd=None, env=None, text=False, check=False, timeout=200
):
    """Run ``phistream ARGUMENTS`` in a process of its own, as `subprocess.run` would.

    Args:
        arguments: What follows ``phistream``.
        stdin: What it reads.
        cwd: Its working directory.
        env: Its whole environment; without, ours.
        text: Give its output as text.
        check: Raise when it does not end with 0.
        timeout: Seconds until it is killed.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, name) for name in ("stdin", "stdout", "stderr")}
        files["stdin"].write_bytes(stdin)
        command = Forked(*arguments, **files, cwd=cwd, env=env)
        try:
            command.wait(timeout)
        finally:
            command.kill()
        out, err = files["stdout"].read_bytes(), files["stderr"].read_bytes()
    if text:
        out, err = out.decode(), err.decode()
    done = subprocess.CompletedProcess(command.args, command.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def _main(command, files, cwd, environment, is_service):
    from streams.cli import main
    from streams.service import supervisor

    supervisor.PROCESSES = multiprocessing.get_context("fork")
    os.environ.clear()
    os.environ.update(environment)
    if is_service:
        os.setsid()
    for number, (file, mode) in enumerate(zip(files, ("rb", "ab", "ab"), strict=True)):
        with open(file, mode) as opened:
            os.dup2(opened.fileno(), number)
    # multiprocessing has put /dev/null in its place.
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    os.chdir(cwd)
    sys.argv = command
    main()
