"""``make bench``: run every benchmark, one after the other."""

import subprocess
import sys

BENCHMARKS = ("stages", "intake", "real_messages", "library", "ward", "light")

for name in BENCHMARKS:
    print(f"\n== python -m tests.benchmarks.{name}", flush=True)
    subprocess.run([sys.executable, "-m", f"tests.benchmarks.{name}"], check=True)
