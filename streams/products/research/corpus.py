"""`phistream corpus`: synthetic notes, for training or for stress tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated

import typer

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
from streams.cli.options import Seed
from streams.cli.terminal import say, write_file

app = typer.Typer(
    help="Write synthetic notes with invented identifiers as JSON lines.",
    no_args_is_help=True,
)

Carriers = Annotated[
    Path | None,
    typer.Option(
        "--carriers", help="Notes to insert identifiers into, JSON lines {id, text}."
    ),
]
ApartFrom = Annotated[
    list[Path] | None,
    typer.Option(
        "--apart-from",
        help="Skip carriers that share eight consecutive words with these files.",
    ),
]
Documents = Annotated[int, typer.Option("--documents", min=1, help="Number of notes.")]
Out = Annotated[Path, typer.Option("--out", help="The file to write.")]


@app.command()
def training(
    out: Out,
    carriers: Carriers = None,
    apart_from: ApartFrom = None,
    documents: Documents = 2000,
    seed: Seed = 1,
) -> None:
    """Write notes for training: mostly frequent names, many formats."""
    _write(Half.TRAINING, carriers, apart_from or [], documents, seed, out)


@app.command()
def stress(
    out: Out,
    carriers: Carriers = None,
    apart_from: ApartFrom = None,
    documents: Documents = 400,
    seed: Seed = 1,
) -> None:
    """Write notes for stress tests: names and templates never used in training.

    Each identifier is marked with what makes it difficult; phistream evaluate shows
    the recall for each.
    """
    _write(Half.STRESS, carriers, apart_from or [], documents, seed, out)


@app.command("recast")
def recast_notes(
    notes: Annotated[
        Path,
        typer.Argument(help="Fully annotated notes, JSON lines {id, text, spans}."),
    ],
    out: Out,
    copies: Annotated[
        int, typer.Option("--copies", min=1, help="Copies of each note.")
    ] = 8,
    seed: Seed = 1,
) -> None:
    """Write copies of annotated notes with other people and places.

    The names are those used for training.  Text without annotation is learned as not
    being an identifier.
    """
    documents = read_corpus(notes).documents
    count = _save(out, _recast(documents, copies, seed))
    say(f"{count} notes of {len(documents)} in {out}")


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
        # Without a model: identifiers that it misses would be learned as ordinary text.
        chosen = marked(apart, Deidentifier.from_names("lexical"))
    _save(out, generate(half, chosen, documents, seed))
    say(f"{documents} notes of {len(chosen)} carriers and templates in {out}")


def _save(out: Path, notes: Iterable[GoldDocument]) -> int:
    lines = [line_of(note) for note in notes]
    write_file(out, b"".join(lines))
    return len(lines)
