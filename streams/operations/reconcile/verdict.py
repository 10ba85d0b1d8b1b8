"""The faults, the verdicts and the conclusion of the audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

MAX_EXAMPLES = 10


class Fault(StrEnum):
    """Why the topics prove nothing, besides missing, doubled and unordered outputs.

    deploy/runbook.md says what to do; a test compares the two.
    """

    ALTERED = "altered"  # input or output is not the one of the audit event
    AUDIT_GONE = "audit_gone"  # audit events were deleted before their retention ended
    DELETED_UNREAD = "deleted_unread"  # inputs were deleted before they were processed
    FORGED = "forged"  # the seal does not fit: another program wrote or changed it
    MALFORMED = "malformed"  # it names no input record
    NO_INPUT = "no_input"  # an audit event or output of a record that is not there
    NOT_REPLAYED = "not_replayed"  # no replay confirms that it was a dead letter
    NULL_VALUE = "null_value"  # an output without content
    OFFSETS_AHEAD = "offsets_ahead"  # committed beyond the topic's end
    OFFSETS_GONE = "offsets_gone"  # none is committed, but records were processed
    OFFSETS_SET_BACK = "offsets_set_back"  # committed before what was processed
    OPEN_TRANSACTION = "open_transaction"  # hides outputs for longer than it may
    UNKNOWN_KEY = "unknown_key"  # sealed under a key that was not given
    UNSEALED = "unsealed"  # it has no seal


@dataclass(slots=True)
class TopicVerdict:
    """The outcomes of the records of a topic.

    If it is sound, the inputs are the sum of `scrubbed`, `dead_letters`, `no_note`,
    `repeated`, `held`, `pending`, `uncommitted` and `expired`.  Of a topic that no
    stage reads it holds faults only.

    Args:
        topic: The topic.
        inputs: Committed records in it.
        scrubbed: Inputs with a note or scrubbed note.
        dead_letters: Inputs with a dead letter.
        no_note: Inputs that promise no output, e.g. admissions, patient updates,
            discarded notes, and those whose dead letter was erased with its patient.
        repeated: Messages that their sender had sent before.
        held: Notes that wait for the demographics of their patient.
        pending: Inputs past the group's committed offset.
        uncommitted: Inputs of partitions for which the group has no committed offset.
        expired: Inputs whose outputs or audit event retention has deleted.
        missing: Inputs without an audit event that they owe, or with fewer outputs than
            promised.
        doubled: Inputs with two audit events, or with more outputs than promised.
        out_of_order: Outputs of a key before those of an earlier input.
        faults: How many there are of each further kind.
        examples: Positions of faults.
    """

    topic: str
    inputs: int = 0
    scrubbed: int = 0
    dead_letters: int = 0
    no_note: int = 0
    repeated: int = 0
    held: int = 0
    pending: int = 0
    uncommitted: int = 0
    expired: int = 0
    missing: int = 0
    doubled: int = 0
    out_of_order: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Return whether nothing is missing, doubled, out of order or at fault."""
        is_complete = self.missing == self.doubled == self.out_of_order == 0
        return is_complete and not self.faults

    @property
    def waiting(self) -> int:
        """Number of inputs that are not processed yet."""
        return self.pending + self.uncommitted

    def add(self, fault: Fault, where: str, says: str) -> None:
        """Count a fault.

        Args:
            fault: Of a kind.
            where: A position.
            says: What is wrong there, without a value.
        """
        kind = fault.value
        self.faults[kind] = self.faults.get(kind, 0) + 1
        if self.faults[kind] <= MAX_EXAMPLES:
            self.examples.append(f"{where} {fault}: {says}")


class Result(StrEnum):
    """The result of a reconciliation."""

    PASSES = "passes"
    FAILS = "fails"
    COULD_NOT_CHECK = "could not check"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The verdicts in one line.

    Args:
        verdicts: On each topic.
        unread: Topics that are missing, or hidden from this user.
        has_key: Whether seals were checked.
        is_drained: Whether inputs that wait count as missing.
    """

    verdicts: Sequence[TopicVerdict]
    unread: Sequence[str] = ()
    has_key: bool = True
    is_drained: bool = False

    @property
    def waiting(self) -> int:
        """Number of inputs that are not processed yet."""
        return sum(verdict.waiting for verdict in self.verdicts)

    @property
    def result(self) -> Result:
        """Return whether the topics prove what they should."""
        if self.unread:
            return Result.COULD_NOT_CHECK
        is_sound = all(verdict.is_sound for verdict in self.verdicts)
        is_late = self.is_drained and self.waiting
        return Result.PASSES if is_sound and not is_late else Result.FAILS

    @property
    def line(self) -> str:
        """Return the last line of a report."""
        return f"reconcile {self.result}{'; '.join(self._parts())}"

    def _parts(self) -> Iterator[str]:
        if self.unread:
            yield f" {', '.join(self.unread)}: missing, or hidden from this user"
        wrong = ", ".join(self._wrong())
        found = wrong or "nothing missing, doubled or forged, in order"
        yield f"of the others: {found}" if self.unread else f": {found}"
        inputs = sum(verdict.inputs for verdict in self.verdicts)
        waiting = 0 if self.is_drained else self.waiting
        yield f"{inputs:,} inputs"
        if waiting:
            yield f"{waiting:,} still on their way"
        if not self.has_key:
            yield "seals not checked: no key was given"

    def _wrong(self) -> Iterator[str]:
        for name in ("missing", "doubled", "out_of_order"):
            if count := sum(getattr(verdict, name) for verdict in self.verdicts):
                yield f"{count:,} {name.replace('_', ' ')}"
        for fault in Fault:
            if count := sum(verdict.faults.get(fault, 0) for verdict in self.verdicts):
                yield f"{count:,} {fault}"
        if self.is_drained and self.waiting:
            yield f"{self.waiting:,} not processed"
