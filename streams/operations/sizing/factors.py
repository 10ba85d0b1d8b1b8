"""The measured factors: each with its unit and the benchmark that measured it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

FILE = "factors.toml"


@dataclass(frozen=True, slots=True)
class Factor:
    """One measured factor.

    Args:
        value: As it was printed.
        unit: Of the value, and of what.
        command: The benchmark that printed it.
    """

    value: float
    unit: str
    command: str


@cache
def measured() -> Mapping[str, Factor]:
    """Return the factors of this version, by name."""
    text = resources.files(__package__).joinpath(FILE).read_text("utf-8")
    return {name: Factor(**row) for name, row in tomllib.loads(text).items()}


class Factors:
    """Factors by what they are of.

    Args:
        rows: By name.
    """

    def __init__(self, rows: Mapping[str, Factor]) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> float:
        return self._rows[name].value

    def of_note(self, name: str, characters: float) -> float:
        """Return what a note of this length takes; never less than nothing.

        A slope below 0 is noise, e.g. a broker that became warm: it does not count, and
        the result is an upper bound.
        """
        more = max(0.0, self[f"{name}_per_1000"]) * characters / 1000
        return max(0.0, self[name] + more)
