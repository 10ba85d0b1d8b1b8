"""What a preset may say about the detector, and its defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownOptions:
    """Options of the table ``[known]`` in a preset.

    Args:
        threshold: A word is a misspelt name when its edit distance over the shorter
            of the two lengths is below this.  0.33 is what the NUS system publishes
            (section 3.1); 0 finds exact values only.  Words of three letters are always
            exact.
    """

    threshold: float = 0.33

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold <= 0.5:
            raise ValueError("threshold: not in [0, 0.5]")
