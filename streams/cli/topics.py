"""`phistream topics`: create, check and migrate the topics of cluster/topics.py."""

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
from ..engine.settings import Settings, load_settings
from ..patients.migration import (
    PatientsMigration,
    missing_topics,
    remove_tables,
    require_stopped,
    tables_of_intake,
    waiting,
)
from .options import Bootstrap, Config, Json
from .terminal import counting, print_json, show_table

MAX_SHOWN = 20
"""Records that are listed one by one."""

app = typer.Typer(
    help="Create, check, list and migrate the topics.", no_args_is_help=True
)


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


@app.command()
def migrate(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; change nothing.")
    ] = False,
    config: Config = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Move a deployment from before patient.updates to these topics.

    Stop intake and scrub first; nothing that waits is lost.  It may be run again at any
    time.  Exits 1 if a record of patients has to be repaired by a person.
    """
    settings = load_settings(config, {"bootstrap": bootstrap})
    wait_for_broker(settings)
    try:
        require_stopped(settings)
    except ConfigError as error:
        if not dry_run:
            raise
        _tell(f"would refuse: {error}")
    would = "would be " if dry_run else ""
    missing = missing_topics(settings)
    _tell(f"topics {would}created: {', '.join(missing) or 'none, all exist'}")
    if not dry_run:
        create_topics(settings)
        for problem in check_topics(settings):
            _tell(f"left as it is: {problem}")
    left = _migrate_patients(settings, dry_run=dry_run)
    folders = tables_of_intake(settings)
    if not dry_run:
        remove_tables(folders)
    shown = ", ".join(map(str, folders)) or "none in this state_dir"
    _tell(f"tables of intake {would}removed: {shown}")
    _tell("on other hosts: delete the folders intake-* below state_dir/group by hand")
    for topic, count in waiting(settings).items():
        _tell(
            f"{topic}: up to {count} records wait; they are processed after the start"
        )
    _tell(
        "next: phistream run scrub (it restores its tables from patients), then "
        "phistream run intake, then restart phistream watch"
    )
    raise typer.Exit(1 if left else 0)


def _migrate_patients(settings: Settings, *, dry_run: bool) -> int:
    """Complete the records of `patients`; return how many have to be repaired."""
    with PatientsMigration(settings, is_dry_run=dry_run) as migration:
        with counting("records of patients read") as bar:
            task = bar.add_task("read", total=None, count=0)
            count = migration.read(lambda done: bar.update(task, count=done))
        patients = len(migration.folded)
        would = "would be " if dry_run else ""
        if dry_run:
            lacking = sum(1 for _ in migration.folded.lacking())
        else:
            with counting("records of patients written") as bar:
                task = bar.add_task("write", total=None, count=0)
                lacking = migration.write(lambda done: bar.update(task, count=done))
        _tell(
            f"patients: {count} records of {patients} patients read; {lacking} lack "
            "values of earlier records or of linked identifiers: "
            f"{would}written whole"
        )
        left = [*migration.left()]
    for each in left[:MAX_SHOWN]:
        _tell(f"left as it is: {each}")
    if left:
        _tell(
            f"{len(left)} records are left: before scrub starts, write a tombstone "
            "under the key of each to patients, then send the patient again"
        )
    return len(left)


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
