"""Build the documentation as `make docs` does, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.deploy.pages import ROOT, SITE


def build(folder, configuration=SITE / "mkdocs.yml"):
    """Build the site into a folder; return the folder.

    mkdocs warns of its own, and hooks import what tests have imported otherwise.  With
    ``--quiet`` it would not count the warnings that ``--strict`` refuses.
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    command += ["--config-file", str(configuration), "--site-dir", str(folder)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=200
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "WARNING" not in output
    return folder
