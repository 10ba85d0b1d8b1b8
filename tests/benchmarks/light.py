"""What a visitor meets first: install, first commands, demo, tests, README.

    python -m tests.benchmarks.light [--demo] [--test]

Builds the wheel and installs it with plain pip into a new virtual environment, with an
empty HOME, no cache and a bare PATH.  Processor time is that of a command and of all
processes that it started; the first use of anything is measured once, the rest as the
least of three.  --demo and --test take minutes: they clone the last commit, and run
`make demo` from nothing and again, and `make test` once it is installed.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

ROOT = Path(__file__).parents[2]
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NOTE_WORDS = 400
RUNS = 3
LAST_BYTES = 2_000

BUILD = "import phistream; phistream.Deidentifier.from_names()"
MIB, KIB = 1 << 20, 1 << 10


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table.

    Args:
        what: What was measured.
        value: The measurement.
        aim: It should be no more than this.
        unit: Of both.
    """

    what: str
    value: float
    aim: float
    unit: str

    @property
    def is_reached(self) -> bool:
        return self.value <= self.aim


@dataclass(frozen=True, slots=True)
class Used:
    """What a command took, with all processes that it started."""

    cpu: float
    wall: float
    memory: float


class CommandFailed(Exception):
    """A command of a visitor ended with an error."""


class Machine:
    """A fresh one, as far as a process can see: an empty HOME and no caches."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        folder.mkdir()

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": PATH}

    def run(self, *command: str | Path, cwd: Path | None = None) -> Used:
        """Run a command.

        Raises:
            CommandFailed: It did; the message has the end of its output.
        """
        started = time.monotonic()
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                command,
                cwd=cwd or self.home,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
            # Of this child alone, and of those that it has waited for.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                output.seek(0)
                end = output.read()[-LAST_BYTES:].decode(errors="replace")
                raise CommandFailed(f"{end}\n{command}: status {process.returncode}")
        wall = time.monotonic() - started
        cpu = usage.ru_utime + usage.ru_stime
        return Used(cpu, wall, usage.ru_maxrss * KIB / MIB)


def size_of(folder: Path) -> float:
    """Return what a folder takes on disk, in MiB, as du tells it."""
    found = (path.lstat() for path in folder.rglob("*"))
    return sum(each.st_blocks * 512 for each in found) / MIB


def packages_in(python: Path) -> frozenset[str]:
    """Return the names of the installed packages."""
    command = [python, "-m", "pip", "list", "--format=json"]
    listed = subprocess.run(command, capture_output=True, check=True)
    return frozenset(each["name"] for each in orjson.loads(listed.stdout))


def built_wheel(folder: Path) -> Path:
    """Build the wheel of this working tree."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True)
    [wheel] = folder.glob("*.whl")
    return wheel


def installation(folder: Path, show: Callable[[str], None]) -> Iterator[Row]:
    """Install the wheel into ``folder/env``, and keep it as it was before any use."""
    show("building the wheel")
    wheel = built_wheel(folder)
    show("installing it")
    machine, environment = Machine(folder / "installing"), folder / "env"
    machine.run(sys.executable, "-m", "venv", environment)
    python = environment / "bin/python"
    size, packages = size_of(environment), packages_in(python)
    machine.run(python, "-m", "pip", "install", "--quiet", wheel)
    yield Row("pip install: packages", len(packages_in(python) - packages), 25, "")
    yield Row("pip install: on disk", size_of(environment) - size, 110, "MiB")
    shutil.copytree(environment, folder / "unused", symlinks=True)


def first_commands(folder: Path, show: Callable[[str], None]) -> Iterator[Row]:
    """Measure the first commands in the new environment."""
    machine, scripts = Machine(folder / "user"), folder / "env/bin"
    note = machine.home / "note.txt"
    note.write_text(invented_note(), "utf-8")
    scrub = (scripts / "phistream", "scrub", note)
    show("phistream scrub")
    yield Row("first phistream scrub", machine.run(*scrub).cpu, 3, "s CPU")
    yield Row("the same again", least(machine, *scrub), 1.2, "s CPU")
    show("phistream --help")
    shown = least(machine, scripts / "phistream", "--help")
    yield Row("phistream --help", shown, 0.4, "s CPU")
    imported = least(machine, scripts / "python", "-c", "import phistream")
    yield Row("import phistream", imported, 0.25, "s CPU")
    show("Deidentifier.from_names()")
    other = Machine(folder / "other-user")
    used = other.run(folder / "unused/bin/python", "-c", BUILD)
    yield Row("first Deidentifier.from_names()", used.cpu, 2.5, "s CPU")
    yield Row("its peak memory", used.memory, 250, "MiB")


