"""Claims: the state of a partition, kept in the metadata of its committed offset.

Claims are pure values; `custody` reads and writes them.  They tell the next owner, on
any host, whether a record may have ended the process of the previous one:

    released   The previous owner left in order.
    held       The partition has an owner.  A new owner that reads this follows one that
               died or was cut off, perhaps because of a record of its last batch: as
               many records as a batch holds are suspects.
    suspects   Each is processed alone, in a transaction of its own (quarantine).
    in hand    The suspect being processed; committed before its processing starts.
    deaths     Number of owners that died with this record in hand.  After the second
               one the record becomes a dead letter (`poison`) without being processed.
    again      Records below this offset may have been processed before, and are read
               again: set by `service.lost_offsets`, or where a person has set offsets.
    of         The topics that the offset counts in: one that was deleted and made anew
               has other records at the same offsets (`service.lost_offsets`).
    by         The owner's process (`Life`).  One that lost the partition and has it
               again did not die; nor did a record end one that hung in the client,
               or that gave up: neither casts suspicion.

A record that always ends its worker therefore costs three workers: one with a batch,
two with the record in hand.  A worker killed for another reason costs some records
processed one by one.  A worker that gives up because its batches fail, e.g. while a
partition has no leader, leaves in order, unless the broker refuses an output.  An
innocent record becomes poison only if, after a first death, two workers are killed
while that same record is in hand.  In quarantine every record is
in hand while it is processed: a death without one was caused by another partition, and
changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

DEATHS_OF_POISON = 2

_FORM = re.compile(
    r"phistream/1 (held|released)"
    r"(?: suspects=([0-9]{1,9}))?"
    r"(?: (record|in-hand)=([0-9]{1,18}) deaths=([0-9]{1,9}))?"
    r"(?: again=([0-9]{1,18}))?(?: of=([0-9A-Za-z_.+/-]{1,99}))?"
    r"(?: by=([0-9a-z-]{1,40}))?"
    # What a later version adds at the end is left out: the rest holds.
    r"(?: (?!suspects|record|in-hand|deaths|again|of|by)[a-z-]{1,20}=[!-~]{1,99}){0,9}"
)


@dataclass(frozen=True, slots=True)
class Life:
    """One process of a slot.

    Args:
        name: Unique among all processes of all workers.
        excused: Names of processes of this slot that no record has ended: this one,
            and perhaps the one before it.
    """

    name: str = ""
    excused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Claim:
    """The state of one partition.

    Args:
        is_held: Whether it has an owner.
        suspects: Number of records from the committed offset on to process alone.
        record: The offset of the suspect that was last in hand; -1 for none.
        is_in_hand: Whether that suspect is in hand now.
        deaths: Number of owners that died with that suspect in hand.
        again: Records below this offset may have been processed before.
        of: Ids of the topics; empty if they are not known.
        by: Name of the owner's process; empty if it is not known.
    """

    is_held: bool = False
    suspects: int = 0
    record: int = -1
    is_in_hand: bool = False
    deaths: int = 0
    again: int = 0
    of: str = ""
    by: str = ""

    @classmethod
    def read(cls, metadata: str | None) -> Claim:
        """Return the claim in the metadata; of foreign metadata, that of no owner."""
        form = _FORM.fullmatch(metadata or "")
        if form is None:
            return cls()
        held, suspects, hand, record, deaths, again, of, by = form.groups()
        return cls(
            is_held=held == "held",
            suspects=int(suspects or 0),
            record=-1 if record is None else int(record),
            is_in_hand=hand == "in-hand",
            deaths=int(deaths or 0),
            again=int(again or 0),
            of=of or "",
            by=by or "",
        )

    def __str__(self) -> str:
        """Return the claim as metadata, which `read` parses."""
        parts = ["phistream/1 held" if self.is_held else "phistream/1 released"]
        if self.suspects:
            parts.append(f"suspects={self.suspects}")
        if self.record >= 0:
            hand = "in-hand" if self.is_in_hand else "record"
            parts.append(f"{hand}={self.record} deaths={self.deaths}")
        if self.again:
            parts.append(f"again={self.again}")
        if self.of:
            parts.append(f"of={self.of}")
        if self.by:
            parts.append(f"by={self.by}")
        return " ".join(parts)

    @property
    def is_quarantine(self) -> bool:
        """True if the next record must be processed alone."""
        return self.suspects > 0

    def is_poison(self, offset: int) -> bool:
        """Return whether the record at the offset must not be processed any more."""
        return offset == self.record and self.deaths >= DEATHS_OF_POISON

    def is_suspicious(self, excused: Collection[str] = ()) -> bool:
        """Return whether a record may have ended the owner.

        Args:
            excused: Names of processes that no record has ended.
        """
        return self.is_held and not (self.by and self.by in excused)

    def taken_over(self, batch: int, excused: Collection[str] = ()) -> Claim:
        """Return the claim of the next owner.

        Args:
            batch: Maximum number of records in a batch of the previous owner.
            excused: Names of processes that no record has ended.
        """
        if not self.is_suspicious(excused):
            return replace(self.put_down(), is_held=True)
        if self.is_in_hand:
            return replace(self, is_in_hand=False, deaths=self.deaths + 1)
        if self.is_quarantine:
            return self
        return replace(self._without_suspect(), suspects=batch)

    def suspecting(self, records: int) -> Claim:
        """Return the claim with at least so many suspects."""
        return replace(self, suspects=max(self.suspects, records))

    def taking(self, offset: int) -> Claim:
        """Return the claim with the record at the offset in hand."""
        deaths = self.deaths if offset == self.record else 0
        return replace(self, record=offset, is_in_hand=True, deaths=deaths)

    def put_down(self) -> Claim:
        """Return the claim with no record in hand; the deaths are kept."""
        return replace(self, is_in_hand=False)

    def passed(self) -> Claim:
        """Return the claim after the suspect in hand is processed or refused."""
        suspects = max(0, self.suspects - 1)
        return replace(self._without_suspect(), suspects=suspects)

    def read_up_to(self, offset: int) -> Claim:
        """Return the claim after the records below an offset were processed."""
        return replace(self, again=0) if 0 < self.again <= offset else self

    def released(self) -> Claim:
        """Return the claim after its owner left in order; suspects stay suspects.

        It names nobody any more.
        """
        return replace(self.put_down(), is_held=False, by="")

    def _without_suspect(self) -> Claim:
        return replace(self, record=-1, is_in_hand=False, deaths=0)
