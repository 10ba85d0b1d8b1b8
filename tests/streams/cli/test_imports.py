"""What a worker process imports: no command, and none of the research."""

import subprocess
import sys

PROGRAM = """
import sys
from streams.cli import main
from streams.service import worker
from deid_core import Deidentifier, Document

Deidentifier.from_names("hybrid").deidentify(Document("d", "Mr. Roe saw Dr. Poe."))
print(*sys.modules)
"""
NEVER = ("deid_core.research", "faker", "sklearn", "streams.cli.app", "typer", "rich")
# Presets of a plug-in are files of this package, which holds no code.
PRESETS = "deid_core.research.published.presets"


def test_a_worker_imports_no_command_no_research_and_no_package_of_lists():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()

    assert "streams.service.worker" in loaded
    found = {each for each in loaded if each.startswith((*NEVER, "wordfreq"))}
    assert {each for each in found if not PRESETS.startswith(each)} == set()
