"""The processor of `hl7.raw`: decode, key by patient, route.

It has no state; `deduplicating` has the one that finds repeated messages.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from streams.engine.character_sets import UTF_8
from streams.engine.errors import InvalidRecord, StreamError
from streams.engine.keys.office import OfficePublicKey
from streams.engine.observer import (
    Entered,
    HeldProgress,
    Step,
    TableProgress,
    unobserved,
)
from streams.engine.reasons import ReasonCode
from streams.engine.records import Output, Partition, Record
from streams.engine.runner import Outcome
from streams.formats.hl7.reader import IsNew, every
from streams.formats.json_map import JsonMap
from streams.kafka.topics import HL7_RAW, NOTES, PATIENT_UPDATES, Stage
from streams.kafka.wire_format import InputFormat
from streams.model.audit import AuditEvent, AuditOutcome, dead_letter
from streams.model.outputs import encoded, require_headers, source_header
from streams.model.patients.updates import PatientUpdate

from .route import Routed, route
from .seen import Judged

log = logging.getLogger(__name__)


class Intake:
    """The processor of `hl7.raw`.

    Args:
        max_bytes: A larger message is a dead letter.
        office: For which dead letters are sealed.
        rebuilds: Whether scrub is to write whole messages to hl7.scrubbed as well.
        json_map: How JSON of other forms becomes note events.
        charset: The codec of HL7 messages that name none, and are not UTF-8.
        wire_format: Of values; by default they may not have a registry's.
        entered: Called at each step.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        *,
        max_bytes: int,
        office: OfficePublicKey,
        rebuilds: bool = False,
        json_map: JsonMap | None = None,
        charset: str = UTF_8,
        wire_format: InputFormat | None = None,
        entered: Entered = unobserved,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._max_bytes = max_bytes
        self._office = office
        self._rebuilds = rebuilds
        self._json_map = json_map
        self._charset = charset
        self._wire_format = wire_format or InputFormat()
        self._entered = entered
        self._clock = clock
        self._assigned: list[int] = []

    def assigned(self, partitions: Sequence[int]) -> None:
        """Let new partitions flow at once."""
        self._assigned += partitions

    def revoked(self, partitions: Sequence[int]) -> None:
        """Forget partitions that have not begun to flow."""
        self._assigned = [p for p in self._assigned if p not in partitions]

    def ready(self) -> Iterable[int]:
        """Return the new partitions."""
        ready, self._assigned = self._assigned, []
        return ready

    def settled(self, claimed: Iterable[int]) -> Iterable[int]:
        """Return the claimed partitions."""
        return claimed

    def due(self, claimed: Collection[int]) -> Mapping[int, Sequence[Output]]:
        """Return nothing: all outputs belong to records."""
        return {}

    def process(self, records: Sequence[Record]) -> Sequence[Outcome]:
        """Return the patient updates, notes and audit event of each message."""
        return [self._outcome(record) for record in records]

    def dead_letter(self, record: Record, error: InvalidRecord) -> Sequence[Output]:
        """Return the dead letter of a message, and its audit event."""
        return dead_letter(Stage.INTAKE, record, error, self._now(), self._office)

    def committed(self, written: Mapping[Partition, int]) -> None:
        """Do nothing, as in the next methods: there is no state."""

    def aborted(self) -> None:
        """Do nothing."""

    def reread(self) -> None:
        """Do nothing."""

    def rebuild(self) -> None:
        """Do nothing."""

    def drop_state(self) -> Iterable[int]:
        """Return no partition."""
        return ()

    def progress(self) -> Sequence[TableProgress]:
        """Return nothing."""
        return ()

    def held(self) -> Sequence[HeldProgress]:
        """Return nothing."""
        return ()

    def close(self) -> None:
        """Do nothing."""

    def _outcome(self, record: Record) -> Outcome:
        try:
            return self._outputs(record, self._routed(record))
        except InvalidRecord as error:
            return error

    def _routed(self, record: Record, is_new: IsNew = every) -> Routed:
        self._entered(Step.DECODE, (record,))
        require_headers(record)
        try:
            value = record.value
            return route(
                value and self._wire_format.accepted(value, HL7_RAW.name),
                max_bytes=self._max_bytes,
                json_map=self._json_map,
                charset=self._charset,
                is_new=is_new,
            )
        except StreamError:
            raise
        except Exception as error:
            # A bug must not stop the messages behind this one.
            log.exception("%s: the decoder failed", record)
            raise InvalidRecord(
                ReasonCode.DECODER_FAILED, f"hl7.raw: {type(error).__name__}; report it"
            ) from None

    def _outputs(
        self, record: Record, routed: Routed, judged: Judged | None = None
    ) -> Sequence[Output]:
        self._entered(Step.ENCODE, (record,))
        updates = [
            encoded(
                PATIENT_UPDATES,
                patient.patient.key,
                PatientUpdate(patient).to_json(),
                record,
            )
            for patient in routed.updates
        ]
        notes = [
            encoded(NOTES, note.patient.key, note.to_json(), record)
            for note in routed.notes
        ]
        # A part follows its notes, so that scrub has them in the same batch.
        parts = list(self._parts(record, routed)) if self._rebuilds else []
        counts: dict[str, int | Mapping[str, int]] = {
            "patients": len(updates),
            "notes": len(notes),
            "skipped": dict(routed.skipped),
        }
        if parts:
            counts["parts"] = len(parts)
        outcome: AuditOutcome = "routed"
        if judged is not None:
            counts |= judged.counts
            if judged.is_repetition:
                outcome = "repeated"
        event = AuditEvent(
            stage=Stage.INTAKE,
            outputs=len(notes) + len(parts),
            outcome=outcome,
            routed=counts,
            at_ms=self._now(),
        )
        return (*updates, *notes, *parts, event.output(record))

    def _parts(self, record: Record, routed: Routed) -> Iterator[Output]:
        """Yield the parts of messages that scrub is to rebuild.

        Raises:
            InvalidRecord: One is larger than a record may be.
        """
        for number, part in enumerate(routed.parts):
            place = f"{source_header(record).decode()}.{number}"
            note = part.as_note(place)
            output = encoded(NOTES, note.patient.key, note.to_json(), record)
            if len(output.value or b"") > NOTES.max_content_bytes:
                raise InvalidRecord(
                    ReasonCode.TOO_LARGE,
                    "hl7.raw: the message would be larger than a record of notes may "
                    "be; split it, or set rebuild_messages = false",
                )
            yield output

    def _now(self) -> int:
        return int(self._clock() * 1000)
