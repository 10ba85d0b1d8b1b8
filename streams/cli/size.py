"""`phistream size`: what hardware a load needs."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Annotated, Any

import typer

from ..engine.errors import ConfigError
from ..operations.sizing.factors import Factors, measured
from ..operations.sizing.model import RETENTION, Load, size_of
from ..operations.sizing.page import CASES, rows_of
from .terminal import show_table


def size(
    notes_per_day: Annotated[
        float | None, typer.Option(min=1, max=1e12, help="Messages with a note, a day.")
    ] = None,
    patients: Annotated[
        float | None,
        typer.Option(min=1, max=1e12, help="Patients whose record is kept."),
    ] = None,
    characters: Annotated[
        float, typer.Option(min=1, max=1_000_000, help="Mean length of a note.")
    ] = 1000,
    peak: Annotated[
        float, typer.Option(min=1, help="Notes a second at the peak, over the mean.")
    ] = 3,
    utilisation: Annotated[
        float, typer.Option(min=0.05, max=1, help="Share of a core used at the peak.")
    ] = 0.7,
    retention: Annotated[
        list[str] | None, typer.Option(help="TOPIC=DAYS; repeatable.")
    ] = None,
    replication: Annotated[
        int, typer.Option(min=1, max=9, help="Copies of each record.")
    ] = 3,
    cores_per_host: Annotated[
        int, typer.Option(min=1, help="Cores of a host of workers.")
    ] = 16,
    archive_notes: Annotated[
        float | None,
        typer.Option(min=0, help="Notes to scrub again; a year's by default."),
    ] = None,
) -> None:
    """Print workers, partitions, disks and times for a load, from measured factors.

    Without --notes-per-day and --patients: for a hospital, a national network, and 10
    billion notes a year.  deploy/sizing.md says how each factor was measured.
    """
    if (notes_per_day is None) is not (patients is None):
        raise typer.BadParameter("--notes-per-day and --patients: name both or none")
    numbers = (notes_per_day, patients, characters, peak, utilisation, archive_notes)
    if not all(isfinite(each) for each in numbers if each is not None):
        raise typer.BadParameter("nan and inf are no sizes: name finite numbers")
    loads = CASES
    if notes_per_day is not None and patients is not None:
        year = notes_per_day * 365
        loads = {"this load": Load(notes_per_day, patients, archive_notes=year)}
    options: dict[str, Any] = {
        "characters": characters,
        "peak": peak,
        "utilisation": utilisation,
        "retention": {**RETENTION, **_days(retention or [])},
        "replication": replication,
        "cores_per_host": cores_per_host,
    }
    if archive_notes is not None:
        options["archive_notes"] = archive_notes
    factors = Factors(measured())
    sizes = {
        name: size_of(replace(load, **options), factors) for name, load in loads.items()
    }
    show_table(("", *sizes), rows_of(sizes))


def _days(given: list[str]) -> dict[str, float]:
    """Return days by topic.

    Raises:
        ConfigError: A topic is unknown, or the days are no number.
    """
    found = {}
    for each in given:
        topic, _, days = each.partition("=")
        if topic not in RETENTION:
            raise ConfigError(
                f"--retention: unknown topic {topic!r}; known: {', '.join(RETENTION)}"
            )
        try:
            found[topic] = float(days)
        except ValueError:
            found[topic] = -1.0
        if not 0 < found[topic] < 100_000:
            raise ConfigError(f"--retention {topic}=DAYS: name a number of days")
    return found
