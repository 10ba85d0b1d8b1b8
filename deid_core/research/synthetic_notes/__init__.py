"""Unmarked notes in, marked notes out: identifiers that nobody bears, put into them.

A carrier is a note, or a section of one, without marks.  Its own identifiers are marked
by a system of this library; "the patient", "her husband", "Dr. X" and dates give way to
drawn identifiers that agree within a note; headers, contacts, signatures and sentences
about instruments named after people stand around it.

A note that is marked whole needs no slots: it is recast, told of other people.

Names, towns, templates and carriers belong to one of two halves, told apart by a hash:
what the stress half draws, the training half never does.
"""

from .generate import generate
from .resynthesis import recast
from .sources import Carrier, marked, read_carriers, without_shared
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
