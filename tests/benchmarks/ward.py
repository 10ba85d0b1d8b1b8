"""Recall of the identifiers planted in a ward's notes, and false redactions.

    python -m tests.benchmarks.ward --notes 2000 --split test --seed 7

Each note is joined with its patient's record as in the service.  It is scrubbed with
the record and without it: as it is, in capitals and in lower case.  An identifier is
found if every letter and digit of it is replaced; those of a refused note count as
missed.  Notes of patients without a record are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from deid_core import Annotation, Deidentifier, Document, ScrubbedDocument
from deid_core.document import NOTHING_KNOWN
from deid_core.research.corpora.corpus import CASES as LETTER_CASES
from streams.demo.gold import noted
from streams.demo.ward import Ward, WardMessage
from tests.benchmarks.ward_scores import ROWS, Tally, tally

BATCH = 64
WIDTH = 112
DEVELOPMENT = "dev"
CASES = {
    "as is": LETTER_CASES["as-is"],
    "CAPITALS": LETTER_CASES["upper"],
    "lower": LETTER_CASES["lower"],
}


def documents_of(ward: Ward, count: int) -> Iterator[tuple[WardMessage, Document]]:
    """Yield each note of a patient with a record, and its document."""
    for number, (message, known) in enumerate(noted(ward, count)):
        patient = str(message.patient)
        yield message, Document(str(number), message.text, known, patient)


def scrubbed(
    system: Deidentifier, documents: Sequence[Document]
) -> Iterator[Sequence[Annotation] | None]:
    """Yield the annotations of each document; None for a refused one."""
    for at in range(0, len(documents), BATCH):
        for result in system.deidentify_batch(documents[at : at + BATCH]):
            is_scrubbed = isinstance(result, ScrubbedDocument)
            yield result.annotations if is_scrubbed else None


def table_of(tallies: dict[str, Tally], title: str) -> Table:
    """Return a table with a column for each run."""
    grid = Table(title=title)
    grid.add_column("recall of")
    grid.add_column("planted", justify="right")
    for name in tallies:
        grid.add_column(name, justify="right")
    first = next(iter(tallies.values()))
    for row in ROWS:
        cells = [each.recall(row) for each in tallies.values()]
        grid.add_row(row, f"{first.planted[row]:,}", *cells)
    grid.add_section()
    for name, counts, cell in SUMMARY:
        grid.add_row(
            name, f"{counts(first):,}", *(cell(each) for each in tallies.values())
        )
    return grid


SUMMARY = (
    ("notes with a leak", lambda t: t.notes, lambda t: f"{t.leaking:,}"),
    ("notes refused", lambda t: t.notes, lambda t: f"{t.refused:,}"),
    (
        "false words in 1,000",
        lambda t: t.words,
        lambda t: f"{1000 * t.false / t.words:.2f}",
    ),
    ("decoys touched", lambda t: t.decoys, lambda t: f"{t.touched:,}"),
    (
        "precision on names",
        lambda t: t.true_name_words,
        lambda t: f"{t.true_name_words / max(1, t.name_words):.4f}",
    ),
)
"""The rows below recall: name, total, and cell."""


def main(
    notes: Annotated[int, typer.Option(help="Notes to write.")] = 2000,
    split: Annotated[str, typer.Option(help="dev or test.")] = DEVELOPMENT,
    seed: Annotated[int, typer.Option(help="Seed of the ward.")] = 7,
    patients: Annotated[int, typer.Option(help="Number of patients.")] = 400,
    words: Annotated[int, typer.Option(help="Words per note, about.")] = 150,
    preset: Annotated[str, typer.Option(help="Name or file of a preset.")] = "hybrid",
    errors: Annotated[
        int, typer.Option(help="Number of misses to print; dev only.")
    ] = 0,
) -> None:
    """Print the table; for the split dev, also what was missed."""
    if split not in ("dev", "test"):
        raise typer.BadParameter("dev or test", param_hint="--split")
    if errors and split != DEVELOPMENT:
        raise typer.BadParameter("only of the split dev", param_hint="--errors")
    which: Literal["dev", "test"] = "test" if split == "test" else "dev"
    ward = Ward(seed=seed, patients=patients, note_words=words, split=which)
    messages, documents = zip(*documents_of(ward, notes), strict=True)
    noted = [(m, d.known) for m, d in zip(messages, documents, strict=True)]
    tallies: dict[str, Tally] = {}
    for record in ("record", "none"):
        for case, change in CASES.items():
            texts = [change(each.text) for each in documents]
            runs = [
                Document(
                    d.id,
                    text,
                    d.known if record == "record" else NOTHING_KNOWN,
                    d.patient,
                )
                for d, text in zip(documents, texts, strict=True)
            ]
            # A new system for each run, so that no cache is shared.
            results = scrubbed(Deidentifier.from_names(preset=preset), runs)
            name = f"{record}, {case}"
            tallies[name] = tally(noted, texts, results)
    title = f"Ward of seed {seed}, split {split}, preset {preset}: {len(documents):,} "
    console = Console()
    console = Console(width=max(console.width, WIDTH))
    console.print(table_of(tallies, f"{title} notes of patients with a record"))
    for name, each in tallies.items() if errors else ():
        _print_errors(console, name, each, errors)


def _print_errors(console: Console, name: str, total: Tally, most: int) -> None:
    for what, counts in (("missed", total.misses), ("falsely", total.falsely)):
        console.print(f"\n{name}: {what}", markup=False)
        for key, count in counts.most_common(most):
            line = f"  {count} {key[0]} {key[1]!r} in {total.seen[key]!r}"
            console.print(line, markup=False)


if __name__ == "__main__":
    typer.run(main)