def invented_note() -> str:
    from streams.demo.ward import Ward

    [message] = Ward(seed=7, patients=10, note_words=NOTE_WORDS).notes(1)
    return message.text


def least(machine: Machine, *command: str | Path) -> float:
    """Return the least processor time of some runs."""
    return min(machine.run(*command).cpu for _ in range(RUNS))


def demo(folder: Path, show: Callable[[str], None]) -> Iterator[Row]:
    """Run the demo from an empty clone, and again."""
    machine, clone = Machine(folder / "visitor"), cloned(folder)
    show("make demo from an empty clone")
    first = machine.run("make", "demo", cwd=clone)
    yield Row("make demo, empty clone, HOME and cache", first.wall, 150, "s")
    show("make demo again")
    again = machine.run("make", "demo", cwd=clone)
    yield Row("make demo again", again.wall, 45, "s")


def test(folder: Path, show: Callable[[str], None]) -> Iterator[Row]:
    """Run the tests in a clone that has what they need."""
    machine, clone = Machine(folder / "contributor"), cloned(folder)
    show("installing what tests need")
    machine.run("make", ".venv/.test", cwd=clone)
    show("make test")
    used = machine.run("make", "test", cwd=clone)
    yield Row("make test, when installed", used.wall / 60, 6, "min")


def cloned(folder: Path) -> Path:
    """Return a clone of the last commit, without what is not committed."""
    clone = folder / "clone"
    if not clone.exists():
        command = ["git", "clone", "--quiet", str(ROOT), str(clone)]
        subprocess.run(command, check=True)
    return clone


def readme(_folder: Path, _show: Callable[[str], None]) -> Iterator[Row]:
    words = (ROOT / "README.md").read_text("utf-8").split()
    yield Row("README", len(words), 900, "words")


def table_of(rows: Sequence[Row]) -> Table:
    table = Table(title="Light: what a visitor meets first")
    table.add_column("what")
    table.add_column("measured", justify="right")
    table.add_column("aim", justify="right")
    table.add_column("verdict")
    for row in rows:
        verdict = "reached" if row.is_reached else "[bold red]MISSED[/]"
        measured = "failed" if math.isinf(row.value) else f"{row.value:,.4g}"
        table.add_row(row.what, measured, f"<= {row.aim:g} {row.unit}", verdict)
    return table


PARTS: Mapping[str, Callable[[Path, Callable[[str], None]], Iterator[Row]]] = {
    "installation": installation,
    "first commands": first_commands,
    "demo": demo,
    "test": test,
    "readme": readme,
}


def main(
    demo: Annotated[bool, typer.Option("--demo", help="Run make demo.")] = False,
    test: Annotated[bool, typer.Option("--test", help="Run make test.")] = False,
) -> None:
    """Print each aim, what was measured, and whether it is reached."""
    console = Console(width=100)
    left_out = {name for name, is_on in (("demo", demo), ("test", test)) if not is_on}
    rows: list[Row] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with (
        tempfile.TemporaryDirectory(prefix="phistream-light-") as folder,
        Progress(*columns, console=Console(stderr=True), transient=True) as progress,
    ):
        task = progress.add_task("")

        def show(text: str) -> None:
            progress.update(task, description=text)

        for name, part in PARTS.items():
            if name in left_out:
                continue
            try:
                for row in part(Path(folder), show):
                    rows.append(row)
            except CommandFailed as error:
                console.print(str(error), markup=False, highlight=False)
                rows.append(Row(name, math.inf, 0, ""))
    console.print(table_of(rows))
    for name in sorted(left_out):
        console.print(f"not run: --{name}")
    missed = sum(not row.is_reached for row in rows)
    console.print(f"{len(rows) - missed} of {len(rows)} aims are reached", style="bold")


if __name__ == "__main__":
    typer.run(main)
