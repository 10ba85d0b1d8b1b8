"""How fast the lake's tables are written, without Kafka.

    python -m tests.benchmarks.lake [--rows N] [--commit ROWS] [--days DAYS]

Prints rows a second (checks, Arrow, Parquet, commit) and bytes a row, before and after
compaction, for notes of one day, and of as many days as shifted dates may give.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

from streams.engine.records import Record
from streams.products.lake.maintenance import compact
from tests.streams.products.lake.lakes import Lake, note_value, record, settings_of

TYPES = ("11506-3", "34133-9", "28570-0")
WORDS = tuple(f"word{n}" for n in range(5000))
"""A note has 150 of them: about a kilobyte."""


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--commit", type=int, default=10_000)
    parser.add_argument("--days", type=int, default=30)
    given = parser.parse_args()
    for days in (1, given.days):
        print(measured(given.rows, given.commit, days))


def measured(rows: int, per_commit: int, days: int) -> str:
    """Return a line of figures."""
    records = [_note(number, days) for number in range(rows)]
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(settings_of(Path(folder)))
        begun, cpu = time.perf_counter(), time.process_time()
        for first in range(0, rows, per_commit):
            lake.write(*records[first : first + per_commit])
        wall = time.perf_counter() - begun
        cpu = time.process_time() - cpu
        size, files = _size(lake)
        begun = time.perf_counter()
        compact(lake.table, lake.settings, min_files=2)
        seconds = time.perf_counter() - begun
        packed, fewer = _size(lake)
        lake.close()
    return (
        f"{rows} notes of {days} days, {per_commit} a commit: "
        f"{rows / wall:.0f} rows/s, {cpu / rows * 1e6:.0f} us CPU a row, "
        f"{size / rows:.0f} bytes a row in {files} files; "
        f"compacted in {seconds:.1f} s: {packed / rows:.0f} bytes in {fewer}"
    )


def _note(number: int, days: int) -> Record:
    rng = random.Random(number)
    text = " ".join(rng.choices(WORDS, k=150))
    offsets = [[n, n + 5, n, n + 6] for n in range(0, 80, 8)]
    written = date(2024, 1, 1) + timedelta(days=number % days)
    value = note_value(
        note_id=f"{rng.getrandbits(128):032x}",
        patient=f"{rng.getrandbits(16):032x}",
        note_type=TYPES[number % len(TYPES)],
        written_at=written.isoformat(),
        text=text,
        offsets=offsets,
    )
    return record(value, number)


def _size(lake: Lake) -> tuple[int, int]:
    files = [each.file for each in lake.table.table.scan().plan_files()]
    return sum(each.file_size_in_bytes for each in files), len(files)


if __name__ == "__main__":
    main()
