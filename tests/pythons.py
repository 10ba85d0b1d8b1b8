"""Run the tests that need no Kafka on every supported interpreter of this machine.

``make pythons``; each interpreter gets a virtual environment below ``.pythons``.
Needs nothing but the standard library.  Exits 1 if any of them fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".pythons"
_VERSION = "import platform; print(platform.python_version(), end='')"


def candidates() -> Iterator[Path]:
    """Yield where interpreters may be: PATH, the system's folders, pyenv, uv."""
    folders = [Path(each) for each in os.get_exec_path()]
    folders += [Path("/usr/bin"), Path("/usr/local/bin")]
    home = Path.home()
    folders += sorted((home / ".pyenv/versions").glob("*/bin"))
    folders += sorted((home / ".local/share/uv/python").glob("*/bin"))
    for folder in folders:
        if folder.name != "shims":  # pyenv's: they choose by settings, not by name
            yield from (folder / f"python{version}" for version in SUPPORTED)


def interpreters() -> dict[str, Path]:
    """Return the interpreter of each full version, the first one found."""
    found: dict[str, Path] = {}
    for path in candidates():
        if path.is_file() and os.access(path, os.X_OK):
            answer = subprocess.run(
                [path, "-c", _VERSION], capture_output=True, text=True, check=False
            )
            if answer.returncode == 0 and answer.stdout.startswith(SUPPORTED):
                found.setdefault(answer.stdout, path)
    return dict(sorted(found.items()))


def main() -> int:
    """Run all of them, and print which passed."""
    found = interpreters()
    missing = [v for v in SUPPORTED if not any(f.startswith(f"{v}.") for f in found)]
    for version in missing:
        print(f"Python {version}: none on this machine, skipped", flush=True)
    rows = []
    for version, path in found.items():
        print(f"== Python {version}: {path}", flush=True)
        make = ["make", f"PYTHON={path}", f"VENV={ENVIRONMENTS / version}"]
        done = subprocess.run([*make, "test"], cwd=ROOT, check=False)
        rows.append((version, done.returncode))
    print()
    for version, status in rows:
        print(f"Python {version:8} {'passed' if status == 0 else 'FAILED'}")
    return int(not rows or any(status for _version, status in rows))


if __name__ == "__main__":
    sys.exit(main())
