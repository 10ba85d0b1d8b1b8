"""``phistream corpus``: notes with drawn identifiers, to train on or to be tried on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated

import typer
from rich.console import Console

from deid_core import Deidentifier
from deid_core.research.corpora.corpus import GoldDocument
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.corpora.writers import line_of
from deid_core.research.synthetic_notes import (
    Carrier,
    Half,
    generate,
    marked,
    read_carriers,
    recast,
    without_shared,
)

from ..engine.errors import OutputError

app = typer.Typer(
    help="Write notes with drawn identifiers as JSON lines.", no_args_is_help=True
)

Carriers = Annotated[
    Path | None,
    typer.Option(
        "--carriers",
        help="Unmarked notes, JSON lines {id, text}; else notes of templates alone.",
    ),
]
ApartFrom = Annotated[
    list[Path] | None,
    typer.Option(
        "--apart-from",
        help="Leave out carriers that share eight words in a row with these.",
    ),
]
Documents = Annotated[int, typer.Option("--documents", min=1, help="How many.")]
Seed = Annotated[int, typer.Option("--seed", help="What all chance hangs on.")]
Out = Annotated[Path, typer.Option("--out", help="The file to write.")]


@app.command()
def training(
    out: Out,
    carriers: Carriers = None,
    apart_from: ApartFrom = None,
    documents: Documents = 2000,
    seed: Seed = 1,
) -> None:
    """Write notes to train on: frequent names foremost, many formats."""
    _write(Half.TRAINING, carriers, apart_from or [], documents, seed, out)


@app.command()
def stress(
    out: Out,
    carriers: Carriers = None,
    apart_from: ApartFrom = None,
    documents: Documents = 400,
    seed: Seed = 1,
) -> None:
    """Write notes to be tried on: names, templates and carriers never trained on.

    Each identifier says what makes it hard; phistream evaluate shows recall by that.
    """
    _write(Half.STRESS, carriers, apart_from or [], documents, seed, out)


@app.command("recast")
def recast_notes(
    notes: Annotated[
        Path, typer.Argument(help="Notes marked whole, JSON lines {id, text, spans}.")
    ],
    out: Out,
    copies: Annotated[int, typer.Option("--copies", min=1, help="Of each note.")] = 8,
    seed: Seed = 1,
) -> None:
    """Write copies of marked notes, each about other people and places.

    The names are the training half's.  What is not marked is learned as no identifier.
    """
    documents = read_corpus(notes).documents
    count = _save(out, _recast(documents, copies, seed))
    _tell(f"{count} notes of {len(documents)} in {out}")


def _recast(
    documents: Iterable[GoldDocument], copies: int, seed: int
) -> Iterator[GoldDocument]:
    for document in documents:
        for number in range(copies):
            chance = Random(f"{seed} {document.id} {number}")  # noqa: S311 - no secrets
            yield recast(document, Half.TRAINING, chance)


def _write(
    half: Half,
    carriers: Path | None,
    apart_from: Sequence[Path],
    documents: int,
    seed: int,
    out: Path,
) -> None:
    chosen: list[Carrier] = []
    if carriers is not None:
        apart = without_shared(read_carriers(carriers), apart_from)
        # Not by a model: what it misses would be learned as missing.
        chosen = marked(apart, Deidentifier.from_names("lexical"))
    _save(out, generate(half, chosen, documents, seed))
    _tell(f"{documents} notes of {len(chosen)} carriers and templates in {out}")


def _save(out: Path, notes: Iterable[GoldDocument]) -> int:
    lines = [line_of(note) for note in notes]
    try:
        out.write_bytes(b"".join(lines))
    except OSError as error:
        raise OutputError(f"{out}: {error.strerror}; check the path") from None
    return len(lines)


def _tell(told: str) -> None:
    Console(stderr=True).print(f"phistream: {told}", markup=False, soft_wrap=True)
