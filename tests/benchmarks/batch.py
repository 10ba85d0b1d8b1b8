"""How much faster one call with many short notes is than a call for each.

    python -m tests.benchmarks.batch

Pieces of the written notes, each text once: 300 by `deidentify`, other 300 by one
`deidentify_batch`, several times in turn.  Times are processor time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Annotated, Any

import typer

from deid_core import Deidentifier, DeidError, Document
from tests.benchmarks.notes import DATA, Kind, documents_of

NOTES = 300
LENGTHS = (12, 25)


def main(
    rounds: Annotated[int, typer.Option(help="Of both ways in turn.")] = 3,
    seed: Annotated[int, typer.Option(help="Of the order of the notes.")] = 1,
) -> None:
    """Print the processor time of both ways."""
    system = Deidentifier.from_names()

    def one_by_one(some: Sequence[Document]) -> None:
        for note in some:
            with suppress(DeidError):  # e.g. a few words that look like no English
                system.deidentify(note)

    for length in LENGTHS:
        notes = short_notes(length, seed)
        system.deidentify_batch([*islice(notes, NOTES)])
        singly, together = 0.0, 0.0
        for _ in range(rounds):
            singly += seconds_of(one_by_one, notes)
            together += seconds_of(system.deidentify_batch, notes)
        one, many = (1e6 * each / rounds / NOTES for each in (singly, together))
        print(f"notes of {length} words, one by one: {one:,.0f} µs a note")
        print(f"notes of {length} words, in a batch: {many:,.0f} µs a note")
        print(f"notes of {length} words: {one / many:.1f} times as fast")


def short_notes(length: int, seed: int) -> Iterator[Document]:
    """Yield notes of so many words, no text twice."""
    whole = documents_of(Kind("written"), DATA, 10_000, seed)
    words = [note.text.split() for note in whole]
    pieces = (
        " ".join(each[start : start + length])
        for each in words
        for start in range(0, len(each), length)
    )
    for number, text in enumerate(dict.fromkeys(pieces)):
        yield Document(f"{number}", text)


def seconds_of(
    scrub: Callable[[Sequence[Document]], Any], notes: Iterator[Document]
) -> float:
    """Return the processor time of the next notes."""
    some = [*islice(notes, NOTES)]
    if len(some) < NOTES:
        raise SystemExit("the written notes have no more texts: fewer --rounds")
    started = time.process_time()
    scrub(some)
    return time.process_time() - started


if __name__ == "__main__":
    typer.run(main)
