"""The cost model: what a load needs, by plain arithmetic on measured factors.

A worker has one thread, so it is worth one core.  What is not measured is an option of
the reader: how much busier than the mean the peak is, and how busy a core may be then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from math import ceil

from streams.cluster.topics import (
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
)

from .factors import Factors

DAY_SECONDS = 86_400
BY_NOTE = (HL7_RAW, NOTES, PATIENT_UPDATES, NOTES_SCRUBBED, PHI_AUDIT)
"""Topics that grow with each note; `patients` grows with the patients."""
RETENTION: Mapping[str, float] = {each.name: each.retention_days for each in BY_NOTE}
"""Days, by topic, as `phistream topics create` sets them."""
MIN_PARTITIONS = 6
PARTITIONS_A_WORKER = 2
"""So that twice as many workers find partitions: adding partitions later is work."""


@dataclass(frozen=True, slots=True)
class Load:
    """A load, and how much reserve it is given.

    Args:
        notes_per_day: Messages with one note each.
        patients: Rows of the table.
        archive_notes: Notes of an archive that is scrubbed again.
        characters: Mean length of a note.
        peak: Notes a second at the busiest time, over the mean.
        utilisation: Share of a core that is used at that time.
        retention: Days, by topic.
        replication: Copies of each record.
        cores_per_host: Of the workers' hosts.
    """

    notes_per_day: float
    patients: float
    _: KW_ONLY
    archive_notes: float
    characters: float = 1000
    peak: float = 3
    utilisation: float = 0.7
    retention: Mapping[str, float] = field(default_factory=lambda: RETENTION)
    replication: int = 3
    cores_per_host: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What a load needs.

    Args:
        notes_per_second: At the peak.
        workers: By stage.
        broker_cores: At the peak, of all brokers together, for one copy of each record.
        hosts: Of the workers.
        memory: Bytes of the workers of a full host.
        partitions: Of the topics.
        disks: Bytes by topic, of all copies together.
        state: Bytes of the table on a worker of scrub.
        restore_seconds: For such a worker to read its table anew.
        archive_seconds: To scrub the archive again on all cores of the hosts.
    """

    notes_per_second: float
    workers: Mapping[str, int]
    broker_cores: float
    hosts: int
    memory: float
    partitions: int
    disks: Mapping[str, float]
    state: float
    restore_seconds: float
    archive_seconds: float


def size_of(load: Load, factors: Factors) -> Size:
    """Return what a load needs."""
    rate = load.notes_per_day / DAY_SECONDS * load.peak

    def cores(name: str) -> float:
        used = rate * factors.of_note(name, load.characters) / 1e6
        return used / load.utilisation

    workers = {
        stage: max(1, ceil(cores(f"{stage}_us"))) for stage in ("intake", "scrub")
    }
    hosts = ceil(sum(workers.values()) / load.cores_per_host)
    of_worker = load.patients / workers["scrub"]
    archive = load.archive_notes * factors.of_note("library_us", load.characters) / 1e6
    return Size(
        notes_per_second=rate,
        workers=workers,
        broker_cores=cores("broker_us"),
        hosts=hosts,
        memory=min(sum(workers.values()), load.cores_per_host)
        * factors["worker_mb"]
        * 1e6,
        partitions=max(MIN_PARTITIONS, PARTITIONS_A_WORKER * max(workers.values())),
        disks=_disks(load, factors),
        state=of_worker * factors["patient_table_bytes"],
        restore_seconds=of_worker / factors["restore_per_second"],
        archive_seconds=archive / (hosts * load.cores_per_host),
    )


def _disks(load: Load, factors: Factors) -> dict[str, float]:
    found = {
        topic.name: load.notes_per_day
        * factors.of_note(f"bytes_{topic.name.replace('.', '_')}", load.characters)
        * load.retention[topic.name]
        * load.replication
        for topic in BY_NOTE
    }
    of_patients = load.patients * factors["patient_topic_bytes"] * load.replication
    return found | {PATIENTS.name: of_patients}
