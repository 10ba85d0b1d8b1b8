"""`phistream adapt`: the tagger learns a site's notes by its patients' records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from deid_core.config import load_preset
from deid_core.research.corpora.installed import (
    DEVELOPMENT,
    TRAINING,
    paths_of,
    require_learnable,
)
from deid_core.research.corpora.readers import read_corpus
from streams.cli.options import Bootstrap, Config, Seed
from streams.cli.terminal import counting, say, show_table, write_file
from streams.engine.errors import OutputError
from streams.pipeline.files.sources import require_present

if TYPE_CHECKING:
    from deid_core import Document

CARD = "README.md"


def adapt(
    out: Annotated[Path, typer.Option(help="New folder for the model.")],
    notes: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Notes with records: HL7 v2, JSON or marked. Default: topics.",
            show_default=False,
        ),
    ] = None,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(
            "--corpus",
            help="Annotated corpus to learn from besides. Default: the invented notes "
            "that come with phistream, in English.",
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        list[Path] | None,
        typer.Option(
            "--dev",
            help="Annotated corpus that must not be read worse; none of above. "
            "Default: others of those notes.",
            show_default=False,
        ),
    ] = None,
    most: Annotated[
        int, typer.Option("--notes", min=1, help="Read at most so many notes.")
    ] = 5_000,
    patients: Annotated[
        int,
        typer.Option(
            "--patients", min=2, help="Learn only what so many patients' notes have."
        ),
    ] = 5,
    preset: Annotated[
        str, typer.Option(help="The preset in use: a name or file.")
    ] = "hybrid",
    recipe: Annotated[
        str, typer.Option(help="Training recipe: a name or file.")
    ] = "english",
    part: Annotated[
        str, typer.Option(help="dev, test or all of each --corpus.")
    ] = "all",
    dev_part: Annotated[
        str, typer.Option(help="dev, test or all of each --dev.")
    ] = "all",
    version: Annotated[str, typer.Option(help="Version of the model.")] = "1",
    seed: Seed = 1,
    config: Config = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Adapt the tagger to a site's notes, without annotators; exit 1 if it is worse.

    The patients' records label the notes.  The model holds no text of the site; it is
    written only if it is not worse on held-out patients and on each --dev.

    Needs the extra "train".
    """
    learned, kept = corpus or [TRAINING], dev or [DEVELOPMENT]
    require_present([*paths_of([*learned, *kept]), *(notes or ())])
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutputError(f"{out}: exists; name a new folder")
    from deid_core.research.adaptation.adapting import Adaptation
    from deid_core.research.adaptation.adapting import adapt as adapt_model
    from deid_core.research.adaptation.card import card_of, figures_of
    from deid_core.research.training.recipe import load_recipe
    from deid_core.tagger.digests import renew
    from deid_core.tagger.model_files import save_model

    loaded = load_recipe(recipe)
    if not (corpus and dev):
        require_learnable(recipe, loaded.language, loaded.corpus)
    adaptation = Adaptation(
        load_preset(preset),
        loaded,
        [read_corpus(p, conventions=loaded.corpus, part=part) for p in learned],
        [read_corpus(p, conventions=loaded.corpus, part=dev_part) for p in kept],
        patients=patients,
        seed=seed,
        version=version,
    )
    found = _read(notes, most, seed, config, bootstrap)
    with Progress(console=Console(stderr=True), transient=True) as shown:
        bar = shown.add_task("adapting", total=1.0)
        adapted = adapt_model(
            adaptation,
            found,
            progress=lambda share, step: shown.update(
                bar, completed=share, description=step
            ),
        )
    show_table(*figures_of(adapted.compared))
    if adapted.worse:
        for why in adapted.worse:
            say(f"refused: {why}")
        say("nothing is written")
        raise typer.Exit(1)
    try:
        save_model(adapted.model, out)
    except OSError as error:
        raise OutputError(f"{out}: {error.strerror}; check the path") from None
    write_file(out / CARD, card_of(adaptation, adapted).encode())
    renew(out)
    say(f"{out}: written; name it as model in the table [tagger] of a preset")


def _read(
    notes: list[Path] | None,
    most: int,
    seed: int,
    config: Path | None,
    bootstrap: str | None,
) -> list[Document]:
    """Return the sample of notes, from files or else from the topics."""
    from .site_notes import notes_in_files, notes_in_topics

    with counting("notes read") as bar:
        task = bar.add_task("read", total=None, count=0)

        def seen(count: int) -> None:
            bar.update(task, count=count)

        if notes:
            return notes_in_files(notes, most, seed, seen)
        from streams.kafka.client import wait_for_broker
        from streams.operations.settings import load_settings

        settings = load_settings(config, {"bootstrap": bootstrap})
        wait_for_broker(settings)
        return notes_in_topics(settings, most, seen)
