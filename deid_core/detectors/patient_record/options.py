"""Options of the detector that a preset may set, and their defaults."""

from __future__ import annotations

from pydantic import Field

from deid_core.runtime.options import Options


class PatientRecordOptions(Options):
    """Options of the table ``[known]`` in a preset."""

    threshold: float = Field(default=0.33, ge=0.0, le=0.5)
    """A word is a misspelt name when its edit distance over the shorter of the two
    lengths is below this.  0.33 is what the NUS system publishes (section 3.1); 0 finds
    exact values only.  Words of three letters are always exact."""
