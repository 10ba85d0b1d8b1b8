"""Options of the published systems' detectors in presets."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from deid_core.runtime.options import Options


class ClassifierOptions(Options):
    """Options of the table ``[classifier]`` in a preset."""

    recipe: str
    """The recipe that the model must have been trained by."""
    model: str = ""
    """The path of the model's folder; `phistream train` writes it.  Without one, the
    model is trained at the first use on notes that come with the library."""
    training_notes: int = Field(default=200, gt=0)
    """Number of those notes, drawn at random; a recipe can have a lower bound."""
    training_without: tuple[str, ...] = Field(default=(), strict=False)
    """Feature groups that are then left out."""
    training_seconds: int = Field(default=60, gt=0)
    """About how long that takes."""
    threshold: float = Field(default=0.0, ge=0.0, le=1.0)
    """Spans that the model is less sure of are not proposed."""
    outside_bias: float = Field(default=0.0, ge=-10.0, le=10.0)
    """Taken off the score of "no identifier" at each word: more recall, less precision
    (Minkov and others 2006).  MIST writes it with the other sign: its -1 is 1 here."""
    outside_below: float | None = Field(default=None, ge=0.0, le=1.0)
    """A word whose probability to be no identifier is not higher gets its most probable
    other class (Deleger and others 2013, MCRF, .85 to .99)."""
    post_rules: tuple[str, ...] = Field(default=(), strict=False)
    """Rules that add to the model's proposals, in this order."""

    @property
    def first_use_seconds(self) -> int:
        """About how long the training takes, unless a model is named."""
        return 0 if self.model else self.training_seconds


class NusOptions(Options):
    """Options of the table ``[nus]`` in a preset; the defaults are the paper's."""

    names: Literal["edit_distance", "maximum_entropy"] = "edit_distance"
    """How names are found: by the algorithm of section 3.1, or by the classifier of
    section 4, which replaces it."""

    threshold: float = Field(default=0.33, ge=0.0, le=1.0)
    """A word is the patient's name when R is below this (section 3.1).  At 0 nothing
    is, not even the exact name: the paper asks for less, not for less or equal."""

    id_shapes: tuple[str, ...] = Field(
        default=("A0000000A", "A0000000"), strict=False, min_length=1
    )
    """Section 3.2: letters and digits "in a fixed order".  A letter matches any letter,
    a digit any digit, any other character itself."""

    surnames: str = "singapore_surnames"
    """Section 3.4: the list of doctors, in addition to the record's providers; a word
    list of ``lexicons/``."""

    hospitals: str = "singapore_hospitals"
    """Section 3.4: the list of hospitals, in addition to the record's facilities."""

    country: str = "SG"
    """Section 3.4: the country of the geographical locations; its ISO 3166 code."""
