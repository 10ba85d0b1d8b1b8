"""What the owner of a partition says of it in the metadata of its committed offset.

Pure values; who reads and writes them is `custody`.  They answer one question for the
next owner, on whatever host: may a record have ended the process that was here before?

    released   The last owner left in order.
    held       Somebody owns the partition.  A new owner who reads this follows one that
               has died (or was cut off), perhaps by a record of its last batch: as many
               records as a batch holds are suspects.
    suspects   Each is processed alone, in a transaction of its own: quarantine.
    in hand    Said, in a transaction, before a suspect is processed.
    deaths     How many owners have died with this very record in hand.  After the
               second of them the record is a dead letter (`poison`), unprocessed.

So a record that ends its worker each time costs three workers: one with a batch, two
with it in hand.  A worker killed for another reason costs a stretch of single records;
only one that is killed twice over with the very same record in hand, after a first
death, would make an innocent record poison.  While a partition is in quarantine,
nothing of it is processed without being in hand first: a death without one is the doing
of another partition, and changes nothing here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

DEATHS_OF_POISON = 2

_FORM = re.compile(
    r"phistream/1 (held|released)"
    r"(?: suspects=([0-9]{1,9}))?"
    r"(?: (record|in-hand)=([0-9]{1,18}) deaths=([0-9]{1,9}))?"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """The state of one partition.

    Args:
        is_held: Somebody owns it.
        suspects: Records from the committed offset on that are to be processed alone.
        record: The offset of the suspect that was last in hand; -1 for none.
        is_in_hand: It is in hand now.
        deaths: Owners that have died with it in hand.
    """

    is_held: bool = False
    suspects: int = 0
    record: int = -1
    is_in_hand: bool = False
    deaths: int = 0

    @classmethod
    def read(cls, metadata: str | None) -> Claim:
        """Return what the metadata says; of another's, that nobody was here."""
        form = _FORM.fullmatch(metadata or "")
        if form is None:
            return cls()
        held, suspects, hand, record, deaths = form.groups()
        return cls(
            is_held=held == "held",
            suspects=int(suspects or 0),
            record=-1 if record is None else int(record),
            is_in_hand=hand == "in-hand",
            deaths=int(deaths or 0),
        )

    def __str__(self) -> str:
        """Return the metadata that `read` understands."""
        parts = ["phistream/1 held" if self.is_held else "phistream/1 released"]
        if self.suspects:
            parts.append(f"suspects={self.suspects}")
        if self.record >= 0:
            hand = "in-hand" if self.is_in_hand else "record"
            parts.append(f"{hand}={self.record} deaths={self.deaths}")
        return " ".join(parts)

    @property
    def is_quarantine(self) -> bool:
        """Whether the next record is to be processed alone."""
        return self.suspects > 0

    def is_poison(self, offset: int) -> bool:
        """Return whether the record there is not to be processed any more."""
        return offset == self.record and self.deaths >= DEATHS_OF_POISON

    def taken_over(self, batch: int) -> Claim:
        """Return the claim of the next owner.

        Args:
            batch: How many records the last owner may have had in a batch.
        """
        if not self.is_held:
            return replace(self, is_held=True)
        if self.is_in_hand:
            return replace(self, is_in_hand=False, deaths=self.deaths + 1)
        if self.is_quarantine:
            return self
        return Claim(is_held=True, suspects=batch)

    def suspecting(self, records: int) -> Claim:
        """Return the claim when as many records are to be processed alone."""
        return replace(self, suspects=max(self.suspects, records))

    def taking(self, offset: int) -> Claim:
        """Return the claim with a record in hand."""
        deaths = self.deaths if offset == self.record else 0
        return replace(self, record=offset, is_in_hand=True, deaths=deaths)

    def put_down(self) -> Claim:
        """Return the claim when the record in hand has to wait for another."""
        return replace(self, is_in_hand=False)

    def passed(self) -> Claim:
        """Return the claim once the suspect at hand is processed or refused."""
        suspects = max(0, self.suspects - 1)
        return Claim(is_held=self.is_held, suspects=suspects)

    def released(self) -> Claim:
        """Return the claim when its owner leaves in order; suspects stay suspects."""
        return replace(self.put_down(), is_held=False)
