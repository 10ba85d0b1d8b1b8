"""`phistream rescrub`: notes of the past, scrubbed again into topics of their own."""

from __future__ import annotations

import signal
from dataclasses import asdict
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from streams.cli.options import Bootstrap, Config, Json
from streams.cli.terminal import counting, print_json, say
from streams.engine.extras import SERVICE, require
from streams.engine.log import set_up_logging
from streams.engine.private_files import keep_files_private
from streams.kafka.client import wait_for_broker
from streams.kafka.consumer import check_consumers
from streams.kafka.producer import check_producer
from streams.operations.settings import load_settings
from streams.products.rescrub.job import Report, open_plan, run
from streams.products.rescrub.request import checked_version


def rescrub(
    into: Annotated[
        str, typer.Option("--into", help="Version of the topics to write: v2, v3, ...")
    ],
    begins: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME|OFFSET",
            help="The first notes: a time (UTC), an offset of each partition, "
            "PARTITION:OFFSET,... or earliest. Needed to begin a version.",
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="Detection preset: a name or file.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="Replacement policy: a name or file.")
    ] = None,
    slot: Annotated[
        int,
        typer.Option(min=0, help="Of this process, if several work on a version."),
    ] = 0,
    config: Config = None,
    bootstrap: Bootstrap = None,
    as_json: Json = False,
) -> None:
    """Scrub published notes again, into topics of another version.

    Run it again to go on where it ended. Exits 1 if it was stopped before the end.
    """
    require(*SERVICE)
    checked_version(into)
    settings = load_settings(
        config, {"bootstrap": bootstrap, "preset": preset, "policy": policy}
    )
    # Its lines have places of errors, never their texts.
    set_up_logging("warning")
    keep_files_private()
    settings.key_ring()
    settings.office_key()
    wait_for_broker(settings)
    check_producer(settings)
    check_consumers(settings)
    plan = open_plan(settings, into, begins)
    stop = _Stop()
    with counting("offsets read") as bar:
        task = bar.add_task("rescrub", total=None, count=0)
        report = run(
            settings,
            plan,
            slot=slot,
            stop=stop,
            progress=lambda done, of: bar.update(task, count=done, total=of),
        )
    _show(report, as_json=as_json)
    raise typer.Exit(0 if report.is_complete else 1)


def _show(report: Report, *, as_json: bool) -> None:
    plan, counts = report.plan, report.counts
    if as_json:
        print_json(
            {
                "version": plan.version,
                "complete": report.is_complete,
                "scrubbed": counts["scrubbed"],
                "dead_letters": counts["dead_letters"],
                "left_out": counts["left_out"],
                "ranges": {str(p): list(each) for p, each in plan.ranges.items()},
                **asdict(plan.means),
            }
        )
        return
    Console().print(
        f"{plan.version}: {counts['scrubbed']:,} scrubbed, "
        f"{counts['dead_letters']:,} dead letters, {counts['left_out']:,} left out by "
        f"this run; {plan.means}",
        highlight=False,
        soft_wrap=True,
    )
    if report.is_complete:
        Console().print(f"{plan.version}: complete", highlight=False)
    else:
        say("stopped before the end; run it again to go on")


class _Stop:
    """Becomes true after SIGTERM or SIGINT; the batch in progress is committed."""

    def __init__(self) -> None:
        self._is_set = False
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, self._set)

    def __call__(self) -> bool:
        return self._is_set

    def _set(self, _signal: int, _frame: FrameType | None) -> None:
        self._is_set = True
