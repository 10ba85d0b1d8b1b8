"""Synthetic notes: invented identifiers put into unmarked notes, and marked there.

A carrier is a note, or a section of one, without marks.  A system of this library marks
its own identifiers.  "The patient", "her husband", "Dr. X" and dates are replaced by
drawn identifiers that agree within a note.  Templates add headers, contacts, signatures
and sentences about instruments named after people.

A note that is marked completely needs no slots: it is resynthesised with other names.

Names, towns, templates and carriers belong to one of two halves by a hash: what stress
tests draw is never drawn for training.
"""

from .carriers import Carrier, marked, read_carriers, without_shared
from .generate import generate
from .resynthesis import recast
from .splits import Half, half_of

__all__ = [
    "Carrier",
    "Half",
    "generate",
    "half_of",
    "marked",
    "read_carriers",
    "recast",
    "without_shared",
]
