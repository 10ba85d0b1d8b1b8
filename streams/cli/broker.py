"""`phistream broker`: a local Apache Kafka, for trials and tests."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from streams.kafka.local_broker import Cluster
from streams.operations.settings import Settings, load_settings

from .options import Config
from .terminal import confirm

app = typer.Typer(
    help="Start, stop, inspect or delete a local Apache Kafka.", no_args_is_help=True
)


@app.command()
def up(
    brokers: Annotated[
        int | None,
        typer.Option(
            help="Of a new cluster: 1 broker (the default), or 3 with replication "
            "factor 3.",
            show_default=False,
        ),
    ] = None,
    config: Config = None,
) -> None:
    """Start Apache Kafka 4.3 on loopback, with the data and ports that it had.

    What runs already is left alone.  Without a cluster in broker_dir a new one is made,
    on free ports: Java comes from PyPI, the jars from Maven Central.
    """
    cluster = own_cluster(load_settings(config))
    start(cluster, brokers)
    Console().print(f"bootstrap: {cluster.bootstrap}", highlight=False)


@app.command()
def down(config: Config = None) -> None:
    """Stop the cluster; its data stays."""
    cluster = own_cluster(load_settings(config))
    cluster.down()
    Console().print("stopped; phistream broker up starts it again with its data")


@app.command()
def delete(
    sure: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    config: Config = None,
) -> None:
    """Delete a stopped cluster, with all records, for good."""
    settings = load_settings(config)
    cluster = own_cluster(settings)
    if not sure:
        question = f"delete all records and logs in {settings.broker_dir.absolute()}?"
        confirm(question)
    cluster.delete()
    Console().print("deleted")


@app.command()
def status(config: Config = None) -> None:
    """Show which nodes run; exit 1 unless all of them do."""
    cluster = own_cluster(load_settings(config))
    running = [cluster.is_running(node) for node in cluster.nodes]
    for node, is_running in zip(cluster.nodes, running, strict=True):
        state = "running" if is_running else "not running"
        Console().print(f"node {node.id} at {node.address}: {state}", highlight=False)
    if not running:
        Console().print("no cluster; start one with: phistream broker up")
    elif not all(running):
        Console().print("start what is down with: phistream broker up")
    if not running or not all(running):
        raise typer.Exit(1)


def own_cluster(settings: Settings) -> Cluster:
    """Return the cluster whose data is in `broker_dir`."""
    return Cluster(
        settings.broker_dir.absolute(),
        cache=settings.cache_dir.expanduser() / "maven",
        java_home=settings.java_home,
    )


def start(
    cluster: Cluster, brokers: int | None, console: Console | None = None
) -> None:
    """Start the cluster; show what is done, and for how long."""
    console = console or Console(stderr=True)
    begun = time.monotonic()
    columns = (TextColumn("Apache Kafka: {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("looking for its jars", total=None)

        def report(state: str) -> None:
            if console.is_terminal:
                bar.update(task, description=state)
            else:
                console.print(f"Apache Kafka: {state}", highlight=False)

        cluster.up(
            brokers=brokers,
            progress=lambda done, of: bar.update(
                task, description=f"jar {done} of {of}"
            ),
            report=report,
        )
    seconds = time.monotonic() - begun
    console.print(f"Apache Kafka: answers after {seconds:.0f} s", highlight=False)
