"""All commands: where each is, its line in the help, and the extras that it needs.

The help lists them without importing any; a command is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group


class Entry(NamedTuple):
    """One command.

    Args:
        place: Its module below `streams`, and its function or group there.
        summary: The first paragraph of its help.
        extras: Of the package; all that the command needs.
    """

    place: str
    summary: str
    extras: tuple[str, ...] = ()


COMMANDS: Mapping[str, Entry] = {
    "scrub": Entry(
        "cli.scrub:scrub", "De-identify files and folders; exit 1 if a note is refused."
    ),
    "presets": Entry(
        "cli.presets:presets",
        "List the presets, and which of them train a model at their first use.",
    ),
    "evaluate": Entry(
        "products.research.evaluate:evaluate",
        "Score a preset on gold corpora: coverage, spans and tokens, for each label.",
        ("train",),
    ),
    "train": Entry(
        "products.research.train:train",
        "Train the tagger; a preset names the folder as `model` in its table "
        "\\[tagger].",
        ("train",),
    ),
    "adapt": Entry(
        "products.research.adapt:adapt",
        "Adapt the tagger to a site's notes, without annotators; exit 1 if it is "
        "worse.",
        ("train",),
    ),
    "experiment": Entry(
        "products.research.experiment:experiment",
        "Train and compare systems; write a page of tables, plots and findings.",
        ("train",),
    ),
    "run": Entry(
        "cli.run:run",
        "Run a stage as a service until SIGTERM or Ctrl-C, then drain.",
        ("documents", "fast", "stream"),
    ),
    "mllp": Entry(
        "products.mllp.command:mllp",
        "Take HL7 v2 messages by MLLP to hl7.raw until SIGTERM or Ctrl-C.",
        ("stream",),
    ),
    "serve": Entry(
        "products.gateway.command:serve",
        "Scrub notes, messages and documents over HTTP; /docs describes the paths.",
        ("documents", "fast", "gateway"),
    ),
    "feed": Entry(
        "cli.feed:feed",
        "Publish HL7 v2 messages and JSON notes on hl7.raw, or updates on "
        "patient.updates.",
        ("stream",),
    ),
    "reconcile": Entry(
        "cli.reconcile:reconcile",
        "Match every input with its outputs; exit 1 if any is missing or doubled.",
        ("stream",),
    ),
    "doctor": Entry(
        "cli.doctor:doctor",
        "Check configuration, broker, topics, models and keys; exit 1 on a failure.",
        ("stream",),
    ),
    "status": Entry(
        "cli.status:status",
        "Show rates, lag, workers and dead letters until Ctrl-C.",
        ("stream",),
    ),
    "watch": Entry(
        "cli.watch:watch",
        "Serve the operations page until SIGTERM or Ctrl-C.",
        ("ops",),
    ),
    "demo": Entry(
        "demo.command:demo",
        "Start Kafka and the service, feed invented messages, show the result, and "
        "stop.",
        ("broker", "documents", "fast"),
    ),
    "key": Entry(
        "cli.key:key",
        "Write a new secret key for pseudonyms, readable only by its owner.",
    ),
    "erase": Entry(
        "products.office.erase_command:erase",
        "Erase a patient, with all linked identifiers; print what remains, and until "
        "when.",
        ("stream",),
    ),
    "rescrub": Entry(
        "products.rescrub.command:rescrub",
        "Scrub published notes again, into topics of another version.",
        ("documents", "fast", "stream"),
    ),
    "map": Entry(
        "products.map.command:map_",
        "Propose a map of JSON events to note events; or check one, exit 1 on "
        "refusals.",
    ),
    "corpus": Entry(
        "products.research.corpus:app",
        "Write synthetic notes with invented identifiers as JSON lines.",
        ("train",),
    ),
    "broker": Entry(
        "cli.broker:app",
        "Start, stop, inspect or delete a local Apache Kafka.",
        ("broker",),
    ),
    "dead-letters": Entry(
        "products.office.dead_letters_command:app",
        "List, show and replay dead letters.",
        ("stream",),
    ),
    "held": Entry(
        "cli.held:app",
        "List, release or discard notes that wait for demographics.",
        ("stream",),
    ),
    "keys": Entry(
        "cli.keys:app",
        "Make, list and rotate keys, and link pseudonyms of two keys.",
        ("stream",),
    ),
    "lake": Entry(
        "products.lake.command:app",
        "Write the published topics into Apache Iceberg tables, exactly once.",
        ("lake",),
    ),
    "topics": Entry(
        "cli.topics:app", "Create, check and list the topics.", ("stream",)
    ),
}
"""In the order of the help."""


class LazyCommand(TyperCommand):
    """A command or group that is imported when its arguments are parsed."""

    def __init__(self, name: str, entry: Entry) -> None:
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
        module, _, attribute = self._place.partition(":")
        loaded = getattr(import_module(f"streams.{module}"), attribute)
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
