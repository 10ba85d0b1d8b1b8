"""Notes refused for their language, and what the check costs.

    python -m tests.benchmarks.languages [CORPUS ...]

The invented notes of other languages, those of `tests/written_notes`, and any corpora
(their development parts), read by a preset for English and by one for Spanish, as they
are written, in capitals and in small letters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from deid_core.language.identify import LanguageCheck
from deid_core.research.corpora.readers import read_corpus

TESTS = Path(__file__).parents[1]
FOREIGN = TESTS / "deid_core/language/foreign_notes"
WRITTEN = TESTS / "written_notes"
READ = ("en", "es")
CASES: tuple[Callable[[str], str], ...] = (str, str.upper, str.lower)


def main(corpora: Annotated[list[Path] | None, typer.Argument()] = None) -> None:
    """Print, for each set, how many notes are refused and the time a word."""
    grid = Grid("set", "notes", *(f"refused by {each}" for each in READ), "us a word")
    checks = [LanguageCheck([each]) for each in READ]
    for name, texts in sets_of(corpora or []):
        refused = (
            " / ".join(str(sum(_refuses(check, case, texts))) for case in CASES)
            for check in checks
        )
        cost = f"{_cost(checks[0], texts):.3f}"
        grid.add_row(name, str(len(texts)), *refused, cost)
    Console().print(grid, "refused: as written / in capitals / in small letters")


def sets_of(corpora: Sequence[Path]) -> Iterator[tuple[str, list[str]]]:
    """Yield the sets of notes by name."""
    for file in sorted(FOREIGN.glob("*.txt")):
        yield file.stem, file.read_text("utf-8").split("\n===\n")
    written = [(WRITTEN / each, "all") for each in ("dev", "train")]
    for path, part in [*written, *((each, "dev") for each in corpora)]:
        documents = read_corpus(path, part=part).documents
        yield f"{path.parent.name}/{path.name}", [each.text for each in documents]


def _refuses(
    check: LanguageCheck, case: Callable[[str], str], texts: Sequence[str]
) -> Iterator[bool]:
    return (check.other(case(each)) is not None for each in texts)


def _cost(check: LanguageCheck, texts: Sequence[str]) -> float:
    """Return the microseconds of processor time a word, of the best of five rounds."""
    times = []
    for _ in range(5):
        start = time.process_time()
        for each in texts:
            check.other(each)
        times.append(time.process_time() - start)
    return min(times) / sum(len(each.split()) for each in texts) * 1e6


if __name__ == "__main__":
    typer.run(main)
