"""``phistream broker``: a real Kafka where there is none."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from ..cluster.local_broker import Cluster
from ..engine.settings import Settings, load_settings
from .options import Config

app = typer.Typer(
    help="Start, stop or look at an Apache Kafka of your own.", no_args_is_help=True
)


@app.command()
def up(
    brokers: Annotated[int, typer.Option(help="1, or 3 with replication 3.")] = 1,
    config: Config = None,
) -> None:
    """Start Apache Kafka 4.3 on free loopback ports; jars and Java come from PyPI."""
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
    """Say which nodes run; exit 1 unless all do."""
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
    """Return the cluster whose state lies in ``broker_dir``."""
    return Cluster(
        settings.broker_dir.absolute(),
        cache=settings.cache_dir.expanduser() / "maven",
        java_home=settings.java_home,
    )


def start(cluster: Cluster, brokers: int, console: Console | None = None) -> None:
    """Start the cluster and show how its jars arrive."""
    console = console or Console(stderr=True)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("Apache Kafka", total=None)
        cluster.up(
            brokers=brokers,
            progress=lambda done, of: bar.update(task, completed=done, total=of + 1),
        )
