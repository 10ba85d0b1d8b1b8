"""Null values under a patient's pseudonyms, which erase what was published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams.engine.records import Output
from streams.kafka.topics import HL7_SCRUBBED, NOTES_SCRUBBED, PHI_AUDIT
from streams.model.outputs import erased_rows
from streams.model.seals import Seals, audit_key
from streams.operations.settings import Settings
from streams.pipeline.publish import Pseudonyms

PUBLISHED = (NOTES_SCRUBBED, HL7_SCRUBBED, PHI_AUDIT)
"""The topics whose keys are pseudonyms of patients."""


class NullValues:
    """Makes the null values of patients.

    They are sealed, so that `reconcile` tells them from those of others.

    Args:
        settings: With the pseudonym keys.

    Raises:
        ConfigError: A key is missing, or can't be read.
    """

    def __init__(self, settings: Settings) -> None:
        self._pseudonyms = [Pseudonyms(each.value) for each in settings.key_ring()]
        self._seals = Seals(audit_key(settings.pseudonym_key()))

    def of(self, patients: Iterable[bytes]) -> Iterator[Output]:
        """Yield those of patients' keys: for each topic, and each pseudonym key."""
        names = {each.patient(key) for key in patients for each in self._pseudonyms}
        for name in sorted(names):
            for topic in PUBLISHED:
                yield self._seals.sealed_alone(erased_rows(topic, name))
