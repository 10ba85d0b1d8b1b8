"""The lazy command line: its table of commands, and the modules that are loaded."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.main import get_command

import streams.cli
from streams.cli.app import app
from streams.cli.commands import COMMANDS
from streams.products import NAMES

FOLDER = Path(streams.cli.__file__).parent
CORE = {"annotated_doc", "rich", "typer", "shellingham", "markdown_it", "mdurl"}
CORE |= {"pygments", "attr", "click", "colorama"}
"""What typer loads to print a help."""


def loaded(name):
    """Return a command, imported."""
    root = get_command(app)
    return root.commands[name].make_context(name, [], resilient_parsing=True).command


@pytest.mark.parametrize("name", COMMANDS)
def test_a_line_of_the_help_is_the_first_paragraph_of_the_command_s_own(name):
    command = loaded(name)

    assert name == command.name
    paragraph = inspect.cleandoc(command.short_help or command.help).split("\n\n")[0]
    assert COMMANDS[name].summary == paragraph


def test_every_module_of_a_command_is_in_the_table():
    described = {}
    for path in FOLDER.parent.rglob("*.py"):
        doc = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        if path.name == "__init__.py" or not doc.startswith("`phistream "):
            continue
        module = path.relative_to(FOLDER.parent).with_suffix("")
        described[".".join(module.parts)] = doc.split()[1].rstrip("`:,")
    modules = {entry.place.partition(":")[0]: name for name, entry in COMMANDS.items()}

    assert modules.items() <= described.items()
    # The others are parts of commands: scrub --explain, train of a published system.
    others = {stem: name for stem, name in described.items() if stem not in modules}
    assert {*others.values()} <= {*COMMANDS}


def test_the_help_lists_all_commands_in_the_order_of_the_table():
    root = get_command(app)

    assert root.list_commands(typer.Context(root)) == [*COMMANDS]


def modules_after(program, *arguments):
    """Return the modules that a fresh interpreter has loaded in the end."""
    script = (
        "import sys, atexit\n"
        "before = {*sys.modules}\n"
        "atexit.register(lambda: print(*({*sys.modules} - before), file=sys.stderr))\n"
        f"{program}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        cwd=FOLDER.parents[1],
    )
    names = set(done.stderr.splitlines()[-1].split())
    return names, done.stdout


def packages_of(names):
    """Return the third-party packages among modules."""
    ours = {"deid_core", "phistream", "schemas", "streams"}
    tops = {name.partition(".")[0] for name in names}
    return {
        top for top in tops - ours - sys.stdlib_module_names if not top.startswith("_")
    }


MAIN = "from streams.cli import main; main()"


def test_the_help_loads_no_command_and_not_the_library():
    names, out = modules_after(MAIN, "--help")

    assert all(name in out for name in COMMANDS)
    assert packages_of(names) <= CORE
    own = {name for name in names if name.startswith(("deid_core", "streams"))}
    assert own == {
        *("deid_core", "deid_core.errors", "streams", "streams.cli"),
        *("streams.cli.app", "streams.cli.commands", "streams.engine"),
        *("streams.engine.errors", "streams.engine.exit_status"),
        *("streams.engine.extras", "streams.engine.reasons", "streams.products"),
        *(f"streams.products.{name}" for name in NAMES),
    }
    assert len(names) < 400


def test_the_package_loads_nothing_until_a_name_is_used():
    names, _ = modules_after("import phistream")

    assert packages_of(names) == set()
    assert len(names) < 50


def test_the_settings_load_neither_the_library_nor_clients():
    names, _ = modules_after("import streams.operations.settings")

    assert packages_of(names) <= {
        *("annotated_types", "orjson", "pydantic", "pydantic_core"),
        *("typing_extensions", "typing_inspection"),
    }
    own = {name for name in names if name.startswith("deid_core.")}
    assert own == {
        *("deid_core.errors", "deid_core.labels", "deid_core.term_files"),
        *("deid_core.runtime", "deid_core.runtime.options"),
    }
    assert len(names) < 350


def test_scrub_of_a_text_loads_nothing_of_the_service_and_of_other_formats(tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("Ms. Quellwright was seen on 3/14/2024.\n")

    names, out = modules_after(MAIN, "scrub", "--preset", "lexical", note)

    assert out == "Ms. [NAME:PATIENT] was seen on [DATE].\n"
    assert {
        *("aiohttp", "aiokafka", "confluent_kafka", "cryptography", "fastapi", "faust"),
        *("hl7", "lxml", "prometheus_client", "pypdf", "rich", "rocksdict"),
    }.isdisjoint(packages_of(names))
    assert {
        *("streams.engine.settings", "streams.kafka", "streams.pipeline.scrub"),
        *(f"streams.formats.{each}" for each in ("ccda", "fhir", "hl7", "json_map")),
    }.isdisjoint(names)
