"""Plays scenarios, on a cluster that they share unless they need one of their own."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import traceback
from pathlib import Path

from rich.console import Group
from rich.table import Table

from streams.demo.services import start_service
from streams.kafka.client import wait_for_broker
from streams.kafka.local_broker.cluster import QUICK_START
from tests.brokers import empty
from tests.conftest import settings_for, with_topics
from tests.faults.audit import Audit
from tests.faults.cluster import FaultyCluster
from tests.faults.run import Report, Run, Skipped

PARTITIONS = 6
COLUMNS = (
    "scenario", "notes", "published", "dead", "missing", "doubled", "order", "leaked",
    "aborted", "recovery p50/max s", "restarts", "seconds", "injected",
)  # fmt: skip


class Stage:
    """A folder with a cluster, for one scenario after the other.

    Args:
        brokers: Of the cluster that scenarios share.
        progress: Called with a line of text.
        folder: Of all data; by default a temporary one, removed at the end unless a
            run was not sound.
        is_long: Whether brokers run for hours, not for minutes.
        starter: Starts a service's process.
    """

    def __init__(
        self,
        *,
        brokers=3,
        progress=lambda _line: None,
        folder=None,
        is_long=False,
        starter=start_service,
    ):
        self._jvm = () if is_long else QUICK_START
        self._own = None if folder else Path(tempfile.mkdtemp(prefix="phistream-f-"))
        self._folder = folder or self._own
        self._brokers = brokers
        self._progress = progress
        self._starter = starter
        self._shared = None
        self._number = 0
        self._is_sound = True

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        if self._shared is not None:
            self._shared.down()
        if self._own and not self._is_sound:
            self._progress(f"data and logs are kept in {self._own}")
        elif self._own:
            shutil.rmtree(self._own, ignore_errors=True)

    def play(self, scenario, *, notes, seed):
        """Play a scenario; return its report."""
        self._number += 1
        folder = self._folder / f"{self._number}-{scenario.name}"
        folder.mkdir()
        if scenario.brokers > self._brokers:
            reason = f"needs {scenario.brokers} brokers"
            return Report(scenario.name, Audit(), skipped=reason)
        try:
            cluster = self._cluster(scenario, folder)
        except Skipped as reason:
            return Report(scenario.name, Audit(), skipped=str(reason))
        try:
            report = self._played(scenario, cluster, folder, notes, seed)
        finally:
            if scenario.fresh:
                cluster.down()
        if not report.is_sound:
            self._is_sound = False
            self._put_aside(cluster)
        return report

    def _put_aside(self, cluster):
        """Let no later scenario empty the cluster of a run that was not sound."""
        if self._own and cluster is self._shared:
            cluster.down()
            self._shared = None

    def _cluster(self, scenario, folder):
        if scenario.fresh:
            if self._shared is not None:
                # One cluster at a time: brokers cost memory.
                self._shared.down()
                self._shared = None
            cluster = FaultyCluster(folder / "kafka", jvm=self._jvm)
            scenario.prepare(cluster)
            cluster.up(brokers=self._brokers, seconds=240)
            return cluster
        if self._shared is None:
            home = self._folder / f"kafka-{self._number}"
            self._shared = FaultyCluster(home, jvm=self._jvm)
            self._shared.up(brokers=self._brokers, seconds=240)
        else:
            self._shared.mend()
            empty(self._shared)
        return self._shared

    def _played(self, scenario, cluster, folder, notes, seed):
        settings = self._settings(scenario, cluster, folder, notes)
        run = Run(
            settings,
            cluster,
            scenario,
            notes=notes,
            seed=seed,
            progress=self._progress,
            starter=self._starter,
        )
        try:
            scenario.play(run)
            return run.finish()
        except Skipped as reason:
            return Report(scenario.name, Audit(), skipped=str(reason))
        except Exception:
            run.wrong.append(traceback.format_exc())
            return Report(
                scenario.name,
                Audit(),
                run.seen.injected,
                restarts=run.seen.exits,
                wrong=tuple(run.wrong),
            )
        finally:
            run.close()

    def _settings(self, scenario, cluster, folder, notes):
        settings = settings_for(
            cluster,
            folder,
            group=f"faults-{secrets.token_hex(4)}",
            partitions=PARTITIONS,
            replication=self._brokers,
            preset="lexical",
            batch_records=max(10, min(200, notes // 50)),
            session_seconds=6,
            transaction_seconds=10,
            # A busy host must not look like a hang.
            watchdog_seconds=120,
            broker_wait_seconds=120,
        ).model_copy(update=scenario.settings)
        wait_for_broker(settings)
        return with_topics(settings)


def table(reports):
    """Return a row for each report, and below it what was wrong."""
    grid = Table(*COLUMNS, box=None, padding=(0, 1, 0, 0), header_style="dim")
    for each in reports:
        if each.skipped:
            grid.add_row(each.name, *[""] * 11, "skipped, see below")
            continue
        found = each.audit
        letters = sum(found.letters.values())
        injected = ", ".join(f"{n} {what}" for what, n in each.injected.items())
        restarts = ", ".join(f"{n}x {s}" for s, n in sorted(each.restarts.items()))
        counts = (found.notes, found.published, letters, *found.faults, found.aborted)
        grid.add_row(
            each.name,
            *(f"{count:,}" for count in counts),
            recovery_of(each),
            restarts,
            f"{each.seconds:.0f}",
            injected,
            style=None if each.is_sound else "bold red",
        )
    return Group(grid, *_lines(reports))


def recovery_of(report):
    """Return the median and the longest recovery; ">" if it did not end."""
    if report.unrecovered:
        worst = f">{max((*report.unrecovered, *report.recovery)):.1f}"
    elif report.recovery:
        worst = f"{max(report.recovery):.1f}"
    else:
        return ""
    p50 = f"{report.recovery_p50:.1f}" if report.recovery else "-"
    return f"{p50}/{worst}"


def _lines(reports):
    for each in reports:
        if each.skipped:
            yield f"{each.name} skipped: {each.skipped}"
        for line in (*each.remarks, *each.wrong, *each.audit.examples):
            yield f"{each.name}: {line}"
        if each.audit.repeated:
            yield f"{each.name}: the sender wrote {each.audit.repeated} notes twice"
