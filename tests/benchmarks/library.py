"""Notes per second of deid_core in one process, and the time of each step.

    python -m tests.benchmarks.library --notes 2000

Notes of about 400 tokens from the synthetic ward, each with its patient's record: with
six identifiers, as real notes have, and with thirty, as the ward's own.  Steps are
timed one by one over batches of 64, in processor time.  The first row is all steps
together with empty caches; the second row and all below it are the same notes again.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from deid_core import Deidentifier, Document, ScrubbedDocument
from deid_core.language.truecasing import truecased
from deid_core.merge import merge
from deid_core.propagation import propagated
from deid_core.replace import apply_replacements
from deid_core.research.tokenizer import tokenize
from streams.demo.ward import Ward
from streams.engine import gc_tuning
from tests.benchmarks.ward import documents_of

BATCH = 64
READY = """
import time
started = time.perf_counter()
from deid_core import Deidentifier, Document
Deidentifier.from_names({preset!r}).deidentify(Document("d", "Mr. Roe was seen."))
print(time.perf_counter() - started)
"""


def diluted(message, document: Document, identifiers: int, tokens: int) -> Document:
    """Return a note of so many tokens with only the first identifiers."""
    starts = [each.start for each in message.planted]
    kept, count, at = [], 0, 0
    for line in document.text.splitlines(keepends=True):
        for sentence in _sentences(line):
            start, end = at, at + len(sentence)
            at = end
            holds = sum(start <= each < end for each in starts)
            if holds and identifiers < holds:
                continue
            identifiers -= holds
            kept.append(sentence)
            count += len(tokenize(sentence))
            if count >= tokens:
                return Document("d", "".join(kept), document.known, document.patient)
    return Document("d", "".join(kept), document.known, document.patient)


def _sentences(line: str) -> Iterator[str]:
    rest = line
    while ". " in rest:
        cut = rest.index(". ") + 2
        yield rest[:cut]
        rest = rest[cut:]
    yield rest


def notes_of(identifiers: int, *, notes: int, tokens: int, seed: int) -> list[Document]:
    """Return notes of about so many tokens and identifiers, with their records."""
    words = 280 if identifiers > 20 else 1500
    ward = Ward(seed=seed, patients=400, note_words=words, split="dev")
    return [
        diluted(message, document, identifiers, tokens)
        for message, document in documents_of(ward, notes)
    ]


def batches(documents: list[Document]) -> Iterator[list[Document]]:
    for at in range(0, len(documents), BATCH):
        yield documents[at : at + BATCH]


def timed(work) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def steps(system: Deidentifier, documents: list[Document]) -> dict[str, float]:
    """Return the seconds of each step."""

    def scrub_all() -> None:
        for batch in batches(documents):
            system.deidentify_batch(batch)

    seconds = {
        "all": timed(scrub_all),
        "all once more": timed(scrub_all),
        "letter case": timed(lambda: [truecased(each.text) for each in documents]),
    }
    proposals = [[] for _ in documents]
    for detector in system._detectors:
        found = []
        seconds[f"detector {detector.name}"] = timed(
            lambda detector=detector, found=found: found.extend(
                each for batch in batches(documents) for each in detector(batch)
            )
        )
        for own, more in zip(proposals, found, strict=True):
            own += more
    seconds["propagation"] = timed(lambda: propagated(documents, proposals))
    repeated = propagated(documents, proposals)
    for own, more in zip(proposals, repeated, strict=True):
        own += more
    merged = [merge(each) for each in proposals]
    seconds["merge"] = timed(lambda: [merge(each) for each in proposals])
    replacer = system._replacer
    triples = list(zip(documents, merged, proposals, strict=True))
    replaced = [replacer.replacements(*each) for each in triples]
    seconds["surrogates"] = timed(
        lambda: [replacer.replacements(*each) for each in triples]
    )
    seconds["replace"] = timed(
        lambda: [
            apply_replacements(document.text, each)
            for document, each in zip(documents, replaced, strict=True)
        ]
    )
    written = [
        apply_replacements(document.text, each)
        for document, each in zip(documents, replaced, strict=True)
    ]
    seconds["verify"] = timed(
        lambda: [
            system._verifier.verify(
                document.text, document.known, *each, annotations, proposed
            )
            for (document, annotations, proposed), each in zip(
                triples, written, strict=True
            )
        ]
    )
    return seconds


def main(
    notes: Annotated[int, typer.Option(help="Notes of each density.")] = 2000,
    tokens: Annotated[int, typer.Option(help="Tokens per note, about.")] = 400,
    preset: Annotated[str, typer.Option(help="Name or file of a preset.")] = "hybrid",
    seed: Annotated[int, typer.Option()] = 3,
) -> None:
    """Print a table of times for each density of identifiers."""
    console = Console()
    ready = subprocess.run(
        [sys.executable, "-c", READY.format(preset=preset)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    system = Deidentifier.from_names(preset)
    for identifiers in (6, 30):
        documents = notes_of(identifiers, notes=notes, tokens=tokens, seed=seed)
        results = system.deidentify_batch(documents[:BATCH])
        gc_tuning.settle()
        scrubbed = [each for each in results if isinstance(each, ScrubbedDocument)]
        found = sum(len(each.annotations) for each in scrubbed) / len(scrubbed)
        length = sum(len(tokenize(each.text)) for each in documents) / len(documents)
        seconds = steps(system, documents)
        grid = Grid(
            "step", "us a note", "share", "notes/s",
            title=f"{length:.0f} tokens, {found:.0f} annotations a note, {preset}",
        )  # fmt: skip
        for name, each in seconds.items():
            one = each / len(documents)
            grid.add_row(
                name,
                f"{one * 1e6:,.0f}",
                f"{each / seconds['all']:.0%}",
                f"{1 / one:,.0f}" if name.startswith("all") else "",
            )
        console.print(grid)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    console.print(
        f"{notes:,} notes a table, one process; a fresh one is ready, with its first "
        f"note done, in {float(ready):.2f} s; peak memory here {memory:,.0f} MB"
    )


if __name__ == "__main__":
    typer.run(main)
