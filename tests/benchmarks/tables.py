"""Tables of patients: restore, warm start, size on disk and in memory, cost of a join.

    python -m tests.benchmarks.tables
    python -m tests.benchmarks.tables --patients 5000000

One worker holds all partitions.  Each step runs in a process of its own, so that memory
is that of the step.  Then another worker, which has copied all partitions, takes them
over, and has them taken and given back, as in a rebalance.  A join is cold when the
table was just opened, and warm when it has just read the same patient.
"""

from __future__ import annotations

import random
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Annotated

import orjson
import psutil
import typer
from confluent_kafka import Producer
from rich.console import Console
from rich.table import Table as Grid

from streams.demo.ward import Ward
from streams.kafka.client import PRODUCER, admin_client
from streams.kafka.partitioner import partition_of
from streams.kafka.tables.table import ChangelogTable
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import PATIENTS
from streams.model.patients.demographics import PatientId, PatientRecord
from streams.model.patients.known_identifiers import known_identifiers
from streams.pipeline.intake.route import route
from tests.benchmarks.cluster import benchmark_settings

TEMPLATES = 400
JOINS = 2000
OWNER, STANDBY = "scrub-0", "scrub-1"
QUICK = {
    "linger.ms": 50,
    "batch.num.messages": 10_000,
    "queue.buffering.max.messages": 500_000,
}


def main(
    patients: Annotated[
        list[int] | None, typer.Option(help="Patients of a table; repeatable.")
    ] = None,
    partitions: Annotated[int, typer.Option(help="Partitions of the topic.")] = 6,
) -> None:
    """Print a column of figures for each size."""
    sizes = patients or [1_000, 100_000]
    columns = []
    for size in sizes:
        with benchmark_settings(partitions=partitions) as settings:
            length = fill(settings, size)
            restore = _in_a_process(opened, settings)
            warm = _in_a_process(opened_and_joined, settings, size)
            disk = _on_disk(settings)
            again = _in_a_process(copied_and_taken_over, settings, size)
            columns.append(_shown(size, length, restore, *warm, disk, *again))
    grid = Grid("", *(f"{size:,} patients" for size in sizes))
    for name in columns[0]:
        grid.add_row(name, *(column[name] for column in columns))
    Console(width=110).print(grid)


def fill(settings, patients):
    """Write a record for each patient, as a ward has them; return the mean length."""
    templates = list(_templates())
    producer = Producer(settings.client(**PRODUCER, **QUICK))
    size, failures = 0, []

    def delivered(error, _message):
        if error is not None:
            failures.append(error)

    for number in range(patients):
        patient, parts = templates[number % TEMPLATES]
        own = _mrn(number)
        value = own.join(parts)
        key = PatientId(patient.assigning_authority, own.decode()).key
        size += len(value)
        while True:
            try:
                producer.produce(PATIENTS.name, value, key, on_delivery=delivered)
            except BufferError:
                producer.poll(0.1)
            else:
                break
        if number % 1000 == 0:
            producer.poll(0)
    assert not producer.flush(120)
    assert not failures, failures[0]
    return size / patients


def _templates():
    """Yield patients, and their records cut at each place of the patient's number."""
    for message in Ward(seed=1, patients=2 * TEMPLATES).admissions():
        for record in route(message.value).updates[:1]:
            value = orjson.dumps(PATIENTS.schema.versioned(_row(record).to_json()))
            yield record.patient, value.split(record.patient.id.encode())


def _row(update):
    return PatientRecord(update.patient, update.updated_at, update.current)


def _mrn(number):
    return b"%09d" % (700_000_000 + number)


@dataclass(frozen=True, slots=True)
class Opened:
    """The cost of having a table ready.

    Args:
        seconds: Until all partitions were ready.
        cpu: Processor time in it.
        before: Memory of the process before it, in bytes.
        after: Memory of the process after it.
        peak: Memory of the process, at most.
    """

    seconds: float
    cpu: float
    before: int
    after: int
    peak: int


def opened(settings):
    """Open a table and return the cost."""
    table, cost = _open(settings)
    table.close()
    return cost


def opened_and_joined(settings, patients):
    """Open a table and join; return the cost of both, cold and warm."""
    table, cost = _open(settings)
    rng, count = random.Random(patients), partition_counts(admin_client(settings))
    templates = [patient for patient, _ in _templates()]
    places = []
    for number in rng.sample(range(patients), min(JOINS, patients)):
        authority = templates[number % TEMPLATES].assigning_authority
        key = PatientId(authority, _mrn(number).decode()).key
        places.append((partition_of(key, count[PATIENTS.name]), key))
    joins = [_microseconds_a_join(table, places) for _ in ("cold", "warm")]
    table.close()
    return cost, *joins


def copied_and_taken_over(settings, patients):
    """Copy a table; return the seconds to own the copies, and to own them again."""
    count = partition_counts(admin_client(settings))[PATIENTS.name]
    table = ChangelogTable(settings, PATIENTS, STANDBY, count)
    table.copy(range(count))
    while sum(copy.next_offset for copy in table.copies()) < patients:
        table.follow()
    seconds = []
    for _ in range(2):
        seconds.append(_take_over(table, count))
        table.release(range(count))
    table.close()
    return seconds


def _open(settings):
    process = psutil.Process()
    before = process.memory_info().rss
    started, cpu = time.monotonic(), time.process_time()
    count = partition_counts(admin_client(settings))[PATIENTS.name]
    table = ChangelogTable(settings, PATIENTS, OWNER, count)
    _take_over(table, count)
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    after = process.memory_info().rss
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return table, Opened(seconds, cpu, before, after, peak)


def _take_over(table, count):
    """Own all partitions; return the seconds until their records could go on."""
    started = time.monotonic()
    table.open(range(count))
    ready = settled = 0
    while ready < count:
        ready += len(table.ready())
    table.settle(range(count))
    while settled < count:
        settled += len(table.settled())
    return time.monotonic() - started


def _microseconds_a_join(table, places):
    started = time.thread_time()
    for partition, key in places:
        row = table.get(partition, key)
        assert known_identifiers(PatientRecord.from_json(orjson.loads(row)))
    return (time.thread_time() - started) / len(places) * 1e6


def _in_a_process(function, *arguments):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _on_disk(settings):
    files = (each for each in settings.state_dir.rglob("*") if each.is_file())
    return sum(each.stat().st_blocks * 512 for each in files)


def _shown(patients, length, restore, warm, cold_join, warm_join, disk, taken, back):
    return {
        "bytes a record": f"{length:,.0f}",
        "restore, s": f"{restore.seconds:.2f}",
        "restore, records/s": f"{patients / restore.seconds:,.0f}",
        "restore, processor time, µs/record": f"{restore.cpu / patients * 1e6:.1f}",
        "process before, MB": f"{restore.before / 1e6:,.0f}",
        "process at most, MB": f"{restore.peak / 1e6:,.0f}",
        "process afterwards, MB": f"{restore.after / 1e6:,.0f}",
        "warm start, s": f"{warm.seconds:.2f}",
        "takeover of copies, s": f"{taken:.3f}",
        "taken and given back, s": f"{back:.3f}",
        "process after a warm start, MB": f"{warm.after / 1e6:,.0f}",
        "on disk, MB": f"{disk / 1e6:,.1f}",
        "a cold join, µs": f"{cold_join:,.0f}",
        "a warm join, µs": f"{warm_join:,.0f}",
    }


if __name__ == "__main__":
    typer.run(main)
