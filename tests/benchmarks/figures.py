"""Write deploy/figures.md from figures.toml; measure one of its rows again.

    python -m tests.benchmarks.figures
    python -m tests.benchmarks.figures run batch

`run` shows what the row's command prints.  Where the row has a pattern, the figure is
entered in figures.toml with today's date and the revision; the page is written anew.
"""

from __future__ import annotations

import datetime
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).with_name("figures.toml")
PAGE = ROOT / "deploy/figures.md"
TITLE = "# Figures"

app = typer.Typer(add_completion=False)


class Row(BaseModel, extra="forbid", frozen=True):
    """A figure, or the figures of several systems.

    Args:
        section: The key of its section.
        what: What was measured.
        figure: As the command printed it; one for each column of the section.
        command: What was run.
        date: When the figure was entered.
        revision: Of the code that was measured.
        pattern: What finds the figure in the command's output; "" if nothing does.
        template: The figure, with the pattern's groups as {0}, {1}.
    """

    section: str
    what: str
    figure: str | tuple[str, ...]
    command: str
    date: datetime.date
    revision: str
    pattern: str = ""
    template: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """The figure of each column."""
        return (self.figure,) if isinstance(self.figure, str) else self.figure

    def figure_in(self, output: str) -> str | None:
        """Return the figure in the command's output, if it is there."""
        match = re.search(self.pattern, output, re.DOTALL) if self.pattern else None
        return match and self.template.format(*match.groups())


class Section(BaseModel, extra="forbid", frozen=True):
    """A table of the page, and the text before and after it."""

    title: str
    columns: tuple[str, ...] = ("figure",)
    text: str = ""
    notes: str = ""


class Figures(BaseModel, extra="forbid", frozen=True):
    """All sections and rows, in the order of the file."""

    introduction: str
    sections: dict[str, Section]
    rows: dict[str, Row]

    def rows_of(self, section: str) -> list[Row]:
        """Return the rows of a section."""
        return [each for each in self.rows.values() if each.section == section]


def figures() -> Figures:
    """Return the figures of figures.toml."""
    return Figures.model_validate(tomllib.loads(DATA.read_text("utf-8")))


def page(all_: Figures) -> str:
    """Return deploy/figures.md."""
    parts = [TITLE, all_.introduction.strip()]
    for key, section in all_.sections.items():
        rows = all_.rows_of(key)
        lines = (
            _line("", *section.columns, "command", "entered"),
            _line(*["---"] * (len(section.columns) + 3)),
            *(
                _line(r.what, *r.cells, f"`{r.command}`", f"{r.date}, {r.revision}")
                for r in rows
            ),
        )
        table = "\n".join(lines)
        texts = (section.text.strip(), table, section.notes.strip())
        parts += [f"## {section.title}", *filter(None, texts)]
    return "\n\n".join(parts) + "\n"


def table_for_readme(all_: Figures, section: str = "against") -> str:
    """Return a section's table without commands, as the README has it."""
    columns = all_.sections[section].columns
    head = (_line("", *columns), _line(*["---"] * (len(columns) + 1)))
    rows = (_line(each.what, *each.cells) for each in all_.rows_of(section))
    return "".join(f"{line}\n" for line in (*head, *rows))


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def entered(text: str, name: str, row: Mapping[str, str]) -> str:
    """Return figures.toml with other values of a row."""
    head = f"[rows.{name}]\n"
    before, _, rest = text.partition(head)
    body, blank, after = rest.partition("\n\n")
    for key, value in row.items():
        lines = body.split("\n")
        keys = [line.partition(" = ")[0] for line in lines]
        lines[keys.index(key)] = f"{key} = {value}"
        body = "\n".join(lines)
    return before + head + body + blank + after


@app.callback(invoke_without_command=True)
def main(context: typer.Context) -> None:
    """Write deploy/figures.md."""
    if context.invoked_subcommand is None:
        PAGE.write_text(page(figures()), "utf-8")


@app.command()
def run(name: Annotated[str, typer.Argument(help="A row of figures.toml.")]) -> None:
    """Run the command of a row; enter its figure if a pattern finds it."""
    rows = figures().rows
    if name not in rows:
        raise typer.BadParameter(f"no row {name}; known: {', '.join(rows)}")
    row = rows[name]
    output = "".join(_lines_of(shlex.split(row.command)))
    figure = row.figure_in(output)
    if figure is None:
        print(f"enter the figure of {name} by hand in {DATA.relative_to(ROOT)}")
        raise typer.Exit(1 if row.pattern else 0)
    values = {
        "figure": f'"{figure}"',
        "date": f"{datetime.date.today()}",
        "revision": f'"{_revision()}"',
    }
    DATA.write_text(entered(DATA.read_text("utf-8"), name, values), "utf-8")
    PAGE.write_text(page(figures()), "utf-8")
    print(f"{name}: {', '.join(row.cells)} -> {figure}")


def _lines_of(command: Sequence[str]) -> Iterator[str]:
    """Yield the lines that a command prints, and show them."""
    # The interpreter and the scripts of this environment come first.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            yield line
    if process.returncode:
        raise typer.Exit(process.returncode)


def _revision() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    app()
