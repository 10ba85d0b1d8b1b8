"""One scenario's run: an installation under load, what is done to it, and its audit."""

from __future__ import annotations

import math
import os
import random
import re
import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import median

import psutil
from confluent_kafka import (
    KafkaError,
    KafkaException,
)

from streams.demo.services import start_service
from streams.engine.exit_status import EX_CONFIG
from streams.kafka.client import admin_client
from streams.kafka.offsets import end_offsets, high_watermarks
from streams.kafka.topics import HL7_RAW, NOTES, NOTES_SCRUBBED, PATIENT_UPDATES
from tests.brokers import topics_of, wait_until
from tests.conftest import with_topics
from tests.faults.audit import Audit, audit
from tests.faults.load import Feed, Watch
from tests.faults.verdict import Seen, judge
from tests.faults.ward import MarkedWard, Observer, numbers_in
from tests.harness import drain, worker_processes

INPUTS = {"intake": HL7_RAW.name, "scrub": NOTES.name}
OUTPUTS = {"intake": (NOTES, PATIENT_UPDATES), "scrub": (NOTES_SCRUBBED,)}
WINDOW_BATCHES = 4
"""How far the feed runs ahead of the outputs, so that faults always hit work."""
PATIENCE = 240.0
"""Seconds without any output after which a run is given up."""
MAX_OBSERVED = 5000
EX_HUNG = 1
"""Of a process that its backstop has ended."""
HUNG, STACK = "in send_offsets", 40
"""Where librdkafka may wait for ever (its issues 5456 and 5511), and lines of a log
that show it: while workers run they are started again, and nothing is lost."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a run showed.

    Args:
        name: Of the scenario.
        audit: Of its topics.
        injected: What was done and seen to be done, and how often.
        recovery: Seconds from each fault to the next committed output of each partition
            that it affected.
        unrecovered: Seconds from each fault after which a partition had no output.
        restarts: Exit statuses of services that ended by themselves.
        seconds: Of the whole run.
        skipped: Why the scenario can't be had here, if it can't.
        remarks: Further facts to print.
        wrong: What the audit of the topics does not see.
    """

    name: str
    audit: Audit
    injected: Counter = field(default_factory=Counter)
    recovery: tuple[float, ...] = ()
    unrecovered: tuple[float, ...] = ()
    restarts: Counter = field(default_factory=Counter)
    seconds: float = 0.0
    skipped: str = ""
    remarks: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()

    @property
    def is_sound(self):
        return bool(self.skipped) or not (any(self.audit.faults) or self.wrong)

    @property
    def recovery_p50(self):
        return median(self.recovery) if self.recovery else None


class Skipped(Exception):
    """A scenario can't be had on this host; the text says why."""


