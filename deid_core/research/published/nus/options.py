"""What a preset may say about the detector; the defaults are the paper's."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from deid_core.options import Options


class NusOptions(Options):
    """Options of the table ``[nus]`` in a preset."""

    names: Literal["edit_distance", "maximum_entropy"] = "edit_distance"
    """How names are told: the algorithm of section 3.1, or the classifier of section 4,
    which knows the ratio, the honorific and more, and takes their place."""

    threshold: float = Field(default=0.33, ge=0.0, le=1.0)
    """A word is the patient's name when R is below this (section 3.1).  At 0 nothing
    is, not even the exact name: the paper asks for less, not for less or equal."""

    id_shapes: tuple[str, ...] = Field(
        default=("A0000000A", "A0000000"), strict=False, min_length=1
    )
    """Section 3.2: letters and digits "in a fixed order".  A letter stands for any
    letter, a digit for any digit, all else for itself."""

    surnames: str = "singapore_surnames"
    """Section 3.4: the list of doctors, beside the record's providers; a word list of
    ``lexicons/``."""

    hospitals: str = "singapore_hospitals"
    """Section 3.4: the list of hospitals, beside the record's facilities; likewise."""

    country: str = "SG"
    """Section 3.4: whose towns are the geographical locations; its ISO 3166 code."""
