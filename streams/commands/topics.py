"""``phistream topics``: make and check the topics that are declared in topics.py."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from ..acls import grants
from ..settings import load_settings
from ..topics import ALL_TOPICS, check_topics, create_topics
from ..worker import wait_for_broker
from .options import Bootstrap, Config

app = typer.Typer(help="The topics, declared once.", no_args_is_help=True)


@app.command()
def create(config: Config = None, bootstrap: Bootstrap = None) -> None:
    """Make the topics that are not there yet."""
    settings = load_settings(config, {"bootstrap": bootstrap})
    wait_for_broker(settings)
    made = create_topics(settings)
    Console().print(f"made: {', '.join(made) or 'none, all are there'}")


@app.command()
def check(config: Config = None, bootstrap: Bootstrap = None) -> None:
    """Compare the cluster's topics with their declaration; exit 1 if they differ."""
    settings = load_settings(config, {"bootstrap": bootstrap})
    wait_for_broker(settings)
    problems = check_topics(settings)
    for problem in problems:
        Console().print(problem, soft_wrap=True)
    if problems:
        raise typer.Exit(1)
    Console().print("all topics are as declared")


@app.command(name="list")
def list_() -> None:
    """Print the declaration."""
    grid = Grid("topic", "key", "value", "cleanup", "retention", "PHI", "read by")
    for topic in ALL_TOPICS:
        days = f"{topic.retention_days} days"
        grid.add_row(
            topic.name,
            topic.key,
            topic.schema,
            topic.cleanup,
            "for ever" if topic.cleanup == "compact" else days,
            "yes" if topic.phi else "no",
            topic.readers,
        )
    Console().print(grid)


@app.command()
def acls(
    principal: Annotated[
        str, typer.Option(help="How principals begin; the service follows.")
    ] = "User:phistream-",
    config: Config = None,
) -> None:
    """Print what each service must be allowed at a cluster that authorizes."""
    settings = load_settings(config)
    for service, allowed in grants(settings.group).items():
        typer.echo(f"# {service}")
        for grant in allowed:
            typer.echo(grant.command(f"{principal}{service}"))
