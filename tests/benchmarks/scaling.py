"""Scrub is scaled while notes come, as a StatefulSet does it: what pauses, how long.

python -m tests.benchmarks.scaling --steps 1,8,3 --notes 2000 --rate 8

Each worker is a service of its own, whose slot is its pod's ordinal and whose folder is
its pod's volume.  New pods start all at once; of those that go, the highest ordinals
get SIGTERM, all at once, and their volumes are deleted.  A pause is the longest time in
which a partition of `notes` had no output, between a step and the next one; the first
line shows what it is without any step, at this rate.
"""

from __future__ import annotations

import math
import shutil
import signal
import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Annotated

import typer
from confluent_kafka import ConsumerGroupState, KafkaException
from rich.console import Console
from rich.table import Table

from streams.demo.flow import read_topic
from streams.kafka.client import admin_client
from streams.kafka.topics import NOTES, PHI_AUDIT
from tests.faults.playing import Stage
from tests.faults.scenarios import Scenario

PARTITIONS = 8
HOLD_SECONDS = 8.0
"""How long a number of workers is kept after its group is stable."""
SETTLE_SECONDS = 240.0


@dataclass(slots=True)
class Step:
    """A change of the number of workers.

    Args:
        workers: How many there are then.
        began: When it began, in milliseconds.
        seconds: Until each partition had an owner among them.
        moved: Partitions whose owner is another one.
        shares: Partitions of each worker.
        ended: When the next step began.
        pauses: The longest time without an output, by partition.
    """

    workers: int
    began: float
    seconds: float = 0.0
    moved: int = 0
    shares: tuple[int, ...] = ()
    ended: float = math.inf
    pauses: dict[int, float] = field(default_factory=dict)


class Scaling:
    """Scales scrub in steps, in a run of tests/faults.

    Args:
        steps: Numbers of workers.
        rate: Notes a second.
    """

    def __init__(self, steps, rate):
        self._numbers, self._rate = steps, rate
        self.steps: list[Step] = []
        self.report = None

    def play(self, run):
        run.seen.must_abort = False
        run.feed.window, run.feed.limit = math.inf, 0
        first, *others = self._numbers
        run.start(intake=1, scrub=first)
        owners = self._wait(run, first)
        pace = threading.Thread(target=self._pace, args=(run,), daemon=True)
        pace.start()
        run.wait_for(lambda: run.watch.done)
        self._hold(run, Step(first, _now()), owners)
        for number in others:
            step = Step(number, _now())
            self._scale(run, len(run.slots("scrub")), number)
            before, owners = owners, self._wait(run, number)
            step.moved = sum(before[each] != owners[each] for each in owners)
            step.seconds = (_now() - step.began) / 1000
            run.fault(f"{number} workers", count=1)
            self._hold(run, step, owners)
        if run.feed.is_over:
            run.wrong.append("the notes ended before the steps: feed more of them")
        self.steps[-1].ended = _now()
        run.finish_services()
        self._measure(run)

    def _pace(self, run):
        """Allow so many notes a second, however many have come out."""
        began = time.monotonic()
        while not run.feed.is_over and math.isfinite(run.feed.limit):
            run.feed.limit = self._rate * (time.monotonic() - began)
            time.sleep(0.05)

    def _scale(self, run, now, number):
        for slot in range(now, number):
            run.start_service("scrub", slot)
        gone = range(now - 1, number - 1, -1)
        with ThreadPoolExecutor(max(1, len(gone))) as pool:
            list(pool.map(lambda slot: run.stop_service("scrub", slot), gone))
        for slot in gone:
            shutil.rmtree(run.tables_of("scrub", slot))

    def _wait(self, run, number):
        """Wait until each partition has an owner among the workers; return them."""
        # Its answers are lost with it.
        admin, owners = admin_client(run.direct), {}
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline:
            with suppress(KafkaException):  # a coordinator that loads does not answer
                owners = _owners(admin, f"{run.settings.group}-scrub")
                if len(owners) == PARTITIONS and {*owners.values()} == {*range(number)}:
                    return owners
            time.sleep(0.1)
        raise AssertionError(f"{number} workers did not settle: {owners} {run.tails()}")

    def _hold(self, run, step, owners):
        if self.steps:
            self.steps[-1].ended = step.began
        counts = [[*owners.values()].count(slot) for slot in range(step.workers)]
        step.shares = tuple(counts)
        self.steps.append(step)
        run.say(f"{step.workers} workers with {counts} partitions")
        time.sleep(HOLD_SECONDS)

    def _measure(self, run):
        """Find the pauses, by the times of the audit events of scrub."""
        times = defaultdict(list)
        for message in read_topic(run.direct, PHI_AUDIT.name):
            source = dict(message.headers() or []).get("source", b"//").decode()
            topic, partition, _offset = source.rsplit("/", 2)
            if topic == NOTES.name:
                times[int(partition)].append(message.timestamp()[1])
        for partition, found in times.items():
            found.sort()
            for step in self.steps:
                pauses = [
                    min(after, step.ended) - max(before, step.began)
                    for before, after in pairwise(found)
                    if after > step.began and before < step.ended
                ]
                step.pauses[partition] = max(pauses, default=0.0) / 1000


