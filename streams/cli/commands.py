"""All commands: where each is, its line in the help, and the extras that it needs.

The help lists them without importing any; a command is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from streams.products import Command, load, products

_CORE: Mapping[str, Command] = {
    "scrub": Command(
        "cli.scrub:scrub", "De-identify files and folders; exit 1 if a note is refused."
    ),
    "presets": Command(
        "cli.presets:presets",
        "List the presets, and which of them train a model at their first use.",
    ),
    "run": Command(
        "cli.run:run",
        "Run a stage as a service until SIGTERM or Ctrl-C, then drain.",
        ("documents", "fast", "stream"),
    ),
    "feed": Command(
        "cli.feed:feed",
        "Publish HL7 v2 messages and JSON notes on hl7.raw, or updates on "
        "patient.updates.",
        ("stream",),
    ),
    "reconcile": Command(
        "cli.reconcile:reconcile",
        "Match every input with its outputs; exit 1 if any is missing or doubled.",
        ("stream",),
    ),
    "doctor": Command(
        "cli.doctor:doctor",
        "Check configuration, broker, topics, models and keys; exit 1 on a failure.",
        ("stream",),
    ),
    "status": Command(
        "cli.status:status",
        "Show rates, lag, workers and dead letters until Ctrl-C.",
        ("stream",),
    ),
    "watch": Command(
        "cli.watch:watch",
        "Serve the operations page until SIGTERM or Ctrl-C.",
        ("ops",),
    ),
    "demo": Command(
        "demo.command:demo",
        "Start Kafka and the service, feed invented messages, show the result, and "
        "stop.",
        ("broker", "documents", "fast"),
    ),
    "key": Command(
        "cli.key:key",
        "Write a new secret key for pseudonyms, readable only by its owner.",
    ),
    "broker": Command(
        "cli.broker:app",
        "Start, stop, inspect or delete a local Apache Kafka.",
        ("broker",),
    ),
    "held": Command(
        "cli.held:app",
        "List, release or discard notes that wait for demographics.",
        ("stream",),
    ),
    "keys": Command(
        "cli.keys:app",
        "Make, list and rotate keys, and link pseudonyms of two keys.",
        ("stream",),
    ),
    "topics": Command(
        "cli.topics:app", "Create, check and list the topics.", ("stream",)
    ),
}
COMMANDS: Mapping[str, Command] = {
    **_CORE,
    **{
        name: command
        for product in products().values()
        for name, command in product.commands.items()
    },
}
"""In the order of the help."""


class LazyCommand(TyperCommand):
    """A command or group that is imported when its arguments are parsed."""

    def __init__(self, name: str, entry: Command) -> None:
        super().__init__(name, help=entry.summary)
        self._place = entry.place

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: object = None,
        **extra: object,
    ) -> typer.Context:
        """Return the context of the command that this one stands for."""
        context = self._loaded().make_context(info_name, args, parent, **extra)
        return cast(typer.Context, context)

    def _loaded(self) -> Any:  # noqa: ANN401 (typer has no public type for it)
        loaded = load(self._place)
        if isinstance(loaded, typer.Typer):
            command: Any = get_group(loaded)
        else:
            single = typer.Typer(add_completion=False)
            single.command()(loaded)
            command = get_command(single)
        command.name = self.name
        return command


class Commands(TyperGroup):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 (as typer calls it)
        super().__init__(**attributes)
        for name, entry in COMMANDS.items():
            self.add_command(LazyCommand(name, entry))
