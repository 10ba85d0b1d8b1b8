"""The library that shows services another time of day."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.faults.run import Skipped
from tests.faults.storage import HOUR, build_clock

WAIT = """
import time
from confluent_kafka import Producer

producer = Producer({"bootstrap.servers": "127.0.0.1:9", "log_level": 0})
producer.produce("t", b"x")
begun = time.monotonic()
producer.flush(1.0)
print(time.time(), time.monotonic() - begun)
"""


@pytest.mark.parametrize("seconds", [-HOUR, HOUR])
def test_waits_last_as_long_under_another_time_of_day(tmp_path, seconds):
    try:
        build_clock(tmp_path / "clock.so")
    except Skipped as reason:
        pytest.skip(str(reason))
    offset = tmp_path / "offset"
    offset.write_bytes(seconds.to_bytes(8, "little", signed=True))
    shim = {"LD_PRELOAD": str(tmp_path / "clock.so"), "TESTS_CLOCK_FILE": str(offset)}
    command = [sys.executable, "-c", WAIT]

    done = subprocess.run(
        command, env=os.environ | shim, capture_output=True, text=True, timeout=120
    )

    shown, waited = map(float, done.stdout.split())
    assert abs(shown - seconds - os.stat(offset).st_mtime) < 60
    assert 0.9 < waited < 5