def _owners(admin, group):
    """Return the slot that owns each partition of `notes`; none while it changes."""
    described = admin.describe_consumer_groups([group], request_timeout=5)
    found = described[group].result(5)
    if found.state is not ConsumerGroupState.STABLE:
        return {}
    return {
        each.partition: int(member.group_instance_id.rpartition("-")[2])
        for member in found.members
        for each in member.assignment.topic_partitions
        if each.topic == NOTES.name
    }


def _now():
    return time.time() * 1000


def scale(steps, *, notes, rate, session=10.0, progress=lambda _line: None):
    """Scale scrub under load; return the steps and the run's report."""
    scaling = Scaling(steps, rate)
    settings = {"partitions": PARTITIONS, "session_seconds": session}
    scenario = Scenario("scaling", scaling.play, settings=settings)
    with Stage(brokers=1, progress=progress) as stage:
        report = stage.play(scenario, notes=notes, seed=1)
    return scaling.steps, report


def table(steps, report):
    """Return a row for each step."""
    grid = Table(
        "workers", "partitions of each", "moved", "settled s", "pause p50 s",
        "pause max s", box=None, header_style="dim",
    )  # fmt: skip
    for each in steps:
        pauses = each.pauses.values() or [0.0]
        grid.add_row(
            str(each.workers),
            " ".join(map(str, each.shares)),
            str(each.moved),
            f"{each.seconds:.1f}",
            f"{median(pauses):.1f}",
            f"{max(pauses):.1f}",
        )
    found = report.audit
    grid.caption = (
        f"{found.notes} notes, {found.published} published: {found.missing} missing, "
        f"{found.doubled} doubled, {found.out_of_order} out of order, {found.leaked} "
        f"leaked; {report.seconds:.0f} s"
    )
    return grid


def main(
    steps: Annotated[str, typer.Option(help="Numbers of workers.")] = "1,8,3",
    notes: Annotated[int, typer.Option(help="How many come.")] = 2000,
    rate: Annotated[float, typer.Option(help="Notes a second.")] = 8,
    session: Annotated[float, typer.Option(help="session_seconds.")] = 10,
) -> None:
    """Exit 1 if anything is missing, doubled, out of order or leaked."""
    console = Console(width=110, highlight=False)
    # Services must not outlive the run.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(1))
    numbers = [int(each) for each in steps.split(",")]
    done, report = scale(
        numbers, notes=notes, rate=rate, session=session, progress=console.print
    )
    console.print(table(done, report))
    for line in (*report.wrong, *report.audit.examples):
        console.print(line)
    raise typer.Exit(0 if report.is_sound else 1)


if __name__ == "__main__":
    typer.run(main)
