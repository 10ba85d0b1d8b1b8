"""`phistream topics`: create, check and list the topics of cluster/topics.py."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from ..cluster.acls import grants
from ..cluster.asyncapi import asyncapi
from ..cluster.client import wait_for_broker
from ..cluster.registry import opened, subject
from ..cluster.topic_admin import check_topics, create_topics
from ..cluster.topics import ALL_TOPICS, FRAMED
from ..engine.errors import ConfigError
from ..engine.settings import load_settings
from .options import Bootstrap, Config, Json
from .terminal import print_json, show_table

app = typer.Typer(help="Create, check and list the topics.", no_args_is_help=True)


@app.command()
def create(config: Config = None, bootstrap: Bootstrap = None) -> None:
    """Create the topics that do not exist yet."""
    settings = load_settings(config, {"bootstrap": bootstrap})
    wait_for_broker(settings)
    created = create_topics(settings)
    Console().print(f"created: {', '.join(created) or 'none, all exist'}")


@app.command()
def check(config: Config = None, bootstrap: Bootstrap = None) -> None:
    """Compare the cluster's topics with the declaration; exit 1 if they differ."""
    settings = load_settings(config, {"bootstrap": bootstrap})
    wait_for_broker(settings)
    problems = check_topics(settings)
    for problem in problems:
        Console().print(problem, soft_wrap=True)
    if problems:
        raise typer.Exit(1)
    Console().print("all topics are as declared")


@app.command(name="list")
def list_(as_json: Json = False) -> None:
    """Print the declared topics."""
    if as_json:
        print_json(
            [
                {**asdict(each), "schema": each.value_form, "config": each.config()}
                for each in ALL_TOPICS
            ]
        )
        return
    show_table(
        ("topic", "key", "value", "kept", "PHI", "read by"),
        [
            (
                each.name,
                each.key,
                each.short_form,
                "compacted"
                if each.cleanup == "compact"
                else f"{each.retention_days} days",
                "yes" if each.phi else "no",
                each.readers,
            )
            for each in ALL_TOPICS
        ],
    )


@app.command(name="asyncapi")
def asyncapi_(config: Config = None) -> None:
    """Print the contract of all topics as an AsyncAPI 3.0 document (JSON)."""
    settings = load_settings(config)
    print_json(asyncapi(has_registry=bool(settings.schema_registry.url)))


@app.command()
def register(config: Config = None) -> None:
    """Register the schemas of published JSON at the schema registry of the settings.

    Services do it themselves at their start with register = true.
    """
    settings = load_settings(config)
    if not settings.schema_registry.url:
        raise ConfigError("schema_registry.url: not set; name your registry")
    with opened(settings) as registry:
        for topic in FRAMED:
            _tell(f"{subject(topic)}: id {registry.register(topic)}")


def _tell(line: str) -> None:
    Console().print(line, markup=False, highlight=False, soft_wrap=True)


@app.command()
def acls(
    principal: Annotated[
        str, typer.Option(help="Prefix of the principals; the service's name follows.")
    ] = "User:phistream-",
    config: Config = None,
) -> None:
    """Print the kafka-acls commands that allow each service what it needs."""
    settings = load_settings(config)
    for service, allowed in grants(settings.group).items():
        typer.echo(f"# {service}")
        for grant in allowed:
            typer.echo(grant.command(f"{principal}{service}"))
