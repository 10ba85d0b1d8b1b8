"""Build the documentation as `make docs` does, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.deploy.pages import ROOT, SITE


def build(folder, source=SITE):
    """Build the site into a folder; return the folder.

    mkdocs warns of its own, and hooks import what tests have imported otherwise.
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]
    command += ["--config-file", str(source / "mkdocs.yml"), "--site-dir", str(folder)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "" == done.stdout + done.stderr
    return folder
