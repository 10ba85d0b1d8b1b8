"""The fuzzer's checks, with inputs that atheris finds by coverage; optional.

    pip install "atheris>=3,<4"
    python -m tests.benchmarks.fuzz_coverage --format hl7 [--runs N]

Version 3.0.0 of atheris has wheels for Linux and Python 3.11.  It is no dependency: it
is large, and `tests.benchmarks.fuzz` needs none.  A fault ends the run; libFuzzer
writes the input to a file `crash-*`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated

import typer

PACKAGES = [f"streams.formats.{each}" for each in ("hl7", "fhir", "ccda", "documents")]


class FaultFound(Exception):
    """An input has a fault."""


def main(
    format_: Annotated[str, typer.Option("--format", help="Of the samples.")] = "hl7",
    runs: Annotated[int, typer.Option(help="How many; -1 has no end.")] = 10_000,
    seed: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    """Check inputs until one has a fault."""
    atheris = import_module("atheris")
    # What is instrumented must not have been imported before.
    with atheris.instrument_imports(include=PACKAGES):
        fuzz = import_module("tests.benchmarks.fuzz")
    inputs = import_module("tests.benchmarks.fuzz_inputs")

    def check(data: bytes) -> None:
        tally = fuzz.Tally()
        # Not index 0: the real scrubber takes too long.
        fuzz.check(inputs.Input(format_, 1, data, ("Qzmarker",)), tally)
        if tally.faults:
            raise FaultFound(tally.faults)

    def mutate(data: bytes, size: int, mutation: int) -> bytes:
        # Most of what libFuzzer makes of a sample is refused at once.
        made: bytes = data
        if mutation % 2:
            made = inputs.input_of(mutation, 1, format_).value
        mutated: bytes = atheris.Mutate(made[:size], size)
        return mutated

    options = [f"-runs={runs}", f"-seed={seed}", "-max_len=20000"]
    atheris.Setup([sys.argv[0], *options], check, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    typer.run(main)
