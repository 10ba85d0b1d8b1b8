"""The documents: their form, and that what they name exists."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import typer.main

from streams.cli.app import app

ROOT = Path(__file__).parents[2]
TOP = "deid_core|streams|schemas|deploy|tests"
DECISIONS = sorted((ROOT / "deploy/decisions").glob("*.md"))
HAND_MADE = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *DECISIONS,
]
DOCUMENTS = sorted(
    document
    for document in chain(
        ROOT.glob("*.md"), *((ROOT / top).rglob("*.md") for top in TOP.split("|"))
    )
    if not document.is_symlink()
)
NAMED = [pytest.param(each, id=str(each.relative_to(ROOT))) for each in DOCUMENTS]


@pytest.mark.parametrize("document", NAMED)
def test_links_lead_to_files_that_exist(document):
    text = document.read_text("utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", text)

    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", NAMED)
def test_paths_modules_and_commands_that_are_named_exist(document):
    text = document.read_text("utf-8")
    paths = re.findall(rf"`((?:{TOP})/[\w./-]+)", text)
    modules = re.findall(rf"python -m ((?:{TOP})[\w.]*\w)", text)
    targets = re.findall(r"`make ([a-z-]+)`", text)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    code = re.findall(r"^```sh\n(.*?)^```|`([^`\n]+)`", text, re.DOTALL | re.MULTILINE)
    lines = "\n".join(block or inline for block, inline in code)
    commands = {*re.findall(r"(?:^|&& )phistream ([a-z][a-z-]+)", lines, re.MULTILINE)}

    assert [each for each in paths if not (ROOT / each).exists()] == []
    assert [each for each in modules if not _is_module(each)] == []
    assert [each for each in targets if f"\n{each}:" not in makefile] == []
    assert commands <= {*typer.main.get_command(app).commands}


def test_lines_fit_a_screen():
    long = [
        f"{document.relative_to(ROOT)}:{number}"
        for document in HAND_MADE
        for number, line in enumerate(document.read_text("utf-8").split("\n"), start=1)
        if len(line) > 120
    ]
    assert long == []


@pytest.mark.parametrize(
    ("document", "most"), [("README.md", 900), ("CHANGELOG.md", 600)]
)
def test_a_document_that_visitors_read_first_is_one_page(document, most):
    assert len((ROOT / document).read_text("utf-8").split()) <= most


def test_extras_are_declared_and_the_guide_names_all_of_them():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {*project["optional-dependencies"]}
    named = re.findall(
        r"phistream\[([a-z,]+)\]", "\n".join(each.read_text() for each in DOCUMENTS)
    )
    guide = (ROOT / "deploy/docs/pages/how-to/install.md").read_text("utf-8")
    table = "".join(re.findall(r"^\| `[a-z]+` \|.*$", guide, re.MULTILINE))

    assert {*",".join(named).split(",")} <= declared
    assert declared == declared & {*re.findall(r"`([a-z]+)`", table)}


def test_pictures_are_small():
    pictures = [*(ROOT / "deploy/docs/pages/pictures").iterdir()]

    assert {each.suffix for each in pictures} == {".png"}
    assert all(each.stat().st_size <= 300_000 for each in pictures)


def test_decisions_are_numbered_without_gaps_and_listed_by_their_number():
    names = [each.name for each in DECISIONS]
    assert [f"{n:04}" for n in range(1, len(names) + 1)] == [name[:4] for name in names]

    for number, document in enumerate(DECISIONS, start=1):
        assert document.read_text("utf-8").startswith(f"# {number}. ")


@pytest.mark.parametrize("document", DECISIONS, ids=lambda each: each.stem)
def test_a_decision_is_one_page_in_four_parts(document):
    text = document.read_text("utf-8")
    parts = re.findall(
        r"^(?:\*\*)?(Status|Context|Decision|Consequences)[:.]", text, re.M
    )

    assert parts == ["Status", "Context", "Decision", "Consequences"]
    assert len(text.splitlines()) <= 60


def test_references_to_decisions_are_to_those_that_exist():
    sources = chain(*((ROOT / top).rglob("*.py") for top in TOP.split("|")))
    for path in (*sources, *DOCUMENTS, *(ROOT / "deid_core/presets").glob("*.toml")):
        text = path.read_text("utf-8")
        for number in re.findall(r"\b[Dd]ecisions? (\d+)", text):
            assert 1 <= int(number) <= len(DECISIONS), path


def _is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").exists()
