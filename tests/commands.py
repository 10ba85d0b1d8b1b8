"""Commands as a person runs them, forked from a process that has imported everything.

A new interpreter spends seconds on imports, patterns and word lists before a command
says its first word.  The server pays for that once a session.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["streams.cli", "tests.warm"])


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
        files = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
        files[0].write_bytes(stdin)
        command = ["phistream", *map(str, arguments)]
        environment = dict(os.environ if env is None else env)
        process = _context.Process(
            target=_main, args=(command, files, cwd or Path.cwd(), environment)
        )
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(command, timeout)
        out, err = (file.read_bytes() for file in files[1:])
    if text:
        out, err = out.decode(), err.decode()
    done = subprocess.CompletedProcess(command, process.exitcode, out, err)
    process.close()
    if check:
        done.check_returncode()
    return done


def _main(command, files, cwd, environment):
    from streams.cli import main

    os.environ.clear()
    os.environ.update(environment)
    for number, (file, mode) in enumerate(zip(files, ("rb", "wb", "wb"), strict=True)):
        with file.open(mode) as opened:
            os.dup2(opened.fileno(), number)
    # multiprocessing has put /dev/null in its place.
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    os.chdir(cwd)
    sys.argv = command
    main()
