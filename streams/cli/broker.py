"""`phistream broker`: a local Apache Kafka, for trials and tests."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from ..cluster.local_broker import Cluster
from ..engine.settings import Settings, load_settings
from .options import Config

app = typer.Typer(
    help="Start, stop or inspect a local Apache Kafka.", no_args_is_help=True
)


@app.command()
def up(
    brokers: Annotated[
        int, typer.Option(help="1 broker, or 3 with replication factor 3.")
    ] = 1,
    config: Config = None,
) -> None:
    """Start Apache Kafka 4.3 on free loopback ports.

    Java comes from PyPI, the jars from Maven Central.
    """
    cluster = own_cluster(load_settings(config))
    start(cluster, brokers)
    Console().print(f"bootstrap: {cluster.bootstrap}", highlight=False)


@app.command()
def down(config: Config = None) -> None:
    """Stop the cluster and delete its data."""
    cluster = own_cluster(load_settings(config))
    cluster.down()
    cluster.remove_data()
    Console().print("stopped")


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
    if not running or not all(running):
        raise typer.Exit(1)


def own_cluster(settings: Settings) -> Cluster:
    """Return the cluster whose data is in `broker_dir`."""
    return Cluster(
        settings.broker_dir.absolute(),
        cache=settings.cache_dir.expanduser() / "maven",
        java_home=settings.java_home,
    )


def start(cluster: Cluster, brokers: int, console: Console | None = None) -> None:
    """Start the cluster and show the progress of the download."""
    console = console or Console(stderr=True)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("Apache Kafka", total=None)
        cluster.up(
            brokers=brokers,
            progress=lambda done, of: bar.update(task, completed=done, total=of + 1),
        )
