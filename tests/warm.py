"""What the fork server of `tests.commands` does before the first command comes."""

import gc
import importlib
import pkgutil
from contextlib import suppress

import streams.cli
from deid_core import Deidentifier, Document
from streams.service import worker  # noqa: F401  # what `phistream run` starts

for command in pkgutil.iter_modules(streams.cli.__path__, "streams.cli."):
    if command.name != "streams.cli.__main__":
        with suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(command.name)
# The first note loads the compiled kernels.
Deidentifier.from_names().deidentify(Document("1", "Seen by Dr. Adler on 1/5/2025."))
# What is never collected is never copied by a fork.
gc.freeze()
