"""`phistream topics`: create, check and list the topics of cluster/topics.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from streams.engine.errors import ConfigError, RetriableError
from streams.kafka.acls import grants
from streams.kafka.asyncapi import asyncapi
from streams.kafka.client import admin_client, wait_for_broker
from streams.kafka.registry import opened, subject
from streams.kafka.topic_admin import check_topics, create_topics, partition_counts
from streams.kafka.topics import ALL_TOPICS, FRAMED
from streams.operations.settings import Settings, load_settings

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
def list_(
    as_json: Json = False, config: Config = None, bootstrap: Bootstrap = None
) -> None:
    """Print the declared topics, and which of them the cluster has.

    If no cluster answers, only what is declared.
    """
    settings = load_settings(config, {"bootstrap": bootstrap})
    partitions = _partitions(settings)
    if as_json:
        print_json(
            [
                {
                    **asdict(topic),
                    "schema": topic.value_form,
                    "config": topic.config(),
                    "partitions": None
                    if partitions is None
                    else partitions.get(topic.name, 0),
                }
                for topic in ALL_TOPICS
            ]
        )
        return
    show_table(
        ("topic", "key", "value", "kept", "PHI", "read by"),
        [
            (
                topic.name,
                topic.key,
                topic.short_form,
                "compacted"
                if topic.cleanup == "compact"
                else f"{topic.retention_days} days",
                "yes" if topic.phi else "no",
                topic.readers,
            )
            for topic in ALL_TOPICS
        ],
    )
    _tell(_existing(settings, partitions))


def _partitions(settings: Settings) -> Mapping[str, int] | None:
    """Return the number of partitions by topic; None if no cluster answers."""
    if not settings.bootstrap:
        return None
    try:
        return partition_counts(admin_client(settings))
    except RetriableError:
        return None


def _existing(settings: Settings, partitions: Mapping[str, int] | None) -> str:
    if partitions is None:
        at = f"answers at {settings.bootstrap}" if settings.bootstrap else "is named"
        return f"declared topics; which of them exist is not known: no cluster {at}"
    missing = [topic.name for topic in ALL_TOPICS if topic.name not in partitions]
    if not missing:
        return "all of them exist in the cluster"
    return (
        f"not in the cluster, or hidden from this user: {', '.join(missing)}; "
        "phistream topics create makes them"
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