class Run:
    """An installation under load, and what a scenario may do to it.

    Args:
        settings: Of its services; the topics exist.
        cluster: A `FaultyCluster`.
        scenario: What it plays.
        notes: How many are fed.
        seed: Decides everything.
        progress: Called with a line of text.
        starter: Starts a service's process.
    """

    def __init__(self, settings, cluster, scenario, *, notes, seed, progress, starter):
        self.settings, self.cluster, self.scenario = settings, cluster, scenario
        self.name = name = scenario.name
        self.notes, self.seed = notes, seed
        self.rng = random.Random(f"{seed}/{name}")
        self.seen = Seen()
        self.remarks: list[str] = []
        self.wrong: list[str] = []
        self._refused = ""
        self._progress = progress
        self._starter = starter
        self._services: dict[tuple[str, int], object] = {}
        self._settings_of: dict[tuple[str, int], object] = {}
        self._lock = threading.RLock()
        self._is_over = False
        self.direct = settings.model_copy(update={"bootstrap": cluster.bootstrap})
        self.ward = MarkedWard(
            seed=seed,
            merges=True,
            patients=max(20, min(2000, notes // 20)),
            note_words=30,
            split="test",
        )
        self.watch = Watch(self.direct)
        self.feed = Feed(
            self.direct,
            self.ward,
            notes,
            self.watch,
            WINDOW_BATCHES * settings.batch_records,
        )
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self.began = time.monotonic()

    # What a scenario does first.

    def use_proxies(self):
        """Have services reach the brokers through proxies."""
        bootstrap = self.cluster.proxied_bootstrap
        self.settings = self.settings.model_copy(update={"bootstrap": bootstrap})

    def use_interpreters(self):
        """Give each service an interpreter of its own, which sees the environment."""
        self._starter = start_service

    def start(self, *, intake=1, scrub=2, feeds=True, observed=False, **changes):
        """Start services of one worker each, and the feed; admissions go first.

        Args:
            intake: How many.
            scrub: How many.
            feeds: Whether the feed begins now.
            observed: Whether notes follow updates that a subscriber has seen.
            changes: Of the services' settings.
        """
        if observed:
            observer = Observer(
                self.direct, self.ward, self.feed.send, notes=MAX_OBSERVED
            )
            self.feed.also = observer.turn
        for stage, count in (("intake", intake), ("scrub", scrub)):
            for slot in range(count):
                self.start_service(stage, slot, **changes)
        if not self.watch.is_alive():
            self.watch.start()
            self._keeper.start()
        for message in self.ward.admissions():
            self.feed.send(message)
        if feeds:
            self.feed.start()

    def start_service(self, stage, slot=0, *, place="", **changes):
        """Start a worker of a slot under a supervisor of its own.

        Args:
            stage: What it does.
            slot: Its ordinal.
            place: Of another host's state folder and logs.
            changes: Of its settings.
        """
        folder = self.settings.state_dir.parent / (place or f"{stage}-{slot}")
        folder.mkdir(exist_ok=True)
        settings = self.settings.model_copy(
            update={
                "first_slot": slot,
                "state_dir": folder / "state",
                **changes,
            }
        )
        with self._lock:
            service = self._starter(stage, settings)
            self._services[stage, place or slot] = service
            self._settings_of[stage, place or slot] = settings
        return service

    # Where it waits.

    def moments(self, count, until=0.75):
        """Yield at random moments of the progress; each finds some work done since.

        The feed goes only a little beyond each: however slow the host is, no fault
        comes when all is done.
        """
        moments = sorted(self.rng.uniform(0.03, until) for _ in range(count))
        for number, at in enumerate(moments, start=1):
            target = int(at * self.notes)
            self.feed.limit = target + self.feed.window
            self.wait_for(lambda t=target: self.watch.done >= t)
            time.sleep(self.rng.uniform(0, 0.5))
            self.feed.limit += self.feed.window // 2
            yield number
        self.feed.limit = math.inf

    def wait_for(self, condition):
        """Wait as long as outputs appear now and then."""
        begun = time.monotonic()
        while not condition():
            if self.feed.error is not None:
                raise self.feed.error
            assert not self._refused, self._refused
            now = time.monotonic()
            still = now - max(begun, self.watch.moved_at)
            assert still < PATIENCE, (
                f"{self.name}: nothing moves after {self.watch.done} of {self.notes} "
                f"notes: {self.tails()}"
            )
            time.sleep(0.05)

    def send_note(self, text=b"rounds."):
        """Feed a note of some patient that holds a text; return its number."""
        with self.feed.lock:
            note = self.ward.note_of(self.rng.choice(self.ward.keys()))
            note = replace(note, value=note.value.replace(b"rounds.", text))
            self.feed.send(note)
        [number] = numbers_in(note.value)
        return number

    def wait_for_note(self, number):
        """Wait until a note is published."""
        self.wait_for(lambda: number in self.watch.seen)

    def wait_for_progress(self, notes=1):
        """Wait until so many further notes are published."""
        target = min(self.watch.done + notes, self.notes)
        self.feed.limit = max(self.feed.limit, target + self.feed.window)
        self.wait_for(lambda: self.watch.done >= target)

    # What it does.

    def fault(self, what, partitions=None, *, count=1):
        """Count an injected fault, and measure the recovery from it."""
        self.seen.injected[what] += count
        self.say(f"{what} at {self.watch.done:,} of {self.notes:,} notes")
        if partitions is None:
            partitions = self.partitions("intake") | self.partitions("scrub")
        if partitions:
            self.watch.expect(partitions)

    def effect(self, what, count=1):
        """Count what a fault was seen to do."""
        self.seen.effects[what] += count

    def count_lines(self, pattern, places="*"):
        """Count the lines of services' logs that a regular expression finds."""
        logs = self.settings.state_dir.parent.glob(f"{places}/*.log")
        found = re.compile(pattern)
        return sum(
            bool(found.search(line))
            for log in logs
            for line in log.read_text("utf-8", "replace").splitlines()
        )

    def partitions(self, stage, slot=None):
        """Return the partitions of a stage's input, or those of a slot."""
        topic = INPUTS[stage]
        everything = {(topic, p) for p in range(self.settings.partitions)}
        if slot is None or len(self.slots(stage)) == 1:
            return everything
        group = f"{self.settings.group}-{stage}"
        with suppress(Exception):  # a coordinator that moves does not answer
            # Freed before its answer, a client has none to give.
            admin = admin_client(self.direct)
            described = admin.describe_consumer_groups([group], request_timeout=5)
            for member in described[group].result(5).members:
                if member.group_instance_id == f"{group}-{slot}":
                    return {
                        (topic, each.partition)
                        for each in member.assignment.topic_partitions
                        if each.topic == topic
                    }
        return everything

    def slots(self, stage):
        return [slot for each, slot in self._services if each == stage]

    def service(self, stage, slot=0):
        return self._services[stage, slot]

    def worker(self, stage, slot=0):
        """Return the worker process of a slot, once there is one."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            with suppress(psutil.NoSuchProcess):
                found = worker_processes(self.service(stage, slot))
                if found:
                    return found[0]
            time.sleep(0.05)
        raise AssertionError(f"{stage} {slot} has no worker: {self.tails()}")

    def kill_worker(self, stage, slot=0, what="kill -9"):
        partitions = self.partitions(stage, slot)
        self.worker(stage, slot).kill()
        self.fault(f"{what} {stage}", partitions)

    def kill_worker_inside(self, stage, slot=0):
        """Kill a worker inside of a transaction if one is met in time."""
        partitions = self.partitions(stage, slot)
        worker = self._stop_inside(stage, slot)
        worker.kill()
        self.thaw(stage, slot, worker)
        self.fault(f"kill -9 {stage}", partitions)

    def freeze_worker(self, stage, slot=0):
        """Stop the worker and its supervisor, as a host does that stands still.

        It happens inside of a transaction if one is met in time.
        """
        partitions = self.partitions(stage, slot)
        worker = self._stop_inside(stage, slot)
        self.fault(f"SIGSTOP {stage}", partitions)
        return worker

    def _stop_inside(self, stage, slot):
        """Stop a worker and its supervisor (SIGSTOP); return the worker."""
        deadline = time.monotonic() + 30
        while True:
            worker = self._stop(stage, slot)
            # What it sent before has arrived by then.
            time.sleep(0.3)
            is_inside = self._is_open(stage)
            if is_inside or time.monotonic() > deadline:
                break
            self.thaw(stage, slot, worker)
            self.feed.limit += self.feed.window // 8
            time.sleep(self.rng.uniform(0, 0.2))
        self.effect("inside of a transaction", is_inside)
        return worker

    def _stop(self, stage, slot):
        """Stop a supervisor and its worker, which an earlier fault may have ended."""
        while True:
            worker = self.worker(stage, slot)
            try:
                os.kill(self.service(stage, slot).process.pid, signal.SIGSTOP)
                os.kill(worker.pid, signal.SIGSTOP)
            except ProcessLookupError:
                self.thaw(stage, slot, worker)
                time.sleep(0.1)
            else:
                return worker

    def _is_open(self, stage):
        """Return whether outputs of a stage end at an open transaction."""
        admin, partitions = self.cluster.admin, range(self.settings.partitions)
        return any(
            end_offsets(admin, topic.name, partitions)
            != high_watermarks(admin, topic.name, partitions)
            for topic in OUTPUTS[stage]
        )

    def thaw(self, stage, slot, worker):
        for pid in (worker.pid, self.service(stage, slot).process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def stop_service(self, stage, slot=0, *, status=0):
        """Terminate a service; its exit status must be as expected."""
        with self._lock:
            service = self._services.pop((stage, slot))
        with suppress(ProcessLookupError):
            os.kill(service.process.pid, signal.SIGCONT)
        service.stop()
        found = service.process.returncode
        if found == EX_HUNG and HUNG in service.tail(STACK):
            self.remarks.append(f"{stage} {slot}: librdkafka hung as it drained")
        # A service that is still starting has no handler of SIGTERM yet.
        elif status is not None and abs(found) not in (status, signal.SIGTERM):
            self.wrong.append(
                f"{stage} {slot} ended with {found}, not {status}: {service.tail()}"
            )
        return service

    def kill_service(self, stage, slot=0):
        """Kill a supervisor (SIGKILL); its workers have to notice."""
        with self._lock:
            service = self._services.pop((stage, slot))
        workers = worker_processes(service)
        service.process.kill()
        service.process.wait()
        service.log.close()
        return workers

    def expect_refusal(self, service, words, status=EX_CONFIG, seconds=180):
        """Require that a service refuses to go on, and says these words."""
        stage = service.stage
        with self._lock:
            self._services = {
                key: each for key, each in self._services.items() if each != service
            }
        try:
            found = service.process.wait(seconds)
        except Exception:  # it runs on
            found = None
        tail = service.tail()
        service.stop()
        if found != status or words not in tail:
            self.wrong.append(f"{stage} ended with {found}, not {status}: {tail}")
        else:
            self.effect(f"refusal ({status})")

    def say(self, text):
        self._progress(f"{self.name}: {text}")

    def tails(self):
        with self._lock:
            return "\n".join(
                f"{key}: {each.process.poll()}\n{each.tail()}"
                for key, each in self._services.items()
            )

    def wait_until_idle(self):
        """Wait until everything that was fed is processed."""
        self.wait_for(lambda: self.watch.done >= self.feed.sent)
        with self._lock:
            services = list(self._services.values())
        drain(self.direct, services)

    def restore_topics(self, names, *, seconds, meanwhile=lambda: None):
        """Delete topics, and create them again after a while."""
        admin = self.cluster.admin
        for future in admin.delete_topics(names).values():
            future.result(60)
        wait_until(lambda: not set(names) & set(topics_of(admin)))
        meanwhile()
        time.sleep(seconds)
        with_topics(self.direct)
        self.watch.again()

    def is_deleted(self, group):
        """Delete a group and its offsets; return whether that was possible."""
        admin = self.cluster.admin
        try:
            admin.delete_consumer_groups([group])[group].result(30)
        except KafkaException as error:
            return error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND
        return True

    # How it ends.

    def tables_of(self, stage, slot):
        """Return the folder of a worker's tables."""
        settings = self._settings_of[stage, slot]
        return settings.state_dir / settings.group / f"{stage}-{settings.first_slot}"

    def finish_services(self):
        """Feed the rest, wait for all of it, and stop the services."""
        if self._is_over:
            return
        self.feed.limit = math.inf
        try:
            self.wait_for(lambda: self.feed.is_through)
            self.wait_until_idle()
        except AssertionError as error:
            self.wrong.append(str(error))
        self.feed.close()
        self._is_over = True
        self._keeper.join(10)
        for stage, slot in list(self._services):
            self.stop_service(stage, slot)
        self.watch.close()

    def finish(self):
        """Finish the services, and audit."""
        self.finish_services()
        found = audit(self.direct, self.feed.all_places())
        for effect, pattern in self.scenario.effects.items():
            if pattern:
                self.effect(effect, self.count_lines(pattern))
        self.wrong += judge(found, self.seen, self.scenario)
        if self.direct.rebuild_messages:
            self.remarks.append(f"rebuilt messages: {found.rebuilt}")
        return Report(
            self.name,
            found,
            self.seen.injected + self.seen.effects,
            tuple(self.watch.recovery),
            tuple(self.watch.unrecovered),
            self.seen.exits,
            time.monotonic() - self.began,
            remarks=tuple(self.remarks),
            wrong=tuple(self.wrong),
        )

    def close(self):
        """End whatever still runs."""
        self._is_over = True
        self.feed.close()
        with self._lock:
            services, self._services = list(self._services.values()), {}
        for service in services:
            with suppress(Exception):
                os.kill(service.process.pid, signal.SIGCONT)
            for worker in _workers(service):
                with suppress(psutil.NoSuchProcess):
                    worker.kill()
            service.process.kill()
            service.process.wait()
            service.log.close()
        if self.watch.is_alive():
            self.watch.close()

    def _keep(self):
        """Start services again that end, as an orchestrator does; not after 78."""
        while not self._is_over:
            with self._lock:
                for (stage, slot), each in list(self._services.items()):
                    status = each.process.poll()
                    if status is None or self._is_over:
                        continue
                    self.seen.exits[status] += 1
                    self.say(f"{stage} {slot} ended with {status}: {each.tail(1)}")
                    each.log.close()
                    if status == EX_CONFIG:
                        del self._services[stage, slot]
                        self._refused = f"{stage} {slot} refuses to run: {each.tail()}"
                        continue
                    settings = self._settings_of[stage, slot]
                    self._services[stage, slot] = self._starter(stage, settings)
            time.sleep(0.2)


def _workers(service):
    with suppress(psutil.NoSuchProcess):
        return worker_processes(service)
    return []
