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

    doubtful: bool = False
    """Also propose, with a score of 0.3 and a rule that ends in `_doubtful`, what the
    guards reject: ordinary words, eponyms and initials that may be names of the record,
    and single words of its places.  Most of them are no identifiers: only for a preset
    or program whose next step decides about them."""
