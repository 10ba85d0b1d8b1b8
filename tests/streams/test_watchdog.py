import subprocess
import sys

PROGRAM = """
import time
from streams.watchdog import Watchdog
watchdog = Watchdog(0.4)
watchdog.start()
for _ in range({beats}):
    time.sleep(0.1)
    watchdog.beat()
{end}
"""


def status(beats, end):
    program = PROGRAM.format(beats=beats, end=end)
    return subprocess.run([sys.executable, "-c", program], timeout=60).returncode


def test_a_worker_that_hangs_ends_itself():
    assert 75 == status(3, "time.sleep(30)")


def test_a_worker_that_beats_lives():
    assert 0 == status(12, "watchdog.stop()")
