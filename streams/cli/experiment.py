"""``phistream experiment``: the laboratory's questions, answered on corpora at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from deid_core.research.scoring.tables import Table

from ..engine.errors import ConfigError, FatalError

if TYPE_CHECKING:
    from deid_core.research.experiments import Experiment
    from deid_core.research.experiments.harness.report import Report

_WIDTH = 140


def experiment(
    names: Annotated[
        list[str] | None, typer.Argument(help="Which; without any, they are listed.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="The folder that holds the corpora; needed to run one."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="A folder for JSON, Markdown and plots.")
    ] = Path("experiments"),
    all_of_them: Annotated[bool, typer.Option("--all", help="Every one.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A part of each corpus: does it all run?")
    ] = False,
    models: Annotated[
        Path | None,
        typer.Option(help="Keep trained systems here, for the next run."),
    ] = None,
    mesh: Annotated[
        Path | None, typer.Option(help="Its vocabulary: TERM<tab>TREE NUMBER a line.")
    ] = None,
    second_annotator: Annotated[
        Path | None,
        typer.Option(help="A brat folder: another person's marks of the same notes."),
    ] = None,
    seed: Annotated[int, typer.Option(help="What all chance hangs on.")] = 1,
) -> None:
    """Train and compare systems; write a page with tables, plots and findings.

    Needs the extra "train".
    """
    known = _known()
    if not names and not all_of_them:
        _list(known)
        return
    chosen = list(known) if all_of_them else list(names or [])
    for name in chosen:
        if name not in known:
            raise ConfigError(
                f"experiment {name!r} is unknown; known: {', '.join(known)}"
            )
    if data is None:
        raise typer.BadParameter(
            "name the folder that holds the corpora: --data FOLDER"
        )
    from deid_core.research.experiments.harness.report import write_index, write_report
    from deid_core.research.experiments.harness.runner import Runner

    from ..demo.gold import ward_corpus

    console = Console(width=_WIDTH)
    with _folder(models) as kept, _progress() as progress:
        runner = Runner(
            data,
            kept,
            quick=quick,
            seed=seed,
            progress=progress,
            mesh=mesh,
            second_annotator=second_annotator,
            ward=partial(ward_corpus, split="test", seed=seed),
        )
        for name in chosen:
            progress(name)
            report = known[name](runner)
            write_report(report, out)
            _print(report, console)
    index = write_index(out, list(known))
    Console(stderr=True).print(f"phistream: {index}", markup=False)


def _known() -> dict[str, Experiment]:
    try:
        from deid_core.research.experiments import EXPERIMENTS
    except ModuleNotFoundError as error:
        raise FatalError(
            f"{error.name} is missing; install: pip install 'phistream[train]'"
        ) from None
    return dict(EXPERIMENTS)


def _list(known: dict[str, Experiment]) -> None:
    grid = Grid("experiment", "what it does")
    for name, run in known.items():
        grid.add_row(name, (run.__doc__ or "").splitlines()[0])
    Console().print(grid)


@contextmanager
def _folder(models: Path | None) -> Iterator[Path]:
    if models is not None:
        models.mkdir(parents=True, exist_ok=True)
        yield models
        return
    with TemporaryDirectory(prefix="phistream-models-") as made:
        yield Path(made)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        bar = shown.add_task("", total=None)
        yield lambda word: shown.update(bar, description=escape(word))


def _print(report: Report, console: Console) -> None:
    from deid_core.research.experiments.harness.report import findings_table

    console.rule(report.experiment)
    for line in (report.question, *report.set_up):
        console.print(line, highlight=False, markup=False)
    tables = [*report.tables]
    if report.findings:
        tables.append(findings_table(report.findings))
    for table in tables:
        console.print(_grid(table))


def _grid(table: Table) -> Grid:
    grid = Grid(title=escape(table.title), title_justify="left")
    for number, column in enumerate(table.columns):
        is_words = number == 0 or table.title == "Findings"
        grid.add_column(escape(column), justify="left" if is_words else "right")
    for row in table.rows:
        grid.add_row(*map(escape, row))
    return grid
