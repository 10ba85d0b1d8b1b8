"""``phistream topics``: make and check the topics that are declared in topics.py."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import orjson
import typer
from rich.console import Console

from ..cluster.acls import grants
from ..cluster.client import wait_for_broker
from ..cluster.topics import ALL_TOPICS, check_topics, create_topics
from ..engine.settings import load_settings
from .options import Bootstrap, Config
from .terminal import show_table

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
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Print the declaration."""
    if as_json:
        rows = [
            {**asdict(each), "schema": each.value_form, "config": each.config()}
            for each in ALL_TOPICS
        ]
        typer.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
        return
    show_table(
        ("topic", "key", "value", "kept", "PHI", "read by"),
        [
            (
                each.name,
                each.key,
                each.value_form,
                "compacted"
                if each.cleanup == "compact"
                else f"{each.retention_days} days",
                "yes" if each.phi else "no",
                each.readers,
            )
            for each in ALL_TOPICS
        ],
    )


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
