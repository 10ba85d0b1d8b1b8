"""The pages of the documentation, and a runner of their blocks of code.

Each block is of a kind that is known, and no kind is left out:

    sh           a script: run by bash, -e and -u set, in the page's folder; exported
                 variables and the working directory hold for the blocks that follow
    python       run in one namespace a page
    text         the output of the block before; ``...`` stands for any text
    toml         settings: phistream itself reads them
    json, yaml   parsed
    console      pip install, which is not run
    drawing      a picture of characters

One with ``title="NAME"``, of any of these kinds, is a file; a later block must name it.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import yaml

from streams.operations.settings import load_settings

ROOT = Path(__file__).parents[2]
SITE = ROOT / "deploy/docs"
PAGES = SITE / "pages"
KINDS = ("sh", "python", "text", "toml", "json", "yaml", "console", "drawing")
SECONDS = 240
"""For a block; an installation starts in one."""

FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
FENCE = re.compile(
    r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```[ ]*$", re.DOTALL | re.MULTILINE
)
INSTALL = re.compile(r"(?:pip install '?phistream(?:\[[a-z,]+\])?'?\n)+")
INFO = re.compile(r'(?P<kind>[a-z]+)(?: title="(?P<title>[\w./-]+)")?')

DRIVER = """
import json, os, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    block = json.loads(line)
    os.environ.clear(); os.environ.update(block["environment"])
    os.chdir(block["folder"])
    saved = os.dup(1)
    out = os.open(block["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1); os.dup2(out, 2); os.close(out)
    failed = False
    try:
        exec(compile(block["code"], block["name"], "exec"), names)
    except BaseException:
        traceback.print_exc()
        failed = True
    sys.stdout.flush(); sys.stderr.flush()
    os.dup2(saved, 1); os.close(saved)
    print(json.dumps({"failed": failed}), flush=True)
"""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    kind: str
    title: str
    text: str

    @property
    def place(self):
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class DocPage:
    """A page of deploy/docs/pages."""

    name: str
    text: str

    @property
    def needs_installation(self):
        """Whether its commands go on from the installation of the tutorial."""
        return bool(self._front.get("installation"))

    def skip_without_its_needs(self):
        """Skip the test if packages or programs are missing that its code needs."""
        for package in self._front.get("packages", []):
            pytest.importorskip(package, reason=f"{self.name} needs {package}")
        for program in self._front.get("programs", []):
            if shutil.which(program) is None:
                pytest.skip(f"{self.name} needs {program}, which is not installed")

    @property
    def _front(self):
        front = FRONT.match(self.text)
        return yaml.safe_load(front[1]) if front else {}

    @property
    def blocks(self):
        found = []
        for match in FENCE.finditer(self.text):
            line = self.text.count("\n", 0, match.start()) + 1
            info = INFO.fullmatch(match["info"])
            assert info, f"{self.name}:{line}: unknown block: ```{match['info']}"
            assert info["kind"] in KINDS, f"{self.name}:{line}: known: {KINDS}"
            title = info["title"] or ""
            found.append(Block(self.name, line, info["kind"], title, match["text"]))
        return found


def doc_pages():
    return [
        DocPage(path.relative_to(PAGES).as_posix(), path.read_text("utf-8"))
        for path in sorted(PAGES.rglob("*.md"))
    ]


def check_form(page):
    """Check what can be seen without running anything."""
    rest = FENCE.sub("", page.text)
    assert "```" not in rest, f"{page.name}: a fence that is indented or not closed"
    assert "~~~" not in rest, f"{page.name}: fences are of backticks"
    before = None
    for index, block in enumerate(page.blocks):
        if block.kind == "console":
            assert INSTALL.fullmatch(block.text), f"{block.place}: only pip install"
        if block.title:
            later = "".join(each.text for each in page.blocks[index + 1 :])
            assert Path(block.title).name in later, f"{block.place}: never used"
        elif block.kind == "text":
            follows = before is not None and before.kind in ("sh", "python")
            assert follows, f"{block.place}: the output of which block?"
            assert not before.title, f"{block.place}: a file has no output"
        before = block


class Sandbox:
    """A folder and an environment in which the blocks of pages are run."""

    def __init__(self, folder, environment=None):
        self.folder = folder
        self._scratch = folder / ".blocks"
        self._scratch.mkdir(parents=True, exist_ok=True)
        self._cwd = folder
        self.environment = environment or self._clean()
        self._python = None
        self._groups = []
        self._count = 0

    def child(self):
        """Return a sandbox that goes on from here; what it sets is its own."""
        other = Sandbox(self.folder, dict(self.environment))
        other._cwd = self._cwd
        other._count = self._count + 1000
        return other

    def run(self, page):
        """Run the blocks of a page one by one."""
        output = None
        for block in page.blocks:
            if block.title:
                file = self._cwd / block.title
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.text, "utf-8")
            elif block.kind in ("console", "drawing"):
                continue
            elif block.kind == "text":
                check_output(block, output)
            elif block.kind == "toml":
                file = self._next(".toml")
                file.write_text(block.text, "utf-8")
                load_settings(file, environment={})
            elif block.kind == "json":
                json.loads(block.text)
            elif block.kind == "yaml":
                yaml.safe_load(block.text)
            else:
                run = {"sh": self._run_sh, "python": self._run_python}[block.kind]
                failed, output = run(block)
                assert not failed, f"{block.place}:\n{block.text}\n---\n{output}"

    def close(self):
        """End what the blocks started and have left running."""
        if self._python is not None:
            self._python.stdin.close()
            self._python.wait(30)
            self._python.stdout.close()
        for group in self._groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)
        members = [p for p in psutil.process_iter() if group_of(p) in self._groups]
        _, alive = psutil.wait_procs(members, 60)
        for process in alive:
            process.kill()

    def _clean(self):
        ours = {k: v for k, v in os.environ.items() if not k.startswith("PHISTREAM_")}
        programs = self._scratch / "bin"
        programs.mkdir(exist_ok=True)
        for name, module in (("phistream", "-m streams.cli"), ("python", "")):
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
            program.chmod(0o755)
        return ours | {
            "PATH": f"{programs}{os.pathsep}{ours['PATH']}",
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "80",
            "TERM": "dumb",
            "NO_COLOR": "1",
        }

    def _next(self, suffix):
        self._count += 1
        return self._scratch / f"{self._count}{suffix}"

    def _run_sh(self, block):
        script, state = self._next(".sh"), self._next(".json")
        keep = "import json, os, sys; json.dump([os.getcwd(), dict(os.environ)], "
        keep += f"open({str(state)!r}, 'w'))"
        script.write_text(
            f'set -euo pipefail\n{block.text}\n{sys.executable} -c "{keep}"\n'
        )
        out = self._next(".out")
        with out.open("wb") as file:
            process = subprocess.Popen(
                ["bash", str(script)],
                cwd=self._cwd,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self._groups.append(process.pid)
        failed = process.wait(SECONDS) != 0
        if not failed:
            cwd, self.environment = json.loads(state.read_text())
            self._cwd = Path(cwd)
        return failed, out.read_text("utf-8", "replace")

    def _run_python(self, block):
        if self._python is None:
            self._python = subprocess.Popen(
                [sys.executable, "-c", DRIVER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self.environment,
                text=True,
            )
        out = self._next(".out")
        order = {
            "code": block.text,
            "name": block.place,
            "out": str(out),
            "folder": str(self._cwd),
            "environment": self.environment,
        }
        self._python.stdin.write(json.dumps(order) + "\n")
        self._python.stdin.flush()
        answer = self._python.stdout.readline()
        failed = not answer or json.loads(answer)["failed"]
        return failed, out.read_text("utf-8", "replace")


def group_of(process):
    try:
        return os.getpgid(process.pid)
    except ProcessLookupError:
        return None


def check_output(block, output):
    """Compare what the page shows with what came out."""
    wanted, got = (
        "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())
        for text in (block.text, output)
    )
    matches = doctest.OutputChecker().check_output(wanted, got, doctest.ELLIPSIS)
    assert matches, f"{block.place}: shown:\n{wanted}\n--- but came:\n{got}"
