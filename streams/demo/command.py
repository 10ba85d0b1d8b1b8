"""`phistream demo`: the whole service on a local Kafka, with invented messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from streams.cli.broker import own_cluster, start
from streams.cli.options import Config
from streams.cli.reconcile import print_conclusion
from streams.cli.terminal import interrupt_on_sigterm, say
from streams.demo import flow, report
from streams.demo.page import keep_open, require_free, with_metrics
from streams.demo.services import Service, broker, home, services
from streams.demo.ward import Ward, WardMessage
from streams.engine.extras import SERVICE, require
from streams.operations.reconcile import Auditor, Result
from streams.operations.settings import Settings, load_settings
from streams.pipeline.files.feed import RawMessage, feed, raw_messages
from streams.pipeline.files.sources import records_in

ENDLESS = 1_000_000_000

Part = tuple[str, Iterable[RawMessage]]
"""A name, and the messages that are fed before the next part is."""


def demo(
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A file or folder of messages to use instead of invented ones.",
        ),
    ] = None,
    messages: Annotated[
        int, typer.Option(min=1, help="Invented messages after the admissions.")
    ] = 2000,
    workers: Annotated[int, typer.Option(min=1, help="Scrub workers.")] = 1,
    seed: Annotated[int, typer.Option(help="Random seed of the messages.")] = 7,
    page: Annotated[
        bool, typer.Option("--page", help="Serve the operations page instead.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of the page.")
    ] = 8080,
    rate: Annotated[
        float, typer.Option(min=0.1, max=1000, help="Messages a second with --page.")
    ] = 20.0,
    config: Config = None,
) -> None:
    """Start Kafka and the service, feed invented messages, show the result, and stop.

    With --page, feed continuously and serve the operations page until Ctrl-C.
    """
    require(*SERVICE)
    console = Console()
    if page:
        require("faust", "aiohttp")  # before Kafka is started
        require_free(port)
    interrupt_on_sigterm()
    with home(load_settings(config), say) as settings:
        cluster = own_cluster(settings)
        parts = _parts(source, ENDLESS if page else messages, seed)
        with ThreadPoolExecutor(1) as pool:
            # Invented messages are drawn while Java starts.
            ready = pool.submit(_drawn, parts, to_the_end=not (page or source))
            start(cluster, 1, console)
        with broker(cluster, settings) as named:
            console.print(f"Kafka answers at {named.bootstrap}", highlight=False)
            named = with_metrics(named, workers, page=port) if page else named
            with services(named, workers, console) as running:
                if page:
                    fed = (message for _, part in ready.result() for message in part)
                    keep_open(named, running, fed, console, port=port, rate=rate)
                elif not _show(named, running, console, ready.result()):
                    raise typer.Exit(1)


def _show(
    settings: Settings,
    running: list[Service],
    console: Console,
    parts: Sequence[Part],
) -> bool:
    fed = 0
    for name, part in parts:
        fed += feed(settings, part)
        console.print(f"fed: {name}", highlight=False)
        _drain(settings, running, console)
    summary = flow.summarise(settings)
    auditor = Auditor(settings)
    conclusion = auditor.conclusion(auditor.verdicts(), is_drained=True)
    told = report.summary_of(summary, messages=fed, lag=conclusion.waiting)
    console.print(told)
    if summary.example is not None:
        console.print(report.before_and_after(summary.example, console))
    print_conclusion(console, conclusion, auditor.not_checked)
    return conclusion.result is Result.PASSES


def _parts(source: Path | None, messages: int, seed: int) -> Iterator[Part]:
    if source is not None:
        records = records_in([source])
        yield f"messages of {source}", raw_messages(records, _say_refused)
        return
    ward = Ward(seed=seed)
    yield "the ward's admissions", map(_raw, ward.admissions())
    yield f"{messages:,} messages of the ward", map(_raw, ward.messages(messages))


def _drawn(parts: Iterator[Part], *, to_the_end: bool) -> list[Part]:
    return [(name, [*part] if to_the_end else part) for name, part in parts]


def _say_refused(reason: str) -> None:
    say(f"refused: {reason}")


def _raw(message: WardMessage) -> RawMessage:
    # Keyed by patient, like a gateway that keeps the order for each patient.
    key = None if message.patient is None else b"%d" % message.patient
    return RawMessage(message.value, key, message.headers)


def _drain(settings: Settings, running: list[Service], console: Console) -> None:
    columns = (TextColumn("{task.description:7}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        intake = bars.add_task("intake", total=None)
        scrub = bars.add_task("scrub", total=None)

        def show(now: flow.FlowProgress) -> None:
            bars.update(intake, completed=now.intake_done, total=now.intake_all)
            bars.update(scrub, completed=now.scrub_done, total=now.scrub_all)

        def check() -> None:
            for service in running:
                service.check()

        flow.wait_until_drained(settings, check, show)
