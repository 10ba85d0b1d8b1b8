"""A run of tests that is interrupted ends soon and leaves no process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.brokers import wait_until
from tests.interrupts import has_ended

RUN = """
import multiprocessing, subprocess, sys, time
import pytest

ORPHAN = "import os, time; os.setsid(); os.fork() and os._exit(0); time.sleep(600)"

@pytest.mark.parametrize("number", range(2))
def test_waits(number, tmp_path):
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    subprocess.Popen(sleep, start_new_session=True)
    subprocess.run([sys.executable, "-c", ORPHAN])
    server = multiprocessing.get_context("forkserver")
    server.Process(target=time.sleep, args=(600,)).start()
    open(f"started-{number}", "w").close()
    time.sleep(600)
"""


@pytest.mark.parametrize(
    ("number", "options"),
    [(signal.SIGINT, ("-n", "2")), (signal.SIGTERM, ("-n", "0", "-k", "0"))],
    ids=["interrupted with xdist", "terminated without"],
)
def test_the_main_process_ends_all_that_was_started(tmp_path, number, options):
    path = tmp_path / "test_waits.py"
    path.write_text(RUN)
    command = ["-m", "pytest", "-c", os.devnull, "-p", "tests.interrupts", *options]
    main = subprocess.Popen(
        [sys.executable, *command, path],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.getcwd()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        tests = 2 if "2" in options else 1
        wait_until(lambda: len(list(tmp_path.glob("started-*"))) == tests)
        started = [
            process
            for process in psutil.process_iter(["cwd"])
            if process.info["cwd"] == str(tmp_path) and process.pid != main.pid
        ]

        interrupted_at = time.monotonic()
        main.send_signal(number)
        out, _ = main.communicate(timeout=60)
    finally:
        main.kill()

    # Two sleep, and one is a fork server's; xdist's are further processes.
    assert len(started) >= 4 * tests
    assert [process for process in started if not has_ended(process.pid)] == [], out
    assert main.returncode == 2, out
    # Five seconds, or four times that where others use the machine.
    assert time.monotonic() - interrupted_at < 20
