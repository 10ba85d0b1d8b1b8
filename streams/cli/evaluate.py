"""``phistream evaluate``: how well a preset finds what a gold corpus marks."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table as RichTable

from deid_core import Deidentifier
from deid_core.research.corpora.conventions import Rows
from deid_core.research.corpora.corpus import Corpus, Prediction, in_case
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.corpora.writers import write_brat
from deid_core.research.scoring.errors import ErrorInContext, errors_in_context
from deid_core.research.scoring.evaluation import Evaluation, compare
from deid_core.research.scoring.evaluation import evaluate as score
from deid_core.research.scoring.predict import predict
from deid_core.research.scoring.tables import Table, as_json, markdown, tables_of

from ..engine.errors import OutputError
from ..files.sources import require_present

_WIDTH = 120


class Format(StrEnum):
    """What the corpora are."""

    AUTO = "auto"
    SPANS = "spans"
    ASQ = "asq"
    BRAT = "brat"
    I2B2_2006 = "i2b2-2006"
    I2B2_2014 = "i2b2-2014"
    PHYSIONET = "physionet"
    CONLL = "conll"


class Part(StrEnum):
    """Which part of each corpus."""

    DEV = "dev"
    TEST = "test"
    ALL = "all"


class Case(StrEnum):
    """In which letter case the texts are scored."""

    AS_IS = "as-is"
    UPPER = "upper"
    LOWER = "lower"


def evaluate(
    corpus: Annotated[
        list[Path],
        typer.Option("--corpus", help="A file or folder; see --format."),
    ],
    preset: Annotated[str, typer.Option(help="Detection: a name or file.")] = "hybrid",
    against: Annotated[
        str | None, typer.Option(help="Another preset: is the difference chance?")
    ] = None,
    format: Annotated[
        Format, typer.Option("--format", help="auto goes by the content.")
    ] = Format.AUTO,
    tags_of: Annotated[
        str | None, typer.Option(help="Whose tags these are; else by the path.")
    ] = None,
    part: Annotated[Part, typer.Option(help="Which part of each corpus.")] = Part.ALL,
    rows: Annotated[
        str | None, typer.Option(help="FIRST-LAST, from 1, instead of a part.")
    ] = None,
    case: Annotated[
        Case, typer.Option(help="Score the same notes in another letter case.")
    ] = Case.AS_IS,
    errors: Annotated[
        int, typer.Option(min=0, help="Print so many errors: text of the corpus!")
    ] = 0,
    json: Annotated[Path | None, typer.Option(help="Write every figure here.")] = None,
    markdown_file: Annotated[
        Path | None, typer.Option("--markdown", help="Write the tables here.")
    ] = None,
    brat_folder: Annotated[
        Path | None,
        typer.Option("--write-brat", help="Write the predictions here: text, too."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of intervals and shuffles.")] = 0,
) -> None:
    """Score a preset on gold corpora: coverage, spans, tokens, label by label.

    The system sees the text alone: corpora hold no records of patients.
    """
    if brat_folder is not None and len(corpus) > 1:
        raise typer.BadParameter("--write-brat takes one --corpus")
    require_present(corpus)
    chosen = None if rows is None else Rows.parse(rows)
    systems = [_System.of(name) for name in (preset, against) if name is not None]
    done = []
    for path in corpus:
        gold = read_corpus(
            path, format=format, conventions=tags_of, part=part, rows=chosen
        )
        if errors and gold.is_held_out:
            raise typer.BadParameter(f"--errors: rows of {path} are held out")
        gold = in_case(gold, case)
        said = [_predict(system, gold) for system in systems]
        result = _score(systems, gold, said, case, seed)
        _show(result)
        _show_errors(gold, said[0], errors)
        if brat_folder is not None:
            write_brat(gold, said[0], brat_folder)
        done.append(result)
    _write(json, orjson.dumps([*map(as_json, done)], option=orjson.OPT_INDENT_2))
    pages = [table for each in done for table in tables_of(each)]
    _write(markdown_file, markdown(pages).encode())


@dataclass(frozen=True, slots=True)
class _System:
    name: str
    deidentifier: Deidentifier

    @classmethod
    def of(cls, preset: str) -> _System:
        return cls(preset, Deidentifier.from_names(preset=preset))


def _predict(system: _System, gold: Corpus) -> list[Prediction]:
    predictions = predict(system.deidentifier, gold.documents)
    console = Console(stderr=True)
    return list(
        track(
            predictions,
            description=f"{system.name} on {gold.name}",
            total=len(gold.documents),
            console=console,
            transient=True,
            # Without a terminal there is nobody to show progress to.
            disable=not console.is_terminal,
        )
    )


def _score(
    systems: Sequence[_System],
    gold: Corpus,
    said: Sequence[Sequence[Prediction]],
    case: str,
    seed: int,
) -> Evaluation:
    results = [
        score(gold, each, system=system.name, case=case, seed=seed)
        for system, each in zip(systems, said, strict=True)
    ]
    first = results[0]
    for other in results[1:]:
        differences = compare(first, other, seed=seed)
        first = replace(first, against=(other.system, differences))
    return first


def _show(result: Evaluation) -> None:
    console = _console()
    for table in tables_of(result):
        console.print(f"\n{table.title}", style="bold", highlight=False, soft_wrap=True)
        console.print(_rich(table))
    _note(console, "no counterpart, not scored", result.unscored)
    _note(console, "refused", result.refused)


def _note(console: Console, what: str, counted: Mapping[str, int]) -> None:
    if counted:
        words = ", ".join(f"{each} {n}" for each, n in counted.items())
        console.print(f"{what}: {words}", highlight=False, markup=False)


def _console() -> Console:
    console = Console()
    # A file or a pipe has no width to keep to.
    return console if console.is_terminal else Console(width=_WIDTH)


def _rich(table: Table) -> RichTable:
    first, *others = table.columns
    shown = RichTable()
    shown.add_column(first, no_wrap=True)
    for name in others:
        shown.add_column(name, justify="right")
    for row in table.rows:
        shown.add_row(*map(escape, row))
    return shown


def _show_errors(gold: Corpus, said: Sequence[Prediction], limit: int) -> None:
    for slip in islice(errors_in_context(gold, said), limit):
        sys.stdout.write(f"{_line(slip)}\n")


def _line(slip: ErrorInContext) -> str:
    marked = f"{slip.before}«{slip.inner}»{slip.after}"
    return f"{slip.kind:6} {slip.tag:12} {slip.place}: {' '.join(marked.split())}"


def _write(path: Path | None, content: bytes) -> None:
    if path is None:
        return
    try:
        path.write_bytes(content)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}; check the path") from None
